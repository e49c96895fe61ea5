package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agent-server/eventlog"
	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/reducer"
)

// chosen are the capabilities of a client that is sent what it subscribes to.
var chosen = map[string]any{"chainedSeq": true, "openHarnesses": true, "events": "subscribed"}

// subscribe subscribes; more are members of the params.
func (p *peer) subscribe(session string, more ...any) (r protocol.SessionSubscribeResult, a said) {
	p.t.Helper()
	params := map[string]any{"sessionId": session}
	for i := 0; i+1 < len(more); i += 2 {
		params[more[i].(string)] = more[i+1]
	}
	a = p.call("session/subscribe", params)
	if a.Error == nil {
		if err := json.Unmarshal(a.Result, &r); err != nil {
			p.t.Fatalf("session/subscribe: %s", a.Raw)
		}
	}
	return r, a
}

// synced waits for events/synced behind a line, and gives its place and seq.
func (p *peer) synced(behind said) said {
	p.t.Helper()
	return p.await("events/synced", func(s said) bool { return s.Method == "events/synced" && s.At > behind.At })
}

// between are a session's envelopes whose lines stand between two.
func (p *peer) between(session string, from, to int) (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines[from:to] {
		if l.Event != nil && l.Params.SessionID == session {
			out = append(out, envelopeOf(l.Raw))
		}
	}
	return out
}

// folded folds envelopes onto a state; nil: the empty one.
func folded(t *testing.T, state protocol.Object, seq int64, envs []string) string {
	t.Helper()
	f := reducer.Folded{Seq: seq}
	if state != nil {
		c, err := reducer.Load(state)
		if err != nil {
			t.Fatalf("loading a state: %v", err)
		}
		f.Conversation = c
	}
	for _, e := range envs {
		env, err := protocol.DecodeEnvelope([]byte(e))
		if err != nil {
			t.Fatal(err)
		}
		f, _ = reducer.FoldEnvelope(f, env)
	}
	return string(f.Conversation.AppendJSON(nil))
}

// Law 113: a snapshot and what follows it are the whole, wherever it is taken; and the
// state is the one that the connection's own fold would have come to.
func TestLaw113_snapshotAndSuffix(t *testing.T) {
	t.Parallel()
	g := sieved(t, func(seq int64) bool { return seq%7 == 3 })
	base, named := as(t, g, nil), as(t, g, map[string]any{"openHarnesses": true})
	base.begin(turn("s", "a", "say hi;flood 300 8;ask;flood 50 8;say bye", puppetID))
	kinds := []map[string]any{chosen, {"events": "subscribed"}, {"chainedSeq": true, "deltas": false, "events": "subscribed"}, nil}
	type taken struct {
		p    *peer
		r    protocol.SessionSubscribeResult
		line said
		name string
	}
	var all []taken
	snap := func(when string) {
		for i, k := range kinds {
			p := as(t, g, k).unjudged() // a stream from the middle, put together below
			r, a := p.subscribe("s", "snapshot", "always")
			if a.Error != nil || r.Mode != protocol.SubscribedSnapshot {
				t.Fatalf("%s: %s", when, a.Raw)
			}
			all = append(all, taken{p, r, a, fmt.Sprint(when, " ", i)})
		}
	}
	event[*protocol.MessagePartDelta](base, "s", nil)
	snap("in the flood")
	ask, _ := event[*protocol.PermissionRequested](base, "s", nil)
	snap("at the question")
	base.respond("s", ask.RequestID, "allow")
	base.turnEnded("s", "a")
	snap("at the end")
	base.run(turn("s", "b", "say more", puppetID))
	named.turnEnded("s", "b")
	for _, x := range all {
		x.p.turnEnded("s", "b")
		x.p.synced(x.line)
		whole := folded(t, nil, 0, base.envelopes("s"))
		if strings.Contains(string(x.r.State), `"harness":"puppet"`) {
			whole = folded(t, nil, 0, named.envelopes("s"))
		}
		x.p.mu.Lock()
		end := len(x.p.lines)
		x.p.mu.Unlock()
		if got := folded(t, x.r.State, x.r.Seq, x.p.between("s", x.line.At, end)); got != whole {
			t.Errorf("%s: snapshot at %d and suffix give\n\t%s\nthe whole is\n\t%s", x.name, x.r.Seq, got, whole)
		}
	}
	for i, k := range kinds {
		p := as(t, g, k)
		want, shown := `"harness":"acp"`, fault(p.call("session/snapshot", map[string]any{"sessionId": "s"}))
		if i == 0 {
			want = `"harness":"puppet"`
		}
		if !strings.Contains(shown, want) {
			t.Errorf("client %d: snapshot %.300s, want %s", i, shown, want)
		}
	}
}

// TestSnapshotOutlivesTheLog: where the log has let its oldest turns go, the fold still
// holds what they came to.
func TestSnapshotOutlivesTheLog(t *testing.T) {
	t.Parallel()
	g := open(t, func(o *gateway.Options) { o.Log = eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: 1 << 20}) })
	base := as(t, g, nil)
	for i := range 30 {
		base.run(turn("s", fmt.Sprint("t", i), "flood 20 1024", puppetID))
	}
	if _, r := base.replayed("s", 1); *r.FirstAvailableSeq == 1 {
		t.Fatal("nothing was pruned")
	}
	late := as(t, g, map[string]any{"events": "subscribed"})
	r, a := late.subscribe("s", "afterSeq", 0)
	late.synced(a)
	if whole := folded(t, nil, 0, base.envelopes("s")); r.Mode != protocol.SubscribedSnapshot || string(r.State) != whole {
		t.Errorf("the snapshot has %d bytes, the fold of all events %d", len(r.State), len(whole))
	}
}

// Law 116: whoever has not asked meets nothing that is added to the base, whatever the
// others do and whatever the log has let go.
func TestLaw116_nothingUnasked(t *testing.T) {
	t.Parallel()
	g := sieved(t, func(seq int64) bool { return seq%2 == 0 })
	silent, base := connect(t, g, gateway.ConnectOptions{}), as(t, g, nil)
	other := as(t, g, chosen)
	base.run(turn("s", "a", "say hi;flood 100 8", puppetID))
	_, a := other.subscribe("s", "afterSeq", 0)
	other.synced(a)
	base.replayed("s", 1)
	other.run(turn("s", "b", "flood 20 8", puppetID))
	for name, p := range map[string]*peer{"silent": silent, "base": base} {
		p.turnEnded("s", "b")
		p.mu.Lock()
		for _, l := range p.lines {
			if l.Method != "" && l.Method != "event" || strings.Contains(l.Raw, "prevSeq") || strings.Contains(l.Raw, "nextSeq") {
				t.Errorf("%s was sent %.300s", name, l.Raw)
			}
			if l.Event != nil {
				if _, err := protocol.DecodeEventBase(l.Params.Event); err != nil {
					t.Errorf("%s was sent %.300s: %v", name, l.Raw, err)
				}
			}
		}
		p.mu.Unlock()
	}
}

// TestOnlySubscribed: a client that chooses is sent what it has subscribed to, from the
// answer on, and no more once it has unsubscribed.
func TestOnlySubscribed(t *testing.T) {
	t.Parallel()
	g := open(t)
	base, p := as(t, g, nil), as(t, g, chosen)
	base.run(turn("old", "a", "say hi", puppetID))
	p.begin(turn("own", "a", "say hi", puppetID)) // subscribes to nothing
	base.turnEnded("own", "a")
	r, a := p.subscribe("own", "afterSeq", 0)
	if a.Error != nil || r.Mode != protocol.SubscribedSuffix || r.Seq != 0 {
		t.Fatalf("session/subscribe: %s", a.Raw)
	}
	p.synced(a)
	p.turnEnded("own", "a")
	base.run(turn("own", "b", "say two", puppetID))
	p.turnEnded("own", "b")
	if got := fault(p.call("session/unsubscribe", map[string]any{"sessionId": "own"})); got != "result {}" {
		t.Errorf("session/unsubscribe: %s", got)
	}
	if got := fault(p.call("session/unsubscribe", map[string]any{"sessionId": "unheard"})); got != "result {}" {
		t.Errorf("of an unknown session: %s", got)
	}
	base.run(turn("own", "c", "say three", puppetID))
	p.unjudged() // it leaves something out, as it wishes
	p.subscribe("own", "snapshot", "never")
	base.run(turn("own", "d", "say four", puppetID))
	p.turnEnded("own", "d")
	if n := p.count(func(s said) bool { e, ok := s.Event.(*protocol.TurnEnded); return ok && e.TurnID == "c" }); n != 0 {
		t.Error("a turn was sent that was not subscribed to")
	}
	if n := p.count(func(s said) bool { return s.Params.SessionID == "old" }); n != 0 {
		t.Errorf("%d events of another session were sent", n)
	}
	// Asked anew without that capability, it is sent every session from its head.
	p.call("initialize", map[string]any{"protocolVersion": 2})
	base.run(turn("old", "b", "say hi", puppetID))
	base.run(turn("new", "a", "say hi", puppetID))
	p.turnEnded("old", "b")
	p.turnEnded("new", "a")
	if n := p.count(func(s said) bool {
		e, ok := s.Event.(*protocol.TurnEnded)
		return ok && s.Params.SessionID == "old" && e.TurnID == "a"
	}); n != 0 {
		t.Error("the past was sent unasked")
	}
}

// TestSubscribeMovesTheCursor: under events "all" a subscription sends again what is
// asked for, in place of what was being sent, and the deltas go by its own word.
func TestSubscribeMovesTheCursor(t *testing.T) {
	t.Parallel()
	g := open(t)
	p := as(t, g, map[string]any{"chainedSeq": true})
	p.run(turn("s", "a", "say hi;flood 20 8", puppetID))
	p.unjudged()
	_, a := p.subscribe("s", "afterSeq", 4, "deltas", false)
	done := p.synced(a)
	again := p.between("s", a.At, done.At)
	all := p.between("s", 0, a.At)
	if len(again) == 0 || chainOf(t, "again", again, all) != 4 {
		t.Errorf("sent again: %v", again)
	}
	if strings.Contains(strings.Join(again, ""), "message.part.delta") {
		t.Error("deltas were sent")
	}
	base := as(t, g, nil)
	if got := fault(base.call("session/subscribe", map[string]any{"sessionId": "s", "deltas": false})); !strings.HasPrefix(got, `-32602 [{"path":"deltas"`) {
		t.Errorf("no deltas without a chain: %s", got)
	}
	// A base connection's subscription is served with every number.
	base.unjudged()
	_, a = base.subscribe("s", "afterSeq", 2)
	done = base.synced(a)
	if got := base.between("s", a.At, done.At); len(got) != int(done.Params.Seq)-2 {
		t.Errorf("%d events after 2 of %d", len(got), done.Params.Seq)
	}
}

// Law 118: of requests that cross, the one sent last counts, whatever is answered last.
func TestLaw118_latestWishCounts(t *testing.T) {
	t.Parallel()
	log := &gatedLog{Log: eventlog.NewMemory(eventlog.MemoryOptions{}), gate: make(chan struct{})}
	g := open(t, func(o *gateway.Options) { o.Log = log })
	base, p := as(t, g, nil), as(t, g, chosen).unjudged()
	base.run(turn("slow", "a", "say hi", puppetID))
	log.shut.Store(true)
	first := p.ask("session/subscribe", map[string]any{"sessionId": "slow"})
	p.call("session/unsubscribe", map[string]any{"sessionId": "slow"})
	second := p.ask("session/subscribe", map[string]any{"sessionId": "slow"})
	last := p.call("session/unsubscribe", map[string]any{"sessionId": "slow"})
	close(log.gate)
	for _, id := range []string{first, second} {
		a := p.answer(id)
		before(t, "the unsubscribe and the subscription", last, a)
		if a.Error != nil {
			t.Errorf("session/subscribe: %s", a.Raw)
		}
	}
	base.run(turn("slow", "b", "say hi", puppetID))
	p.call("session/snapshot", map[string]any{"sessionId": "slow"})
	if n := p.count(func(s said) bool { return s.Event != nil }); n != 0 {
		t.Errorf("%d events were sent after the unsubscribe", n)
	}
	if _, a := p.subscribe("slow", "afterSeq", 0); a.Error != nil {
		t.Errorf("and again: %s", a.Raw)
	}
	p.turnEnded("slow", "b")
}

// Law 117: a connection with a chain that has fallen behind what the log holds is told
// so, once, and keeps its other sessions and its answers; a subscription heals it.
func TestLaw117_lagged(t *testing.T) {
	t.Parallel()
	g := open(t, func(o *gateway.Options) {
		o.Log = eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: 400 << 10})
		o.MaxLagBytes = 100 << 10
	})
	base, slow := connect(t, g, gateway.ConnectOptions{}), as(t, g, map[string]any{"chainedSeq": true})
	slow.unjudged() // its stream is cut
	slow.hold(true)
	for i := range 8 {
		base.run(turn("s", fmt.Sprint("t", i), "flood 300 64", puppetID))
	}
	_, r := base.replayed("s", 1)
	slow.hold(false)
	told := slow.await("events/lagged", func(s said) bool { return s.Method == "events/lagged" })
	last := slow.between("s", 0, told.At)
	env, err := protocol.DecodeEnvelope([]byte(last[len(last)-1]))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"events/lagged","params":{"sessionId":"s","lastSeq":%d,"firstAvailableSeq":%d}}`,
		env.Seq, *r.FirstAvailableSeq)
	if told.Raw != want {
		t.Errorf("told %s, want %s", told.Raw, want)
	}
	// It starts a turn there itself: its answers come, and nothing holds them up.
	slow.begin(turn("s", "own", "ask", puppetID))
	ask, _ := event[*protocol.PermissionRequested](base, "s", nil)
	base.respond("s", ask.RequestID, "allow")
	base.turnEnded("s", "own")
	slow.run(turn("other", "t", "say hi", puppetID))
	if n := slow.count(func(s said) bool { return s.At > told.At && s.Params.SessionID == "s" }); n != 0 {
		t.Errorf("%d lines of the session were sent after it was given up", n)
	}
	if _, a := slow.subscribe("s", "afterSeq", env.Seq, "snapshot", "never"); !strings.HasPrefix(fault(a), "-32020 ") {
		t.Errorf("where it had got to: %s", a.Raw)
	}
	snap, a := slow.subscribe("s", "afterSeq", env.Seq)
	slow.synced(a)
	base.run(turn("s", "last", "say hi", puppetID))
	slow.turnEnded("s", "last")
	if snap.Mode != protocol.SubscribedSnapshot || !strings.Contains(string(snap.State), `"turnId":"own"`) {
		t.Errorf("mode %s", snap.Mode)
	}
}
