package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/verify"
)

// playTurn plays a prompt on the demo in this process, the signals given before
// it begins.
func playTurn(t *testing.T, prompt string, signals ...os.Signal) (v verdict, out, talk string) {
	t.Helper()
	f := runFlags{setup: setup{logLevel: "error"}}
	o, err := f.options()
	if err != nil {
		t.Fatal(err)
	}
	o.Harnesses = o.Harnesses[:1]
	o.Harnesses[0].Path = "agent-server"
	l, err := openLocal(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan os.Signal, len(signals))
	for _, s := range signals {
		heard <- s
	}
	s, outs, talks := onPaper(false)
	turn := &turn{l: l, show: newRenderer(s, false, false), ask: newAsker(strings.NewReader(""), s), verifier: verify.New(verify.Options{}),
		admitted: make(chan struct{}), over: make(chan struct{}),
		p: protocol.TurnStartParams{SessionID: new(client.NewID()), TurnID: new(client.NewID()), Input: protocol.TextInput(prompt),
			Config: protocol.RunConfig{Harness: protocol.HarnessDemo, Cwd: t.TempDir()}}}
	v = turn.play(t.Context(), heard, 0)
	return v, outs.String(), talks.String()
}

// TestPlayLeavesNothing runs alone: it counts goroutines. Every one is waited
// for, whether the turn ends, is interrupted before it was even admitted, or is
// given up.
func TestPlayLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	spawner := goleak.IgnoreAnyFunction("agent-server/harness/process.spawnLoop") // lives as long as the program
	v, out, talk := playTurn(t, "tool")
	if err := v.exit(&runFlags{}, io.Discard); err != nil || !strings.Contains(out, "made up") {
		t.Errorf("a plain turn: %v\n%s\n%s", err, out, talk)
	}
	goleak.VerifyNone(t, before, spawner)

	v, _, talk = playTurn(t, "hang", os.Interrupt)
	if !v.interrupted || v.err != nil || v.ended == nil || v.ended.StopReason != protocol.StopCancelled || len(v.found) > 0 {
		t.Errorf("interrupted before it was admitted: %+v\n%s", v, talk)
	}
	goleak.VerifyNone(t, before, spawner)

	v, _, talk = playTurn(t, "hang hard", os.Interrupt, os.Interrupt)
	if !v.interrupted || v.stuck || v.judged || len(v.found) > 0 {
		t.Errorf("quitted: %+v\n%s", v, talk)
	}
	goleak.VerifyNone(t, before, spawner)
}

// watched is a watcher of a turn that does nothing by itself.
func watched(timeout time.Duration) (*watcher, *strings.Builder) {
	s, _, talk := onPaper(false)
	w := &watcher{turn: &turn{show: newRenderer(s, false, false), admitted: make(chan struct{}), over: make(chan struct{})},
		quit: func() {}, timeout: timeout}
	if timeout > 0 {
		w.timeUp = time.After(timeout)
	}
	return w, talk
}

// TestStuckRunEnds: a run that hears nothing of its end any more, the writer of
// stdout being stuck, ends by the clock.
func TestStuckRunEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, talk := watched(time.Minute)
		begun := time.Now()
		s, joined := w.watch(make(chan story))
		w.beside.Wait()
		if joined || !errors.Is(s.err, errStuck) || !w.timedOut || !w.quitted {
			t.Errorf("joined %v, %v, %+v", joined, s.err, w)
		}
		if took := time.Since(begun); took != time.Minute+endBound+quitBound {
			t.Errorf("took %s", took)
		}
		if !strings.Contains(talk.String(), "timed out after 1m0s") {
			t.Errorf("said %q", talk)
		}
	})
}

// TestEndIsBounded: also where nobody has asked for it, the turn being over.
func TestEndIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _ := watched(0)
		close(w.over)
		told := make(chan story, 1)
		w.quit = func() { told <- story{err: errors.New("cut")} }
		s, joined := w.watch(told)
		if !joined || s.err == nil || !w.quitted || w.interrupted {
			t.Errorf("joined %v, %v", joined, s.err)
		}
	})
}

// TestTimeAfterTheEnd: a clock that runs out while the session is being closed
// blames nobody, and an interrupt then quits at once.
func TestTimeAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, talk := watched(time.Minute)
		close(w.over)
		signals := make(chan os.Signal)
		w.signals = signals
		told := make(chan story, 1)
		w.quit = func() { told <- story{err: errors.New("cut")} }
		w.timeUp = time.After(time.Second)
		go func() {
			time.Sleep(2 * time.Second)
			signals <- os.Interrupt
		}()
		_, joined := w.watch(told)
		w.beside.Wait()
		if !joined || w.timedOut || !w.interrupted || w.wanted || talk.Len() > 0 {
			t.Errorf("joined %v, %+v, said %q", joined, w, talk)
		}
	})
}
