package verify

import (
	"fmt"
	"slices"
	"testing"

	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// id draws from a few names, so that events meet.
func id(t *rapid.T, kind string) string {
	return rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, kind)
}

// anyPart is a part of any type with an id and a message from the few.
func anyPart(t *rapid.T) protocol.Part {
	m, p := "m"+id(t, "message"), "p"+id(t, "part")
	w := rapid.SampledFrom([]string{"", "x", "xy"}).Draw(t, "text")
	state := rapid.SampledFrom([]protocol.PartState{"", streaming, done}).Draw(t, "state")
	return rapid.SampledFrom([]protocol.Part{
		text(m, p, w, state), thought(m, p, w, state), hologram(m, p),
		tool(m, p, waiting(w)), tool(m, p, running()), tool(m, p, completed()),
		&protocol.FilePart{PartHead: head(m, p), URL: &w, MimeType: "text/plain"},
	}).Draw(t, "part")
}

// anyEvent is an event of any type, with ids from the few and no order in it.
func anyEvent(t *rapid.T) protocol.Event {
	turn, m, r := "t"+id(t, "turn"), "m"+id(t, "message"), "r"+id(t, "request")
	place := float64(rapid.IntRange(0, 2).Draw(t, "place"))
	shown := show(turn, anyPart(t))
	shown.MessageID, shown.PartIndex = m, place
	delta := rapid.SampledFrom([]protocol.Delta{words("y"), &protocol.ReasoningDelta{Text: "y"}, input("y")}).Draw(t, "delta")
	return rapid.SampledFrom([]protocol.Event{
		start(turn), end(turn, ok), end(turn, cancelled), end(turn, failed), fail(turn, "auth"),
		created(), fault1(turn, "auth", place == 0), fault1("", "auth", false),
		user(turn, m), assistant(turn, m, place), closed(turn, m), shown, shown, shown,
		grow(turn, m, "p"+id(t, "grown"), delta), ask(turn, r), choose(turn, r), drain(turn, r), by("policy", drain(turn, r)),
		&protocol.SessionCompaction{SessionID: "s", TurnID: turn, CompactionID: r, Status: rapid.SampledFrom([]string{"in_progress", "completed"}).Draw(t, "status")},
		&protocol.SessionUsage{SessionID: "s", TurnID: turn, Used: place},
		&protocol.SessionEnded{SessionID: "s", Reason: "idle"},
		&protocol.Raw{SessionID: "s", TurnID: turn, Harness: "acp", Data: protocol.Object(`null`), Meta: protocol.Object(`{"agent-server/elided":true}`)},
		unknown("turn.queued", `{"type":"turn.queued","turnId":"`+turn+`"}`), unknown("turn.unqueued", `{"type":"turn.unqueued","turnId":[]}`),
	}).Draw(t, "event")
}

// Law 67: whatever decodes is judged without a panic; the fold survives it; and the
// base's verdict is ours without what is ours.
func TestLaw67_anyStreamIsJudged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(rapid.Custom(anyEvent), 0, 60).Draw(t, "events")
		all := verdict(events, Options{})
		for _, v := range all {
			if v.Rule == ReducerTotal || v.Rule == ReducerIdempotent || v.Index >= len(events) || v.Index < -1 {
				t.Fatalf("%+v", v)
			}
		}
		all = slices.DeleteFunc(all, func(v Violation) bool { return isOurs(v.Rule) })
		if diff := cmp.Diff(all, verdict(events, Options{Base: true}), anyOrder); diff != "" {
			t.Fatalf("the base sees something else (-ours +base):\n%s", diff)
		}
	})
}

// Lines cut, joined and spoilt are judged without a panic, too.
func TestAnyLineIsJudged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v, set := New(Options{}), NewSet(Options{Chained: true})
		for range rapid.IntRange(1, 20).Draw(t, "lines") {
			raw := protocol.AppendEnvelope(nil, protocol.Envelope{
				SessionID: id(t, "session"), Seq: rapid.Int64Range(1, 9).Draw(t, "seq"), Event: anyEvent(t)})
			if rapid.Bool().Draw(t, "spoil") {
				raw[rapid.IntRange(0, len(raw)-1).Draw(t, "where")] = rapid.Byte().Draw(t, "byte")
			}
			v.AddRaw(raw)
			set.AddRaw(raw)
		}
		v.Finish()
		set.Finish()
	})
}

// lawful makes a stream as the gateway promises it: turns one after another,
// each with its echo, messages that stream text and input, requests that are
// answered, and an end.
type lawful struct {
	t      *rapid.T
	events []protocol.Event
	turn   string
	n      int
}

func (l *lawful) add(events ...any)        { l.events = append(l.events, then(events...)...) }
func (l *lawful) mint(kind string) string  { l.n++; return fmt.Sprintf("%s%d", kind, l.n) }
func (l *lawful) maybe(what string) bool   { return rapid.Bool().Draw(l.t, what) }
func (l *lawful) upTo(n int, s string) int { return rapid.IntRange(0, n).Draw(l.t, s) }
func (l *lawful) text(message string) {
	p, whole := l.mint("p"), ""
	l.add(show(l.turn, text(message, p, "", streaming)))
	for range l.upTo(3, "deltas") {
		l.add(grow(l.turn, message, p, words("ab")))
		whole += "ab"
	}
	l.add(show(l.turn, text(message, p, whole, done)))
}

func (l *lawful) tool(message string) {
	p := l.mint("p")
	l.add(at(1, show(l.turn, tool(message, p, waiting("")))), grow(l.turn, message, p, input("{}")), at(1, show(l.turn, tool(message, p, running()))))
	if l.maybe("asks") {
		r := l.mint("r")
		l.add(ask(l.turn, r), choose(l.turn, r))
	}
	if l.maybe("finishes") {
		l.add(at(1, show(l.turn, tool(message, p, completed()))))
	}
}

func (l *lawful) message(place int) {
	m := l.mint("m")
	l.add(assistant(l.turn, m, float64(place)))
	if l.maybe("speaks") {
		l.text(m)
	}
	if l.maybe("acts") {
		l.tool(m)
	}
	l.add(closed(l.turn, m))
}

func (l *lawful) oneTurn() {
	l.turn = l.mint("t")
	l.add(echoed(l.turn))
	if l.maybe("creates") {
		l.add(created())
	}
	for i := range l.upTo(3, "messages") {
		l.message(i + 1)
	}
	if l.maybe("fails") {
		l.add(fault1(l.turn, "network", true), fault1(l.turn, "auth", false), fail(l.turn, "auth"))
		return
	}
	l.add(end(l.turn, ok))
}

// lawfulStream draws a lawful stream.
func lawfulStream(t *rapid.T) []protocol.Event {
	l := &lawful{t: t}
	for range l.upTo(4, "turns") {
		l.oneTurn()
	}
	return l.events
}

// A lawful stream breaks nothing; cut anywhere, nothing but what has not ended.
func TestLawfulStreams(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := lawfulStream(t)
		v := New(Options{})
		for i, ev := range events {
			if got := v.AddEvent(ev); len(got) > 0 {
				t.Fatalf("event %d of a lawful stream: %v", i, got)
			}
			for _, left := range v.Finish() {
				if left.Rule != TurnEndedPairs && left.Rule != PermissionResolvesOnce {
					t.Fatalf("cut after event %d: %v", i, left)
				}
			}
		}
		if got := v.Finish(); len(got) > 0 {
			t.Fatalf("at its end: %v", got)
		}
	})
}

// A lawful stream joined anywhere breaks nothing that a client could be sure of.
func TestLawfulStreamsJoinedLate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		envs := numberedFrom(1, lawfulStream(t))
		from := rapid.IntRange(0, len(envs)).Draw(t, "from")
		if got := Stream(envs[from:], Options{}); len(got) > 0 {
			t.Fatalf("joined at %d: %v", from, got)
		}
	})
}

// With every delta let go and the chain saying so, a lawful stream stays lawful.
func TestLawfulStreamsWithoutDeltas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var kept []protocol.Envelope
		last := int64(0)
		for _, env := range numberedFrom(1, lawfulStream(t)) {
			if env.Event.Type() == protocol.TypeMessagePartDelta {
				continue
			}
			env.PrevSeq = new(last)
			last = env.Seq
			kept = append(kept, env)
		}
		if got := Stream(kept, Options{Chained: true}); len(got) > 0 {
			t.Fatalf("%v", got)
		}
	})
}

// A lawful stream with one event left out or doubled is either still lawful or
// blamed at an event; never is the fold blamed.
func TestSpoiltStreams(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := lawfulStream(t)
		if len(events) == 0 {
			return
		}
		i := rapid.IntRange(0, len(events)-1).Draw(t, "which")
		if rapid.Bool().Draw(t, "double") {
			events = slices.Insert(events, i, events[i])
		} else {
			events = slices.Delete(events, i, i+1)
		}
		for _, v := range verdict(events, Options{}) {
			if v.Index < 0 {
				t.Fatalf("%+v", v)
			}
		}
	})
}
