package gateway_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"agent-server/eventlog"
	"agent-server/gateway"
	"agent-server/protocol"
)

// failing is a memory log that takes nothing while it is full.
type failing struct {
	eventlog.Log
	full atomic.Bool
	// unreadable: nothing is read either.
	unreadable atomic.Bool
}

var errFull = errors.New("no space left on device")

func (f *failing) Append(session string, b eventlog.Batch) error {
	if f.full.Load() {
		return errFull
	}
	return f.Log.Append(session, b)
}

func (f *failing) Open(session string) (eventlog.Info, error) {
	if f.unreadable.Load() {
		return eventlog.Info{}, errFull
	}
	return f.Log.Open(session)
}

func (f *failing) Read(session string, after int64, maxBytes int) ([]eventlog.Record, error) {
	if f.unreadable.Load() {
		return nil, errFull
	}
	return f.Log.Read(session, after, maxBytes)
}

func withLog(l *failing) func(*gateway.Options) {
	l.Log = eventlog.NewMemory(eventlog.MemoryOptions{})
	return func(o *gateway.Options) { o.Log = l }
}

// TestBrokenLog: a session whose log takes nothing tells every request so; its
// harness is stopped; when the log works again, what was begun has ended, and the
// session goes on.
func TestBrokenLog(t *testing.T) {
	t.Parallel()
	log := &failing{}
	p := connect(t, open(t, withLog(log)), gateway.ConnectOptions{})
	p.begin(turn("other", "a", "say one;wait", puppetID))
	event(p, "other", func(e *protocol.MessagePart) bool { return e.OutputIndex > 0 })
	log.full.Store(true)
	// The cancel itself has nothing to append; what the harness says to it has.
	cancel := p.ask("turn/cancel", map[string]any{"sessionId": "other"})
	if got := p.answer(cancel); got.Error == nil || got.Error.Code != -32603 || !strings.Contains(got.Error.Message, "the log of session other") {
		t.Errorf("the request in which the log failed: %s", got.Raw)
	}
	for method, params := range map[string]any{
		"turn/start": turn("other", "b", "say two", puppetID), "turn/cancel": map[string]any{"sessionId": "other"},
		"session/close":      map[string]any{"sessionId": "other"},
		"permission/respond": map[string]any{"sessionId": "other", "requestId": "r", "outcome": map[string]any{"outcome": "cancelled"}},
	} {
		if got := p.call(method, params); got.Error == nil || got.Error.Code != -32603 || !strings.Contains(got.Error.Message, "other") {
			t.Errorf("%s on the broken session: %s", method, got.Raw)
		}
	}
	if got := p.call("turn/start", turn("new", "a", "say one", puppetID)); got.Error == nil || got.Error.Code != -32603 {
		t.Errorf("a turn that cannot be recorded: %s", got.Raw)
	}
	if got := p.call("events/replay", map[string]any{"sessionId": "other", "fromSeq": 1}); got.Error != nil {
		t.Errorf("what the log holds is not served: %s", got.Raw)
	}
	log.full.Store(false)
	if got := fault(p.call("turn/start", turn("other", "a", "say one;wait", puppetID))); got != `result {"sessionId":"other","turnId":"a","deduplicated":true}` {
		t.Errorf("the retry of the broken turn: %s", got)
	}
	end := p.turnEnded("other", "a")
	if end.Error == nil || end.Error.Category != protocol.CategoryProcessExit || string(end.Meta) != `{"agent-server/hostDeath":true}` {
		t.Errorf("the broken turn ended %s %+v %s", end.StopReason, end.Error, end.Meta)
	}
	if end := p.run(turn("other", "b", "say two", puppetID)); end.StopReason != protocol.StopEndTurn {
		t.Errorf("the next turn ended %s", end.StopReason)
	}
	if end := p.run(turn("new", "a", "say one", puppetID)); end.StopReason != protocol.StopEndTurn {
		t.Errorf("the refused turn, tried again, ended %s", end.StopReason)
	}
}

// TestUnreadableLog: where not even the log can be read, nothing is made up.
func TestUnreadableLog(t *testing.T) {
	t.Parallel()
	log := &failing{}
	p := connect(t, open(t, withLog(log)), gateway.ConnectOptions{})
	p.run(turn("s", "a", "say one", puppetID))
	p.call("session/close", map[string]any{"sessionId": "s"})
	event[*protocol.SessionEnded](p, "s", nil)
	log.unreadable.Store(true)
	for method, params := range map[string]any{"turn/start": turn("s", "b", "", puppetID),
		"events/replay": map[string]any{"sessionId": "s", "fromSeq": 1}} {
		if got := p.call(method, params); got.Error == nil || got.Error.Code != -32603 || !strings.Contains(got.Error.Message, "session s") {
			t.Errorf("%s: %s", method, got.Raw)
		}
	}
	if got := p.call("turn/start", turn("new", "b", "", puppetID)); got.Error == nil || got.Error.Code != -32603 {
		t.Errorf("turn/start on a session that cannot be opened: %s", got.Raw)
	}
	log.unreadable.Store(false)
	p.run(turn("s", "b", "say two", puppetID))
}

// TestPanics: a translator that panics costs its session the turn; nobody else
// notices.
func TestPanics(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	p.begin(turn("other", "a", "say here;wait", puppetID))
	event(p, "other", func(e *protocol.MessagePart) bool { return e.OutputIndex > 0 })
	end := p.run(turn("s", "a", "say one;panic", puppetID))
	if end.StopReason != protocol.StopError || end.Error.Category != protocol.CategoryProcessExit {
		t.Errorf("ended %s %+v", end.StopReason, end.Error)
	}
	if end := p.run(turn("s", "b", "say two", puppetID)); end.StopReason != protocol.StopEndTurn {
		t.Errorf("the next turn ended %s", end.StopReason)
	}
	if got := fault(p.call("turn/cancel", map[string]any{"sessionId": "other"})); got != `result {"outcome":"cancelled","turnId":"a"}` {
		t.Errorf("another session's cancel: %s", got)
	}
	p.turnEnded("other", "a")
}

// TestPanickingMethod: a fault of ours in a method is -32603, and the connection
// lives.
func TestPanickingMethod(t *testing.T) {
	t.Parallel()
	for kind, join := range wires {
		t.Run("over "+kind, func(t *testing.T) {
			t.Parallel()
			p := join(t, open(t, pup(func(p *puppet) { p.panics = true })))
			got := p.call("turn/start", turn("s", "a", "say one", puppetID))
			if got.Error == nil || got.Error.Code != -32603 || strings.Contains(got.Error.Message, "Check") {
				t.Errorf("turn/start: %s", got.Raw)
			}
			p.run(turn("t", "a", "hello", "demo"))
		})
	}
}
