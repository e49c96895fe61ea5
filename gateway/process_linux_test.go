package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent-server/gateway"
	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
)

// TestKilledChild: the turn fails, saying how; the next one runs in a process of
// its own and goes on with the conversation.
func TestKilledChild(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	p.begin(turn("s", "a", "pid;wait", puppetID))
	event(p, "s", func(e *protocol.MessagePart) bool { return e.OutputIndex > 0 })
	pid, _ := strconv.Atoi(p.text("s", "a"))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	end := p.turnEnded("s", "a")
	if end.StopReason != protocol.StopError || end.Error.Category != protocol.CategoryProcessExit || !strings.Contains(end.Error.Message, "killed") {
		t.Errorf("ended %s %+v", end.StopReason, end.Error)
	}
	if end := p.run(turn("s", "b", "pid", puppetID)); end.StopReason != protocol.StopEndTurn {
		t.Errorf("the next turn ended %s", end.StopReason)
	}
	created, at := event(p, "s", func(e *protocol.SessionCreated) bool { return e.Resumed != nil })
	if !*created.Resumed || p.text("s", "b") == strconv.Itoa(pid) {
		t.Errorf("the next turn: %s", at.Raw)
	}
}

// TestCrash: exit code and the end of stderr are in the turn's error.
func TestCrash(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	end := p.run(turn("s", "a", "exit 7", puppetID))
	falls := testing.CoverMode() != "" || end.Error != nil && strings.Contains(end.Error.Message, "the puppet falls") // a covered child has more to say
	if end.Error == nil || end.Error.Category != protocol.CategoryProcessExit || !strings.Contains(end.Error.Message, "7") || !falls {
		t.Errorf("ended %s %+v", end.StopReason, end.Error)
	}
}

// TestSpawnFails: the turn says path and reason; what was wrong can be mended
// between two turns.
func TestSpawnFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exe := filepath.Join(dir, "agent")
	g := open(t, func(o *gateway.Options) { o.Harnesses[1].Path = exe })
	p := connect(t, g, gateway.ConnectOptions{})
	if a := p.call("turn/start", turn("s", "z", "", puppetID)); fault(a) != `-32000 {"available":["demo"]}` {
		t.Errorf("without the executable: %s", a.Raw)
	}
	if err := os.WriteFile(exe, []byte("#!/nowhere/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	end := p.run(turn("s", "a", "say hi", puppetID))
	if end.Error == nil || end.Error.Category != protocol.CategoryProcessExit || !strings.Contains(end.Error.Message, exe) ||
		!strings.Contains(end.Error.Message, "interpreter") {
		t.Errorf("ended %s %+v", end.StopReason, end.Error)
	}
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, exe); err != nil {
		t.Fatal(err)
	}
	if end := p.run(turn("s", "b", "say hi", puppetID)); end.StopReason != protocol.StopEndTurn {
		t.Errorf("with an executable again: ended %s %+v", end.StopReason, end.Error)
	}
}

// TestCwdVanishes: a directory that goes between the check and the start fails
// the turn like any other start that fails.
func TestCwdVanishes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "soon gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p := connect(t, open(t, func(o *gateway.Options) { o.Observer = remover(dir) }), gateway.ConnectOptions{})
	end := p.run(turn("s", "a", "say hi", puppetID, "cwd", dir))
	if end.Error == nil || end.Error.Category != protocol.CategoryProcessExit || !strings.Contains(end.Error.Message, dir) {
		t.Errorf("ended %s %+v", end.StopReason, end.Error)
	}
}

// remover removes a directory when a turn has been decided on and not performed.
type remover string

func (r remover) Opened(session.Options) {}

func (r remover) Stepped(_ string, _ int64, in session.Input, _ session.Output) {
	if _, ok := in.(session.StartTurn); ok {
		_ = os.Remove(string(r))
	}
}

// TestOneProcessAtATime: a process that is replaced is gone before the next one
// of its session starts.
func TestOneProcessAtATime(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t, pup(func(p *puppet) { p.restart = true })), gateway.ConnectOptions{})
	var last int
	for i := range 5 {
		id := strconv.Itoa(i)
		p.run(turn("s", id, "pid", puppetID, "model", "m"+id))
		pid, err := strconv.Atoi(p.text("s", id))
		if err != nil || pid == last {
			t.Fatalf("turn %d: pid %d after %d (%v)", i, pid, last, err)
		}
		if last != 0 && syscall.Kill(last, 0) == nil {
			t.Errorf("process %d lives beside %d", last, pid)
		}
		last = pid
	}
}

// TestCloseWhileItsProcessEnds: the next life's process waits for the last one's
// end.
func TestCloseWhileItsProcessEnds(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	p.run(turn("s", "a", "pid", puppetID))
	p.call("session/close", map[string]any{"sessionId": "s"})
	p.run(turn("s", "b", "pid", puppetID))
	old, _ := strconv.Atoi(p.text("s", "a"))
	if syscall.Kill(old, 0) == nil {
		t.Errorf("process %d of the closed life lives beside the next one's", old)
	}
	shown, at := event(p, "s", func(e *protocol.SessionCreated) bool { return true })
	if shown.Resumed != nil {
		t.Errorf("a fresh life says %s", at.Raw)
	}
}

// TestTranslatorTimer: a translator's timer comes back to it.
func TestTranslatorTimer(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	p.run(turn("s", "a", "timer 20", puppetID))
	if got := p.text("s", "a"); got != "rang" {
		t.Errorf("said %q", got)
	}
}

// TestEviction: a process that has nothing to do goes, the session stays.
func TestEviction(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t, func(o *gateway.Options) { o.IdleTimeout = 10 * time.Millisecond }), gateway.ConnectOptions{})
	p.run(turn("s", "a", "pid", puppetID))
	pid, _ := strconv.Atoi(p.text("s", "a"))
	waitUntil(t, "the idle process is gone", func() bool { return syscall.Kill(pid, 0) != nil })
	if n := p.count(func(s said) bool { return s.Event != nil && s.Event.Type() == protocol.TypeSessionEnded }); n != 0 {
		t.Error("the eviction ended the session")
	}
	p.run(turn("s", "b", "pid", puppetID))
	created, at := event(p, "s", func(e *protocol.SessionCreated) bool { return e.Resumed != nil })
	if !*created.Resumed {
		t.Errorf("after the eviction: %s", at.Raw)
	}
}

// TestDemoTurns: every script of the demo that ends by itself, in one session.
func TestDemoTurns(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	for _, tc := range []struct {
		prompt string
		want   protocol.StopReason
	}{{"hello", protocol.StopEndTurn}, {"flood 2000 40", protocol.StopEndTurn}, {"think", protocol.StopEndTurn}, {"tool", protocol.StopEndTurn},
		{"fail", protocol.StopEndTurn}, {"noise", protocol.StopEndTurn}, {"error out of cheese", protocol.StopError}, {"crash 9", protocol.StopError}, {"hello", protocol.StopEndTurn}} {
		id := tc.prompt + strconv.Itoa(p.count(func(said) bool { return true }))
		if end := p.run(turn("s", id, tc.prompt, "demo")); end.StopReason != tc.want {
			t.Errorf("%s ended %s %+v", tc.prompt, end.StopReason, end.Error)
		}
	}
}

// TestClosedBeforeUse: what has nothing to end ends at once.
func TestClosedBeforeUse(t *testing.T) {
	t.Parallel()
	g, err := gateway.New(gateway.Options{Harnesses: []gateway.Registration{{Harness: &puppet{id: puppetID, info: harness.Info{}}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Shutdown(context.Background(), time.Hour); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestShutdownOfADeafChild: a harness that hears nothing is stopped, and its turn
// has ended; no process is left.
func TestShutdownOfADeafChild(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits out the ten seconds that an interrupt is given")
	}
	g := open(t)
	p := connect(t, g, gateway.ConnectOptions{})
	p.begin(turn("s", "t", "pid;deaf", puppetID))
	event(p, "s", func(e *protocol.MessagePart) bool {
		text, ok := e.Part.(*protocol.TextPart)
		return ok && text.Text == "deaf"
	})
	pid, _ := strconv.Atoi(strings.TrimSuffix(p.text("s", "t"), "deaf"))
	cancel := p.ask("turn/cancel", map[string]any{"sessionId": "s"})
	if err := g.Shutdown(context.Background(), 0); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if got := fault(p.answer(cancel)); got != `result {"outcome":"unconfirmed","turnId":"t"}` {
		t.Errorf("the cancel of a deaf turn: %s", got)
	}
	if end := p.turnEnded("s", "t"); end.StopReason != protocol.StopCancelled {
		t.Errorf("ended %s", end.StopReason)
	}
	if syscall.Kill(pid, 0) == nil {
		t.Errorf("process %d is left", pid)
	}
}
