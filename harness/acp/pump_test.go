package acp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/internal/demoagent"
	"agent-server/protocol"
)

// pump drives the real demo agent: what the translator writes goes to the agent,
// the agent's lines go to the translator, and every update is kept.
type pump struct {
	t     *testing.T
	tr    harness.Translator
	in    *io.PipeWriter
	lines chan string
	done  chan error
	stop  context.CancelFunc

	updates []harness.Update
	notes   []harness.Diagnostic
	timers  []harness.Timer
	process harness.Process
	// crashed is the exit code of the crash script; -1 before.
	crashed int
}

// config is a plain turn's.
func config() protocol.RunConfig {
	return protocol.RunConfig{Harness: protocol.HarnessDemo, Cwd: "/workspace"}
}

// startDemo starts an agent and a translator for it.
func startDemo(t *testing.T, l harness.Launch) *pump {
	t.Helper()
	fromUs, toAgent := io.Pipe()
	fromAgent, toUs := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	p := &pump{
		t: t, tr: New(Agent{ID: protocol.HarnessDemo}).New(l, nil), in: toAgent, stop: stop,
		lines: make(chan string, 64), done: make(chan error, 1), crashed: -1,
	}
	exit := func(code int) {
		p.crashed = code
		_ = toUs.Close()
		_ = fromUs.Close()
	}
	go func() {
		err := demoagent.Run(ctx, fromUs, toUs, io.Discard, demoagent.Options{
			Seed: "5eed", Exit: exit, IgnoreSignals: func() {},
		})
		_ = toUs.Close()
		_ = fromUs.Close()
		p.done <- err
	}()
	go p.read(fromAgent)
	t.Cleanup(p.end)
	return p
}

// read gives the agent's lines to the test's own goroutine.
func (p *pump) read(r io.Reader) {
	defer close(p.lines)
	s := bufio.NewReader(r)
	for {
		line, err := s.ReadString('\n')
		if err != nil {
			return
		}
		p.lines <- line[:len(line)-1]
	}
}

// end lets the agent go.
func (p *pump) end() {
	_ = p.in.Close()
	p.stop()
	for range p.lines {
	}
	if err := <-p.done; err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, io.ErrClosedPipe) {
		p.t.Errorf("the agent ended with %v", err)
	}
}

// step gives the translator an input.
func (p *pump) step(in harness.Input) { p.took(p.tr.Step(in)) }

// took keeps what an output says and writes what it wants written.
func (p *pump) took(out harness.Output) {
	p.updates = append(p.updates, out.Updates...)
	p.notes = append(p.notes, out.Diagnostics...)
	p.timers = append(p.timers, out.Timers...)
	p.process = max(p.process, out.Process)
	if len(out.Stdin) > 0 {
		if _, err := p.in.Write(out.Stdin); err != nil {
			p.t.Errorf("writing to the agent: %v", err)
		}
	}
}

// begin starts a turn.
func (p *pump) begin(prompt string, cfg protocol.RunConfig) {
	p.step(harness.Begin{Turn: "turn", Input: protocol.TextInput(prompt), Config: cfg})
}

// until feeds lines until an update is of the wanted type, and gives it; false
// where the agent ended before.
func until[U harness.Update](p *pump) (U, bool) {
	p.t.Helper()
	for seen := 0; ; {
		for ; seen < len(p.updates); seen++ {
			if u, ok := p.updates[seen].(U); ok {
				p.updates[seen] = nil // found once
				return u, true
			}
		}
		select {
		case line, ok := <-p.lines:
			if !ok {
				var none U
				return none, false
			}
			p.took(p.tr.Line([]byte(line)))
		case <-time.After(10 * time.Second):
			p.t.Fatalf("no %T within 10 s; so far %+v", *new(U), p.updates)
		}
	}
}

// finished runs the turn to its end.
func (p *pump) finished() harness.Finished {
	p.t.Helper()
	end, ok := until[harness.Finished](p)
	if !ok {
		p.t.Fatal("the agent ended without a word")
	}
	return end
}

// said joins what was said in parts of a kind.
func (p *pump) said(kind protocol.PartType) string {
	kinds, said := map[string]protocol.PartType{}, ""
	for _, u := range p.updates {
		switch u := u.(type) {
		case harness.PartOpened:
			kinds[u.Part] = u.Kind
		case harness.TextAppended:
			if kinds[u.Part] == kind {
				said += u.Text
			}
		}
	}
	return said
}
