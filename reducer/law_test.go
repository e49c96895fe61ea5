package reducer

import (
	"slices"
	"testing"

	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// eachStream holds a law over streams in no order, and over lawful ones.
func eachStream(t *testing.T, law func(*rapid.T, []protocol.Event)) {
	t.Helper()
	t.Run("any", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) { law(t, anyStream(t)) })
	})
	t.Run("lawful", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) { law(t, lawfulStream(t)) })
	})
}

// bytesOf spells a conversation.
func bytesOf(c *Conversation) string { return string(c.AppendJSON(nil)) }

// enveloped numbers events as a session's log does.
func enveloped(events []protocol.Event) []protocol.Envelope {
	envs := make([]protocol.Envelope, len(events))
	for i, ev := range events {
		envs[i] = protocol.Envelope{SessionID: "s", Seq: int64(i) + 1, Event: ev}
	}
	return envs
}

// deliver folds envelopes one after another.
func deliver(f Folded, envs []protocol.Envelope) Folded {
	for _, env := range envs {
		f, _ = FoldEnvelope(f, env)
	}
	return f
}

// reloaded brings a conversation through its JSON.
func reloaded(t rapid.TB, c *Conversation) *Conversation {
	t.Helper()
	loaded, err := Load(c.AppendJSON(nil))
	if err != nil {
		t.Fatalf("%v: %s", err, bytesOf(c))
	}
	return loaded
}

// Law 10: a stale snapshot never moves the fold backwards.
func TestLaw10_StaleSnapshot(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *rapid.T, events []protocol.Event) {
		envs := enveloped(events)
		cut := rapid.IntRange(0, len(envs)).Draw(t, "cut")
		snapshot := deliver(Folded{}, envs[:cut])
		head := deliver(snapshot, envs[cut:])
		if joined := Join(head, snapshot); joined != head {
			t.Fatalf("a snapshot at %d moved a fold at %d", snapshot.Seq, head.Seq)
		}
		if joined := Join(snapshot, head); joined != head {
			t.Fatalf("a snapshot at %d did not move a fold at %d", head.Seq, snapshot.Seq)
		}
	})
}

// Law 11: a snapshot and what comes after it is the fold from the first event, at
// every cut, in every byte and every change.
func TestLaw11_SnapshotAndSuffix(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *rapid.T, events []protocol.Event) {
		states, changes := []*Conversation{nil}, [][]Change{}
		for i, ev := range events {
			next, c := ReduceWithChanges(states[i], ev)
			states, changes = append(states, next), append(changes, c)
		}
		want := bytesOf(states[len(events)])
		for _, cut := range cuts(t, len(events)) {
			c := reloaded(t, states[cut])
			for i, ev := range events[cut:] {
				next, told := ReduceWithChanges(c, ev)
				if diff := cmp.Diff(changes[cut+i], told); diff != "" {
					t.Fatalf("cut %d, changes of event %d (-genesis +snapshot):\n%s", cut, cut+i, diff)
				}
				c = next
			}
			if diff := cmp.Diff(want, bytesOf(c)); diff != "" {
				t.Fatalf("cut %d (-genesis +snapshot):\n%s", cut, diff)
			}
		}
	})
}

// cuts are the places to cut a stream of n events: all of them, or a few of a long
// one's.
func cuts(t *rapid.T, n int) []int {
	if n > 60 {
		return rapid.SliceOfN(rapid.IntRange(0, n), 3, 3).Draw(t, "cuts")
	}
	all := make([]int, n+1)
	for i := range all {
		all[i] = i
	}
	return all
}

// Law 12: delivering any prefix twice changes nothing.
func TestLaw12_PrefixTwice(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *rapid.T, events []protocol.Event) {
		envs := enveloped(events)
		f := deliver(Folded{}, envs)
		for _, env := range envs[:rapid.IntRange(0, len(envs)).Draw(t, "prefix")] {
			next, changes := FoldEnvelope(f, env)
			if next != f || changes != nil {
				t.Fatalf("seq %d twice: changes %v", env.Seq, changes)
			}
		}
		again := deliver(Folded{Seq: f.Seq}, envs)
		if again.Conversation != nil {
			t.Fatal("an event at the watermark was folded")
		}
	})
}

// Law 13: losing every delta loses nothing durable, since a snapshot restates
// what each has added.
func TestLaw13_EveryDeltaLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := lawfulStream(t)
		durable := slices.DeleteFunc(slices.Clone(events), func(ev protocol.Event) bool {
			return ev.Type() == protocol.TypeMessagePartDelta
		})
		if diff := cmp.Diff(bytesOf(foldAll(nil, events)), bytesOf(foldAll(nil, durable))); diff != "" {
			t.Fatalf("(-whole +without deltas):\n%s", diff)
		}
	})
}

// Law 60: the fold is pure. What was folded stays as it was, whatever is folded on from
// it, into however many futures.
func TestLaw60_oldStatesStay(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *rapid.T, events []protocol.Event) {
		states := []*Conversation{nil}
		spelled := []string{bytesOf(nil)}
		for i, ev := range events {
			// A branch that goes elsewhere, from the same state.
			Reduce(Reduce(states[i], rapid.Custom(anyEvent).Draw(t, "elsewhere")), ev)
			states = append(states, Reduce(states[i], ev))
			spelled = append(spelled, bytesOf(states[i+1]))
		}
		for i, c := range states {
			if diff := cmp.Diff(spelled[i], bytesOf(c)); diff != "" {
				t.Fatalf("the state after %d events has changed (-then +now):\n%s", i, diff)
			}
		}
		if diff := cmp.Diff(spelled[len(events)], bytesOf(foldAll(nil, events))); diff != "" {
			t.Fatalf("folding again gave another state (-first +second):\n%s", diff)
		}
	})
}

// Law 61: Reduce is ReduceWithChanges without the changes; there are none exactly when
// the conversation itself comes back.
func TestLaw61_changesAreTold(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *rapid.T, events []protocol.Event) {
		var c *Conversation
		for i, ev := range events {
			next, changes := ReduceWithChanges(c, ev)
			if (next == c) != (len(changes) == 0) {
				t.Fatalf("event %d: same conversation %v, changes %v", i, next == c, changes)
			}
			plain := Reduce(c, ev)
			if (plain == c) != (next == c) || bytesOf(plain) != bytesOf(next) {
				t.Fatalf("event %d: Reduce gave another conversation", i)
			}
			if len(changes) == 0 && bytesOf(next) != bytesOf(c) {
				t.Fatalf("event %d changed something untold", i)
			}
			c = next
		}
	})
}

// Law 64: fold and model agree, and the readers agree with the JSON.
func TestLaw64_foldFollowsModel(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *rapid.T, events []protocol.Event) {
		c := checkModel(t, events)
		checkReaders(t, c)
	})
}

// Law 62: saving and loading is no change, not of a byte.
func TestLaw62_loadIsInverse(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *rapid.T, events []protocol.Event) {
		c := foldAll(nil, events)
		if diff := cmp.Diff(bytesOf(c), bytesOf(reloaded(t, c))); diff != "" {
			t.Fatalf("(-saved +loaded):\n%s", diff)
		}
	})
}

// What a turn's end would close is noted as it comes and goes; the notes must be
// what a walk through the whole conversation finds.
func TestUnfinishedIsWhatIsOpen(t *testing.T) {
	t.Parallel()
	eachStream(t, func(t *rapid.T, events []protocol.Event) {
		s := foldAll(nil, events).whole()
		want := map[string]unfinished{}
		for i, e := range s.timeline.all() {
			if e.message == nil {
				continue
			}
			for j, slot := range e.message.slots.list.all() {
				if _, open := openTool(slot.part); open {
					u := want[e.message.TurnID]
					u.tools = append(u.tools, address{i, j})
					want[e.message.TurnID] = u
				}
			}
		}
		for i, p := range s.permissions.list.all() {
			if p.Outcome == nil {
				u := want[p.TurnID]
				u.permissions = append(u.permissions, i)
				want[p.TurnID] = u
			}
		}
		got := map[string]unfinished{}
		for turnID, u := range s.open.all() {
			got[turnID] = *u
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(unfinished{}, address{}), cmp.Transformer("empty", func(s []int) []int { return append([]int{}, s...) }), cmp.Transformer("none", func(s []address) []address { return append([]address{}, s...) })); diff != "" {
			t.Fatalf("(-found +noted):\n%s", diff)
		}
	})
}
