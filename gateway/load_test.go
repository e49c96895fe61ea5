package gateway_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"agent-server/eventlog"
	"agent-server/gateway"
	"agent-server/protocol"
)

// TestStartsRaceShutdown: a turn is either refused or admitted; what is admitted
// ends, and its session with it.
func TestStartsRaceShutdown(t *testing.T) {
	t.Parallel()
	g := open(t)
	p := connect(t, g, gateway.ConnectOptions{})
	var ids []string
	for i := range 12 {
		if i == 5 {
			p.answer(ids[4])
			go func() { _ = g.Shutdown(context.Background(), 0) }()
		}
		ids = append(ids, p.ask("turn/start", turn(fmt.Sprint("s", i), "t", "say hi;wait", puppetID)))
	}
	admitted := 0
	for i, id := range ids {
		switch got := fault(p.answer(id)); got {
		case "-32003":
		case fmt.Sprintf(`result {"sessionId":"s%d","turnId":"t"}`, i):
			admitted++
			p.turnEnded(fmt.Sprint("s", i), "t")
			event[*protocol.SessionEnded](p, fmt.Sprint("s", i), nil)
		default:
			t.Errorf("turn %d: %s", i, got)
		}
	}
	if admitted < 5 {
		t.Errorf("%d turns were admitted, five were asked for before", admitted)
	}
	<-g.Done()
}

// TestRandomRequests: whatever several connections ask, in whatever order, every
// request has one answer, none of them a fault of ours, and each stream keeps its
// laws.
func TestRandomRequests(t *testing.T) {
	t.Parallel()
	g := open(t, func(o *gateway.Options) { o.IdleTimeout = 1 }) // evicts as often as it can
	var wg sync.WaitGroup
	var peers []*peer
	for i := range 3 {
		p := connect(t, g, gateway.ConnectOptions{Pause: i == 0})
		peers = append(peers, p)
		wg.Go(func() { wander(p, rand.New(rand.NewPCG(3, uint64(i))), 40) })
	}
	wg.Wait()
	// What still runs is ended, so that every stream can be judged.
	p := peers[0]
	for _, session := range sessions {
		p.call("turn/cancel", map[string]any{"sessionId": session})
	}
	if err := g.Shutdown(context.Background(), 0); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	for _, p := range peers {
		p.call("initialize", map[string]any{"protocolVersion": 2})
	}
}

var sessions = []string{"a", "b", "c"}

// wander asks for this and that; it waits for the answers now and then.
func wander(p *peer, r *rand.Rand, steps int) {
	prompts := []string{"say hi", "flood 30 8", "say one;ask", "say one;wait", "exit 1", "timer 1", "ask;say two", "unknown"}
	open := map[string]string{}
	for i := range steps {
		session := sessions[r.IntN(len(sessions))]
		method, params := "turn/cancel", any(map[string]any{"sessionId": session})
		switch r.IntN(7) {
		case 0, 1, 2:
			id := fmt.Sprintf("t%d", r.IntN(12))
			method, params = "turn/start", turn(session, id, prompts[len(id)*r.IntN(len(prompts))%len(prompts)], puppetID)
		case 3:
			method, params = "permission/respond", map[string]any{"sessionId": session, "requestId": p.lastRequest(session),
				"outcome": map[string]any{"outcome": "selected", "optionId": []string{"allow", "allow_always", "reject"}[r.IntN(3)]}}
		case 4:
			method, params = "session/close", map[string]any{"sessionId": session}
		case 5:
			method, params = "events/replay", map[string]any{"sessionId": session, "fromSeq": 1 + r.IntN(40)}
		}
		open[p.ask(method, params)] = method
		if i%5 == 4 {
			settle(p, open)
		}
	}
	settle(p, open)
}

// lastRequest is the session's latest permission request, answered or not.
func (p *peer) lastRequest(session string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.lines) - 1; i >= 0; i-- {
		if ev, ok := p.lines[i].Event.(*protocol.PermissionRequested); ok && ev.SessionID == session {
			return ev.RequestID
		}
	}
	return ""
}

// settle waits for every answer that is owed, and checks that there is one each.
func settle(p *peer, open map[string]string) {
	for id, method := range open {
		if a := p.answer(id); a.Error != nil && (a.Error.Code == -32603 || a.Error.Code == -32601) {
			p.t.Errorf("%s: %s", method, a.Raw)
		}
		if n := p.count(func(s said) bool { return string(s.ID) == id }); n != 1 {
			p.t.Errorf("%s was answered %d times", method, n)
		}
		delete(open, id)
	}
}

// TestPruned: a log that has let its front go says so; a connection whose cursor
// is gone with it ends, rather than being sent less.
func TestPruned(t *testing.T) {
	t.Parallel()
	g := open(t, func(o *gateway.Options) {
		o.Log = eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: 400 << 10})
		o.MaxLagBytes = 100 << 10 // what lags less is spared
	})
	p, slow := connect(t, g, gateway.ConnectOptions{}), connect(t, g, gateway.ConnectOptions{})
	slow.call("initialize", map[string]any{"protocolVersion": 2})
	slow.hold(true)
	for i := range 8 {
		p.run(turn("s", fmt.Sprint("t", i), "flood 300 64", puppetID))
	}
	a := p.call("events/replay", map[string]any{"sessionId": "s", "fromSeq": 1})
	if a.Error != nil || strings.Contains(a.Raw, `"firstAvailableSeq":1,`) {
		t.Errorf("replay of a pruned log: %.300s", a.Raw)
	}
	slow.hold(false)
	<-slow.stream.Closed()
	if n := slow.count(func(s said) bool { return s.Event != nil }); n == 0 {
		t.Error("the slow connection was sent nothing at all")
	}
	p.run(turn("s", "last", "say hi", puppetID))
	// Its stream is cut, and judged only as far as it goes.
	slow.mu.Lock()
	slow.judge = nil
	slow.mu.Unlock()
}

// TestPanicInAMethod: a fault of ours in a method itself.
func TestPanicInAMethod(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	p := connect(t, open(t, pup(func(p *puppet) { p.infoPanics = &fails })), gateway.ConnectOptions{})
	fails.Store(true)
	if got := fault(p.hello()); got != "-32603" {
		t.Errorf("initialize: %s", got)
	}
	fails.Store(false)
	if got := p.hello(); got.Error != nil {
		t.Errorf("initialize again: %s", got.Raw)
	}
}
