package gateway_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"agent-server/protocol"
	"agent-server/transport"
)

// TestTwoClientsSameBytes: whoever asks, all are sent the same bytes in the same order.
func TestTwoClientsSameBytes(t *testing.T) {
	t.Parallel()
	l := listening(t, open(t), transport.SocketOptions{})
	a, b := dialed(t, l.URL()), dialed(t, l.URL())
	var wg sync.WaitGroup
	for i, p := range []*peer{a, b} {
		wg.Go(func() {
			for j := range 4 {
				p.run(turn(fmt.Sprint("s", i), fmt.Sprint("t", j), "say hi;flood 200 16;ask", puppetID, "permissionMode", "default"))
			}
		})
		wg.Go(func() { // the other one's requests are answered by this one
			other := fmt.Sprint("s", 1-i)
			for j := range 4 {
				ask, _ := event(p, other, func(e *protocol.PermissionRequested) bool { return e.TurnID == fmt.Sprint("t", j) })
				p.respond(other, ask.RequestID, "allow")
			}
		})
	}
	wg.Wait()
	for i := range 2 {
		session := fmt.Sprint("s", i)
		a.turnEnded(session, "t3")
		b.turnEnded(session, "t3")
		if x, y := a.envelopes(session), b.envelopes(session); !slices.Equal(x, y) || len(x) < 800 {
			t.Errorf("%s: %d and %d events, not the same", session, len(x), len(y))
		}
	}
}

// respond answers a permission request, and gives what that is told.
func (p *peer) respond(session, request, option string) string {
	p.t.Helper()
	return fault(p.call("permission/respond", map[string]any{"sessionId": session, "requestId": request,
		"outcome": map[string]any{"outcome": "selected", "optionId": option}}))
}

// TestLateClientCatchesUp: one that comes in the middle of a turn has, by a replay and
// what is sent to it meanwhile, every event of it, without a hole.
func TestLateClientCatchesUp(t *testing.T) {
	t.Parallel()
	l := listening(t, open(t), transport.SocketOptions{})
	a := dialed(t, l.URL())
	for i := range 4 {
		session := fmt.Sprint("s", i)
		a.begin(turn(session, "t", "say hi;flood 1000 16;ask;flood 20 16", puppetID))
		event[*protocol.MessagePartDelta](a, session, nil)
		late := dialed(t, l.URL()).unjudged() // judged below, put together
		past, r := late.replayed(session, 1)
		ask, _ := event[*protocol.PermissionRequested](a, session, nil)
		late.respond(session, ask.RequestID, "allow")
		late.turnEnded(session, "t")
		a.turnEnded(session, "t")
		live := late.envelopes(session)
		if len(live) == 0 {
			t.Fatalf("round %d: it came too late", i)
		}
		env, err := protocol.DecodeEnvelope([]byte(live[0]))
		if err != nil || env.Seq > *r.LatestSeq+1 {
			t.Fatalf("round %d: a hole between %d and %d (%v)", i, *r.LatestSeq, env.Seq, err)
		}
		if whole := slices.Concat(past[:env.Seq-1], live); !slices.Equal(whole, a.envelopes(session)) {
			t.Errorf("round %d: put together it is not what the first client was sent", i)
		}
	}
}

// TestFirstAnswerWins: of two clients that answer one permission request, one is told
// that it was accepted and the other that it was not; both see what it came to.
func TestFirstAnswerWins(t *testing.T) {
	t.Parallel()
	l := listening(t, open(t), transport.SocketOptions{})
	a, b := dialed(t, l.URL()), dialed(t, l.URL())
	for i := range 10 {
		id := fmt.Sprint("t", i)
		a.begin(turn("s", id, "ask", puppetID))
		options, told := []string{"allow", "reject"}, make([]string, 2)
		var wg sync.WaitGroup
		for j, p := range []*peer{a, b} {
			wg.Go(func() {
				ask, _ := event(p, "s", func(e *protocol.PermissionRequested) bool { return e.TurnID == id })
				told[j] = p.respond("s", ask.RequestID, options[j])
			})
		}
		wg.Wait()
		first := slices.Index(told, `result {"accepted":true}`)
		if first < 0 || told[1-first] != `result {"accepted":false}` {
			t.Fatalf("round %d: told %q", i, told)
		}
		for _, p := range []*peer{a, b} {
			r, _ := event(p, "s", func(e *protocol.PermissionResolved) bool { return e.TurnID == id })
			if r.Outcome.OptionID != options[first] {
				t.Errorf("round %d: resolved %+v, accepted was %s", i, r.Outcome, options[first])
			}
			p.turnEnded("s", id)
		}
	}
}

// TestClientDiesBeforeItsAnswer: what it has asked for happens all the same, once, and
// a retry is told so.
func TestClientDiesBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	l := listening(t, open(t), transport.SocketOptions{})
	watching := dialed(t, l.URL())
	for i := range 6 {
		id := fmt.Sprint("t", i)
		done := filepath.Join(t.TempDir(), "done")
		start := turn("s", id, "say hi;ask;wait "+done, puppetID)
		dying := dialed(t, l.URL()).unjudged() // its stream is cut
		dying.ask("turn/start", start)
		ask, _ := event(watching, "s", func(e *protocol.PermissionRequested) bool { return e.TurnID == id })
		_ = dying.conn.Close()

		another := dialed(t, l.URL()).unjudged()
		another.ask("permission/respond", map[string]any{"sessionId": "s", "requestId": ask.RequestID,
			"outcome": map[string]any{"outcome": "selected", "optionId": "allow"}})
		event(watching, "s", func(e *protocol.PermissionResolved) bool { return e.RequestID == ask.RequestID })
		_ = another.conn.Close()

		if got := fault(watching.call("turn/start", start)); got != `result {"sessionId":"s","turnId":"`+id+`","deduplicated":true}` {
			t.Errorf("the retry: %s", got)
		}
		if got := watching.respond("s", ask.RequestID, "reject"); got != `result {"accepted":false}` {
			t.Errorf("the second answer: %s", got)
		}
		if err := os.WriteFile(done, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		watching.ask("turn/cancel", map[string]any{"sessionId": "s"})
		watching.turnEnded("s", id)
		if n := watching.count(func(s said) bool { e, ok := s.Event.(*protocol.TurnStarted); return ok && e.TurnID == id }); n != 1 {
			t.Errorf("the turn was started %d times", n)
		}
	}
}

// TestTwoPromptsAtOnce: one runs, the other is told which.
func TestTwoPromptsAtOnce(t *testing.T) {
	t.Parallel()
	l := listening(t, open(t), transport.SocketOptions{})
	peers := []*peer{dialed(t, l.URL()), dialed(t, l.URL())}
	for i := range 20 {
		ids, told := []string{fmt.Sprint("a", i), fmt.Sprint("b", i)}, make([]string, 2)
		var wg sync.WaitGroup
		for j, p := range peers {
			wg.Go(func() { told[j] = fault(p.call("turn/start", turn("s", ids[j], "wait", puppetID))) })
		}
		wg.Wait()
		won := slices.Index(told, fmt.Sprintf(`result {"sessionId":"s","turnId":%q}`, ids[0]))
		if won != 0 {
			won = 1
		}
		if want := fmt.Sprintf(`-32002 {"turnId":%q}`, ids[won]); told[1-won] != want {
			t.Fatalf("round %d: told %q, want %s for the second", i, told, want)
		}
		peers[1-won].call("turn/cancel", map[string]any{"sessionId": "s", "turnId": ids[won]})
		for _, p := range peers {
			p.turnEnded("s", ids[won])
		}
	}
}
