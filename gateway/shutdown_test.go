package gateway_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"agent-server/gateway"
	"agent-server/protocol"
)

// TestShutdownMethod: it answers first, again when asked again; turns are
// cancelled when their time is up; all but turn/start is served meanwhile.
func TestShutdownMethod(t *testing.T) {
	t.Parallel()
	g := open(t, func(o *gateway.Options) { o.DrainTimeout = 300 * time.Millisecond })
	p := connect(t, g, gateway.ConnectOptions{})
	p.run(turn("idle", "t", "say hi", puppetID))
	p.begin(turn("s", "t", "say here;ask", puppetID))
	ask, _ := event[*protocol.PermissionRequested](p, "s", nil)
	first := p.call("shutdown", nil)
	if got := fault(first); got != "result {}" {
		t.Errorf("shutdown: %s", got)
	}
	_, gone := event[*protocol.SessionEnded](p, "idle", nil)
	before(t, "the answer and the first end", first, gone)
	if got := fault(p.call("turn/start", turn("s", "u", "", puppetID))); got != "-32003" {
		t.Errorf("turn/start during shutdown: %s", got)
	}
	if got := fault(p.call("turn/start", turn("s", "t", "say here;ask", puppetID))); got != "-32003" {
		t.Errorf("a retry during shutdown: %s", got)
	}
	if got := fault(p.call("turn/cancel", map[string]any{"sessionId": "idle"})); got != `result {"outcome":"no_active_turn"}` {
		t.Errorf("turn/cancel during shutdown: %s", got)
	}
	if got := fault(p.call("shutdown", []int{1})); got != "result {}" {
		t.Errorf("a second shutdown: %s", got)
	}
	if end := p.turnEnded("s", "t"); end.StopReason != protocol.StopCancelled {
		t.Errorf("the turn that was running ended %s", end.StopReason)
	}
	if r, _ := event[*protocol.PermissionResolved](p, "s", nil); r.RequestID != ask.RequestID || r.Outcome.Outcome != protocol.OutcomeCancelled {
		t.Errorf("resolved %+v", r)
	}
	for _, session := range []string{"s", "idle"} {
		if end, _ := event[*protocol.SessionEnded](p, session, nil); end.Reason != protocol.EndShutdown {
			t.Errorf("session %s ended %s", session, end.Reason)
		}
	}
	<-g.Done()
	if got := p.call("events/replay", map[string]any{"sessionId": "s", "fromSeq": 1}); got.Error != nil {
		t.Errorf("replay after the end: %s", got.Raw)
	}
}

// stopping says whether a shutdown has begun; it starts nothing, since no such
// harness is available.
func stopping(p *peer) bool {
	return fault(p.call("turn/start", turn("x", "x", "", protocol.HarnessCodexSDK))) == "-32003"
}

// TestShutdownDrains: a turn that ends within its time ends by itself.
func TestShutdownDrains(t *testing.T) {
	t.Parallel()
	g := open(t)
	p := connect(t, g, gateway.ConnectOptions{})
	p.begin(turn("s", "t", "ask", puppetID))
	ask, _ := event[*protocol.PermissionRequested](p, "s", nil)
	done := make(chan error, 1)
	go func() { done <- g.Shutdown(context.Background(), time.Hour) }()
	waitUntil(t, "the shutdown has begun", func() bool { return stopping(p) })
	p.call("permission/respond", map[string]any{"sessionId": "s", "requestId": ask.RequestID, "outcome": map[string]any{"outcome": "selected", "optionId": "allow"}})
	if end := p.turnEnded("s", "t"); end.StopReason != protocol.StopEndTurn {
		t.Errorf("ended %s", end.StopReason)
	}
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// TestShutdownSooner: a later call may allow less time, never more.
func TestShutdownSooner(t *testing.T) {
	t.Parallel()
	g := open(t)
	p := connect(t, g, gateway.ConnectOptions{})
	p.begin(turn("s", "t", "wait", puppetID))
	event[*protocol.SessionCreated](p, "s", nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := g.Shutdown(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown under a dead context: %v", err)
	}
	start := time.Now()
	if err := g.Shutdown(context.Background(), 0); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if end := p.turnEnded("s", "t"); end.StopReason != protocol.StopCancelled || time.Since(start) > time.Minute {
		t.Errorf("ended %s after %v", end.StopReason, time.Since(start))
	}
}

// TestShutdownAgainAndAgain: who asks for more time does not get it.
func TestShutdownAgainAndAgain(t *testing.T) {
	t.Parallel()
	g := open(t, func(o *gateway.Options) { o.DrainTimeout = time.Hour })
	p := connect(t, g, gateway.ConnectOptions{})
	p.begin(turn("s", "t", "wait", puppetID))
	event[*protocol.SessionCreated](p, "s", nil)
	go func() { _ = g.Shutdown(context.Background(), 50*time.Millisecond) }()
	waitUntil(t, "the shutdown has begun", func() bool { return stopping(p) })
	p.call("shutdown", nil)
	if end := p.turnEnded("s", "t"); end.StopReason != protocol.StopCancelled {
		t.Errorf("ended %s", end.StopReason)
	}
}

// TestEndOfInput: every request read so far is answered, what runs is cancelled,
// everything is said, and the stream ends.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	g := open(t)
	p := connect(t, g, gateway.ConnectOptions{})
	p.begin(turn("s", "t", "say here;wait", puppetID))
	event(p, "s", func(e *protocol.MessagePart) bool { return e.OutputIndex > 0 })
	last := p.ask("turn/cancel", map[string]any{"sessionId": "s"})
	_ = g.Shutdown(context.Background(), 0) // what the command does at the end of input
	if err := p.stream.Finish(context.Background()); err != nil {
		t.Errorf("Finish: %v", err)
	}
	// The request may be served before the end begins, or find the turn ended.
	switch got := fault(p.answer(last)); got {
	case `result {"outcome":"cancelled","turnId":"t"}`, `result {"outcome":"no_active_turn"}`:
	default:
		t.Errorf("the last request: %s", got)
	}
	event[*protocol.SessionEnded](p, "s", nil)
}
