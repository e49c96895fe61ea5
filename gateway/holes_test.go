package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/eventlog"
	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/verify"
)

// sieve is a log that has let deltas go: those whose seq it says.
type sieve struct {
	eventlog.Log
	gone func(seq int64) bool
}

func (l sieve) Read(session string, after int64, maxBytes int) ([]eventlog.Record, error) {
	for {
		records, err := l.Log.Read(session, after, maxBytes)
		if err != nil || len(records) == 0 {
			return nil, err
		}
		after = records[len(records)-1].Seq
		left := slices.DeleteFunc(slices.Clone(records), func(r eventlog.Record) bool { return !r.Durable && l.gone(r.Seq) })
		if len(left) > 0 {
			return left, nil
		}
	}
}

// sieved makes a gateway over such a log.
func sieved(t *testing.T, gone func(seq int64) bool) *gateway.Gateway {
	t.Helper()
	return open(t, func(o *gateway.Options) { o.Log = sieve{eventlog.NewMemory(eventlog.MemoryOptions{}), gone} })
}

// as connects a client with capabilities; nil: a base client.
func as(t *testing.T, g *gateway.Gateway, capabilities map[string]any) *peer {
	t.Helper()
	p := connect(t, g, gateway.ConnectOptions{})
	p.greet(capabilities)
	return p
}

// greet initializes with capabilities, and has the peer judged by them from the answer
// on: until then it is a base client, whom a running turn reaches at once. nil: it
// stays one.
func (p *peer) greet(capabilities map[string]any) {
	p.t.Helper()
	params := map[string]any{"protocolVersion": 2}
	p.mu.Lock()
	if capabilities == nil {
		p.judge = verify.NewSet(verify.Options{Base: true})
	} else {
		params["capabilities"] = capabilities
		p.greeted = verify.NewSet(verify.Options{Chained: capabilities["chainedSeq"] == true})
	}
	p.mu.Unlock()
	if a := p.call("initialize", params); a.Error != nil {
		p.t.Fatalf("initialize: %s", a.Raw)
	}
}

// TestBaseUntilGreeted: a client that connects in the middle of a turn is sent what a
// base client is until its initialize is answered, and is chained from there on.
func TestBaseUntilGreeted(t *testing.T) {
	t.Parallel()
	g := open(t)
	base := as(t, g, nil)
	base.begin(turn("s", "a", "say hi;ask;say bye", puppetID))
	ask, _ := event[*protocol.PermissionRequested](base, "s", nil)
	late := connect(t, g, gateway.ConnectOptions{})
	base.begin(turn("early", "a", "say hi", puppetID))
	late.turnEnded("early", "a")
	late.greet(map[string]any{"chainedSeq": true})
	base.respond("s", ask.RequestID, "allow")
	late.turnEnded("s", "a")
	late.mu.Lock()
	defer late.mu.Unlock()
	greeted := false
	for _, l := range late.lines {
		greeted = greeted || l.ID != nil
		if l.Event != nil && strings.Contains(l.Raw, `"prevSeq":`) != greeted {
			t.Errorf("greeted %t: %s", greeted, l.Raw)
		}
	}
}

// envelopes are those of a session that a peer was sent, as they came.
func (p *peer) envelopes(session string) (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		if l.Event != nil && l.Params.SessionID == session {
			out = append(out, envelopeOf(l.Raw))
		}
	}
	return out
}

func envelopeOf(line string) string { return line[len(eventlog.Prefix) : len(line)-len("}")] }

// replayed asks for a session's events from a seq on.
func (p *peer) replayed(session string, from int64, more ...any) (out []string, r protocol.EventsReplayResult) {
	p.t.Helper()
	params := map[string]any{"sessionId": session, "fromSeq": from}
	for i := 0; i+1 < len(more); i += 2 {
		params[more[i].(string)] = more[i+1]
	}
	a := p.call("events/replay", params)
	if err := json.Unmarshal(a.Result, &r); err != nil {
		p.t.Fatalf("events/replay: %s", a.Raw)
	}
	for _, e := range r.Events {
		out = append(out, string(e))
	}
	return out, r
}

// fillers finds the fillers among envelopes and holds each to what it takes over.
func fillers(t *testing.T, envs []string, harness protocol.HarnessID) (n int) {
	t.Helper()
	turn, at := "", int64(0)
	for i, text := range envs {
		env, err := protocol.DecodeEnvelope([]byte(text))
		if err != nil || env.Seq != int64(i)+1 {
			t.Fatalf("envelope %d is %s: %v", i, text, err)
		}
		raw, ok := env.Event.(*protocol.Raw)
		if !ok {
			if env.Event.Turn() != "" {
				turn, at = env.Event.Turn(), env.Event.Time()
			}
			continue
		}
		n++
		want := fmt.Sprintf(`{"sessionId":"s","seq":%d,"event":{"type":"raw","sessionId":"s","turnId":%q,"harness":%q,"data":null,"timestamp":%d,"_meta":{"agent-server/elided":true}}}`,
			env.Seq, turn, harness, at)
		if text != want {
			t.Errorf("filler\n\t%s\nwant\n\t%s (%v)", text, want, raw.Meta)
		}
	}
	return n
}

// Law 111: a connection without a chain is sent every number; one that the log does not
// hold is filled, the same live and replayed, and breaks no law of the base's.
func TestLaw111_holesAreFilled(t *testing.T) {
	t.Parallel()
	tests := map[string]func(seq int64) bool{
		"every delta":  func(int64) bool { return true },
		"every third":  func(seq int64) bool { return seq%3 == 0 },
		"some in rows": func(seq int64) bool { return seq%16 < 11 },
		"none":         func(int64) bool { return false },
	}
	for name, gone := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := sieved(t, gone)
			base, named := as(t, g, nil), as(t, g, map[string]any{"openHarnesses": true})
			base.run(turn("s", "a", "say hi;flood 700 4;say bye", puppetID))
			base.run(turn("s", "b", "flood 20 4", puppetID))
			named.turnEnded("s", "b")
			for p, harness := range map[*peer]protocol.HarnessID{base: "acp", named: puppetID} {
				live := p.envelopes("s")
				if n := fillers(t, live, harness); (n == 0) != (name == "none") {
					t.Errorf("%d fillers", n)
				}
				again, r := p.replayed("s", 1)
				if diff := cmp.Diff(live, again); diff != "" {
					t.Errorf("replayed otherwise than sent (-sent +replayed):\n%.2000s", diff)
				}
				if *r.FirstAvailableSeq != 1 || *r.LatestSeq != int64(len(live)) {
					t.Errorf("from %d to %d", *r.FirstAvailableSeq, *r.LatestSeq)
				}
				for _, from := range []int64{2, 30, 37, 38, 500, int64(len(live)), int64(len(live)) + 1} {
					if again, _ := p.replayed("s", from); !slices.Equal(again, live[from-1:]) {
						t.Errorf("from %d other events were replayed than sent", from)
					}
				}
			}
		})
	}
}

// Law 112: with a chain nothing is filled; each envelope names the one before it in
// what this connection is sent, and the first the cursor it was sent from.
func TestLaw112_chain(t *testing.T) {
	t.Parallel()
	g := sieved(t, func(seq int64) bool { return seq%5 > 1 })
	base, chained := as(t, g, nil), as(t, g, map[string]any{"chainedSeq": true})
	sparse := as(t, g, map[string]any{"chainedSeq": true, "deltas": false})
	base.run(turn("s", "a", "say hi;flood 300 4;say bye", puppetID))
	late := as(t, g, map[string]any{"chainedSeq": true})
	base.run(turn("s", "b", "flood 20 4", puppetID))
	all := base.envelopes("s")
	for name, p := range map[string]*peer{"chained": chained, "sparse": sparse, "late": late} {
		p.turnEnded("s", "b")
		live := p.envelopes("s")
		first := chainOf(t, name, live, all)
		if (first == 0) != (name != "late") {
			t.Errorf("%s: the first follows %d", name, first)
		}
		// A replay is shown the same way; its chain begins where it was asked from.
		if again, _ := p.replayed("s", first+1); !slices.Equal(again, live) {
			t.Errorf("%s: replayed otherwise than sent", name)
		}
		mid, _ := p.replayed("s", first+7)
		if at := chainOf(t, name, mid, all); at != first+6 {
			t.Errorf("%s: a replay from %d follows %d", name, first+7, at)
		}
	}
	for _, e := range sparse.envelopes("s") {
		if env, _ := protocol.DecodeEnvelope([]byte(e)); env.Event.Type() == protocol.TypeMessagePartDelta {
			t.Fatalf("a connection without deltas was sent %s", e)
		}
	}
}

// chainOf checks that envelopes hang together and hold the very bytes of the events
// that others are sent; it gives what the first follows.
func chainOf(t *testing.T, name string, envs, all []string) (first int64) {
	t.Helper()
	type head struct {
		Seq     int64           `json:"seq"`
		PrevSeq *int64          `json:"prevSeq"`
		Event   json.RawMessage `json:"event"`
	}
	last := int64(-1)
	for _, text := range envs {
		var h, other head
		if json.Unmarshal([]byte(text), &h) != nil || h.PrevSeq == nil {
			t.Fatalf("%s: no chain in %s", name, text)
		}
		if last < 0 {
			first, last = *h.PrevSeq, *h.PrevSeq
		}
		if *h.PrevSeq != last || h.Seq <= last {
			t.Errorf("%s: seq %d follows %d, it was sent after %d", name, h.Seq, *h.PrevSeq, last)
		}
		last = h.Seq
		if _ = json.Unmarshal([]byte(all[h.Seq-1]), &other); string(other.Event) != string(h.Event) {
			t.Errorf("%s: event %d is\n\t%s\nothers are sent\n\t%s", name, h.Seq, h.Event, other.Event)
		}
	}
	return first
}

// TestReplayPages: a page ends where it was asked to, says where the next begins, and
// together they are the whole.
func TestReplayPages(t *testing.T) {
	t.Parallel()
	g := sieved(t, func(seq int64) bool { return seq%5 > 1 })
	clients := map[string]*peer{"base": as(t, g, nil), "sparse": as(t, g, map[string]any{"chainedSeq": true, "deltas": false})}
	clients["base"].run(turn("s", "a", "flood 100 4;say bye;flood 3 4", puppetID))
	for name, p := range clients {
		p.turnEnded("s", "a")
		whole, r := p.replayed("s", 1)
		if r.NextSeq != nil {
			t.Errorf("%s: the whole has a next page at %d", name, *r.NextSeq)
		}
		for _, limit := range []int{1, 7, len(whole) - 1, len(whole), len(whole) + 1} {
			var pages []string
			for from := int64(1); ; {
				page, r := p.replayed("s", from, "limit", limit)
				if len(page) > limit || len(page) == 0 {
					t.Fatalf("%s: %d events on a page of %d", name, len(page), limit)
				}
				pages = append(pages, page...)
				if r.NextSeq == nil {
					break
				}
				from = *r.NextSeq
			}
			if !slices.Equal(pages, whole) {
				t.Errorf("%s: pages of %d are not the whole", name, limit)
			}
		}
		beyond, r := p.replayed("s", *r.LatestSeq+1, "limit", 3)
		if len(beyond) != 0 || r.NextSeq != nil {
			t.Errorf("%s: beyond the head there are %v", name, beyond)
		}
	}
}
