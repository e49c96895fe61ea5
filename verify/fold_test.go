package verify

import (
	"strings"
	"testing"

	"agent-server/protocol"
	"agent-server/reducer"

	"github.com/google/go-cmp/cmp"
)

// The fold's part is compared with the last snapshot of it, type by type.
func TestDisagrees(t *testing.T) {
	t.Parallel()
	failure := &protocol.FailedState{Input: protocol.Object(`{}`)}
	stopped := &protocol.CancelledState{Input: protocol.Object(`{}`)}
	tests := []struct {
		name          string
		shown, folded protocol.Part
		grown, over   bool
		want          bool
	}{
		{"the same text", text("m", "p", "x", done), text("m", "p", "x", done), false, false, false},
		{"other text", text("m", "p", "x", done), text("m", "p", "y", done), false, false, true},
		{"longer text, by a delta", text("m", "p", "x", done), text("m", "p", "xy", done), true, false, false},
		{"longer text, by nothing", text("m", "p", "x", done), text("m", "p", "xy", done), false, false, true},
		{"a delta that replaced", text("m", "p", "x", done), text("m", "p", "y", done), true, false, true},
		{"other reasoning", thought("m", "p", "x", done), thought("m", "p", "y", done), false, false, true},
		{"longer reasoning, by a delta", thought("m", "p", "x", done), thought("m", "p", "xy", done), true, false, false},
		{"another type is not compared", text("m", "p", "x", done), thought("m", "p", "y", done), false, false, false},
		{"nor is an unknown one", hologram("m", "p"), hologram("m", "q"), false, false, false},
		{"the same status", tool("m", "p", running()), tool("m", "p", running()), false, false, false},
		{"another status", tool("m", "p", running()), tool("m", "p", completed()), false, true, true},
		{"cancelled by the end of its turn", tool("m", "p", running()), tool("m", "p", stopped), false, true, false},
		{"cancelled in a turn that goes on", tool("m", "p", running()), tool("m", "p", stopped), false, false, true},
		{"cancelled after it had ended", tool("m", "p", completed()), tool("m", "p", stopped), false, true, true},
		{"failed by the end of its turn", tool("m", "p", waiting("")), tool("m", "p", failure), false, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if why := (snapshot{tt.shown, tt.grown}).disagrees(tt.folded, tt.over); (why != "") != tt.want {
				t.Errorf("disagrees: %q, want a reason: %v", why, tt.want)
			}
		})
	}
}

// A delta of input makes no text longer: a fold that let it would be found out.
func TestInputGrowsNoText(t *testing.T) {
	t.Parallel()
	v := New(Options{})
	v.folds.reduce = func(c *reducer.Conversation, ev protocol.Event) *reducer.Conversation {
		if d, ok := ev.(*protocol.MessagePartDelta); ok {
			ev = grow(d.TurnID, d.MessageID, d.PartID, words("wrong"))
		}
		return reducer.Reduce(c, ev)
	}
	var got []Violation
	for _, ev := range then(echoed("a"), show("a", text("m", "p", "x", done)), grow("a", "m", "p", input("{")), end("a", ok)) {
		got = append(got, v.AddEvent(ev)...)
	}
	got = append(got, v.Finish()...)
	if diff := cmp.Diff([]Violation{broke(ProjectionAgrees, -1)}, got, anyOrder); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

// again makes a fold that takes a second delivery of the same event for news:
// it folds what news makes of the event instead.
func again(news func(protocol.Event) protocol.Event) func(*reducer.Conversation, protocol.Event) *reducer.Conversation {
	var last protocol.Event
	twice := 0 // a double delivery is the third time: once, twice, twice again
	return func(c *reducer.Conversation, ev protocol.Event) *reducer.Conversation {
		if ev != last {
			last, twice = ev, 0
		}
		if twice++; twice == 3 {
			ev = news(ev)
		}
		return reducer.Reduce(c, ev)
	}
}

func TestEachHarmOfASecondDeliveryIsSeen(t *testing.T) {
	t.Parallel()
	events := then(echoed("a"), show("a", text("m", "p", "x", done)), ask("a", "r"), choose("a", "r"), end("a", ok))
	tests := []struct {
		name string
		news func(protocol.Event) protocol.Event
		says string
	}{
		{"none", func(ev protocol.Event) protocol.Event { return ev }, ""},
		{"a message more", func(ev protocol.Event) protocol.Event { return assistant("a", "more"+string(ev.Type()), 9) }, "timeline"},
		{"a compaction more", func(protocol.Event) protocol.Event {
			return &protocol.SessionCompaction{SessionID: "s", TurnID: "a", CompactionID: "k", Status: "completed"}
		}, "timeline"},
		{"a part more", func(protocol.Event) protocol.Event { return show("a", text("m", "q", "x", done)) }, "message m"},
		{"a cost more", func(protocol.Event) protocol.Event {
			e := end("more", ok)
			e.Cost = new(0.5)
			return e
		}, "totals"},
		{"a request more", func(protocol.Event) protocol.Event { return ask("a", "more") }, "outcome"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := New(Options{})
			v.folds.reduce = again(tt.news)
			for _, ev := range events {
				if got := v.AddEvent(ev); len(got) > 0 {
					t.Fatal(got)
				}
			}
			expectHarm(t, v.Finish(), tt.says)
		})
	}
}

// Snapshots, ends and answers are what is delivered twice, each of them.
func TestWhatIsDeliveredTwice(t *testing.T) {
	t.Parallel()
	twice := map[protocol.EventType]bool{protocol.TypeMessagePart: true, protocol.TypeTurnEnded: true, protocol.TypePermissionResolved: true}
	for _, kind := range []protocol.EventType{
		protocol.TypeMessagePart, protocol.TypeTurnEnded, protocol.TypePermissionResolved, protocol.TypeTurnStarted,
		protocol.TypeMessageStarted, protocol.TypeMessageEnded, protocol.TypePermissionRequested, protocol.TypeMessagePartDelta,
	} {
		v := New(Options{})
		v.folds.reduce = again(func(ev protocol.Event) protocol.Event {
			if ev.Type() == kind {
				return assistant("a", "more", 9)
			}
			return ev
		})
		for _, ev := range then(echoed("a"), show("a", text("m", "p", "x", done)), grow("a", "m", "p", words("y")), ask("a", "r"), choose("a", "r"), end("a", ok)) {
			v.AddEvent(ev)
		}
		if got := len(v.Finish()) > 0; got != twice[kind] {
			t.Errorf("%s is delivered twice: %v, want %v", kind, got, twice[kind])
		}
	}
}

// expectHarm wants one breach of ReducerIdempotent that says so; none for "".
func expectHarm(t *testing.T, got []Violation, says string) {
	t.Helper()
	if says == "" && len(got) == 0 {
		return
	}
	if says == "" || len(got) != 1 || got[0].Rule != ReducerIdempotent || !strings.Contains(got[0].Message, says) {
		t.Errorf("verdict %v, want one of %s that says %q", got, ReducerIdempotent, says)
	}
}

// After the fold has died nothing more is folded, and nothing of it is judged
// but that.
func TestABrokenFoldIsLeftAlone(t *testing.T) {
	t.Parallel()
	calls := 0
	v := New(Options{})
	v.folds.reduce = func(*reducer.Conversation, protocol.Event) *reducer.Conversation {
		calls++
		panic("broken")
	}
	for _, ev := range then(echoed("a"), end("a", ok)) {
		v.AddEvent(ev)
	}
	got := v.Finish()
	if calls != 1 || len(got) != 1 || got[0].Rule != ReducerTotal || !strings.Contains(got[0].Message, "broken") {
		t.Errorf("%d calls and verdict %v, want one call and %s", calls, got, ReducerTotal)
	}
}

// The fold may also be found broken only when it is read.
func TestAFoldThatCannotBeReadIsBroken(t *testing.T) {
	t.Parallel()
	v := New(Options{})
	v.folds.once = &reducer.Conversation{} // the zero value is none: only nil is empty
	got := v.Finish()
	if len(got) != 1 || got[0].Rule != ReducerTotal {
		t.Errorf("verdict %v, want %s", got, ReducerTotal)
	}
}
