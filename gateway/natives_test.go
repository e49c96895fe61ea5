package gateway_test

import (
	"fmt"
	"sync"
	"testing"

	"agent-server/gateway"
	"agent-server/protocol"
)

// TestLaw125_oneProcessANativeSession: a native session that runs is nobody else's:
// to resume it is an error of that turn, nothing is started and nothing fresh is
// begun. When its process has gone it is free.
func TestLaw125_oneProcessANativeSession(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	g := open(t, func(o *gateway.Options) { o.Metrics = l })
	p := connect(t, g, gateway.ConnectOptions{})
	p.run(turn("first", "a", "say hi", puppetID))
	created, _ := event[*protocol.SessionCreated](p, "first", nil)
	resume := func(session, id string) *protocol.TurnEnded {
		return p.run(turn(session, id, "say hi", puppetID, "resumeSessionId", created.NativeSessionID))
	}
	end := resume("second", "a")
	if end.Error == nil || end.Error.Category != protocol.CategoryInvalidRequest {
		t.Fatalf("resumed while it runs: ended %s %+v", end.StopReason, end.Error)
	}
	if n := p.count(func(s said) bool { return s.Event != nil && s.Event.Type() == protocol.TypeSessionCreated }); n != 1 {
		t.Errorf("%d native sessions were created", n)
	}
	l.want(1, "harness_starts_total", "puppet")
	if end := p.run(turn("first", "b", "say on", puppetID)); end.StopReason != protocol.StopEndTurn {
		t.Errorf("its owner's next turn ended %s", end.StopReason)
	}
	p.call("session/close", map[string]any{"sessionId": "first"})
	waitUntil(t, "its process is gone", func() bool { return l.value("harness_processes", "puppet") == 0 })
	if end := resume("second", "b"); end.StopReason != protocol.StopEndTurn {
		t.Errorf("once it is free: ended %s %+v", end.StopReason, end.Error)
	}
	again, at := event(p, "second", func(e *protocol.SessionCreated) bool { return true })
	if again.NativeSessionID != created.NativeSessionID || again.Resumed == nil || !*again.Resumed {
		t.Errorf("resumed as %s", at.Raw)
	}
}

// TestOneOfManyResumes: of those who want the same native session at once one has it.
func TestOneOfManyResumes(t *testing.T) {
	t.Parallel()
	const many = 8
	g := open(t)
	p := connect(t, g, gateway.ConnectOptions{})
	var wg sync.WaitGroup
	ends := make([]*protocol.TurnEnded, many)
	for i := range many {
		peer := connect(t, g, gateway.ConnectOptions{})
		wg.Go(func() {
			s := fmt.Sprint("s", i)
			if a := peer.call("turn/start", turn(s, "t", "say hi;wait", puppetID, "resumeSessionId", "wanted")); a.Error != nil {
				t.Errorf("turn/start: %s", a.Raw)
			}
		})
	}
	wg.Wait()
	waitUntil(t, "all but one have ended", func() bool {
		n := 0
		for i := range many {
			for _, s := range p.all() {
				if e, ok := s.Event.(*protocol.TurnEnded); ok && e.SessionID == fmt.Sprint("s", i) {
					ends[i], n = e, n+1
				}
			}
		}
		return n == many-1
	})
	for i, e := range ends {
		if e == nil {
			p.call("turn/cancel", map[string]any{"sessionId": fmt.Sprint("s", i)})
			p.turnEnded(fmt.Sprint("s", i), "t")
		} else if e.Error == nil || e.Error.Category != protocol.CategoryInvalidRequest {
			t.Errorf("s%d ended %s %+v", i, e.StopReason, e.Error)
		}
	}
}

// all are the lines so far.
func (p *peer) all() []said {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]said(nil), p.lines...)
}
