package verify

import (
	"testing"

	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Finish is a question, not an end: asked twice it answers the same, and the
// stream may go on.
func TestFinishChangesNothing(t *testing.T) {
	t.Parallel()
	v := New(Options{})
	for _, ev := range then(echoed("a"), ask("a", "r")) {
		v.AddEvent(ev)
	}
	want := []Violation{broke(TurnEndedPairs, 0), broke(PermissionResolvesOnce, 3)}
	for range 2 {
		if diff := cmp.Diff(want, v.Finish(), anyOrder); diff != "" {
			t.Errorf("in the middle (-want +got):\n%s", diff)
		}
	}
	for _, ev := range then(choose("a", "r"), end("a", ok)) {
		v.AddEvent(ev)
	}
	if got := v.Finish(); len(got) > 0 {
		t.Errorf("at the end: %v", got)
	}
}

// A cancel is told between two events; one of an unknown turn is nobody's.
func TestCancelled(t *testing.T) {
	t.Parallel()
	v := New(Options{})
	v.Cancelled("a")
	for _, ev := range then(echoed("a"), ask("a", "r")) {
		if got := v.AddEvent(ev); len(got) > 0 {
			t.Errorf("before the cancel: %v", got)
		}
	}
	v.Cancelled("a")
	got := v.AddEvent(ask("a", "r"))
	got = append(got, v.AddEvent(ask("a", "q"))...)
	if diff := cmp.Diff([]Violation{broke(NoAskAfterCancel, 5)}, got, anyOrder); diff != "" {
		t.Errorf("after the cancel: a request that was open may come again, a new one not (-want +got):\n%s", diff)
	}
}

// Each session of a set is judged by itself, at the places of the whole input.
func TestSetKeepsSessionsApart(t *testing.T) {
	t.Parallel()
	set := NewSet(Options{})
	add := func(session string, seq int64, ev protocol.Event) []Violation {
		return set.Add(protocol.Envelope{SessionID: session, Seq: seq, Event: ev})
	}
	var got []Violation
	got = append(got, add("b", 1, start("t"))...)
	got = append(got, add("a", 1, start("t"))...)
	got = append(got, set.AddRaw([]byte(`not a line`))...)
	got = append(got, add("b", 2, user("t", "m"))...)
	got = append(got, add("a", 2, end("t", ok))...)
	got = append(got, add("a", 4, created())...)
	got = append(got, set.Finish()...)
	want := []Violation{broke(SchemaValid, 2), broke(SeqContiguous, 5), broke(TurnEndedPairs, 0)}
	if diff := cmp.Diff(want, got, anyOrder); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

func TestSetCancelled(t *testing.T) {
	t.Parallel()
	set := NewSet(Options{})
	for i, ev := range then(echoed("t")) {
		set.Add(protocol.Envelope{SessionID: "a", Seq: int64(i + 1), Event: ev})
		set.Add(protocol.Envelope{SessionID: "b", Seq: int64(i + 1), Event: ev})
	}
	set.Cancelled("a", "t")
	if got := set.Add(protocol.Envelope{SessionID: "b", Seq: 4, Event: ask("t", "r")}); len(got) > 0 {
		t.Errorf("the other session: %v", got)
	}
	got := set.Add(protocol.Envelope{SessionID: "a", Seq: 4, Event: ask("t", "r")})
	if diff := cmp.Diff([]Violation{broke(NoAskAfterCancel, 7)}, got, anyOrder); diff != "" {
		t.Errorf("the session (-want +got):\n%s", diff)
	}
}

// Every violation says something for people.
func TestViolationsSpeak(t *testing.T) {
	t.Parallel()
	for name, v := range ownVectors(t, "*.jsonl") {
		made := v.verifier(t, false)
		for _, found := range v.verdict(t, made, made.Cancelled) {
			if found.Message == "" {
				t.Errorf("%s: a violation without a message", name)
			}
		}
	}
}

// A verdict is the same each time, also in its order: by rule, then by event.
func TestFinishIsInOrder(t *testing.T) {
	t.Parallel()
	v := New(Options{})
	var want []Violation
	for _, turn := range []string{"d", "b", "a", "e", "c"} {
		v.AddEvent(start(turn))
	}
	for i, r := range []string{"4", "2", "9", "1", "3", "7", "8"} {
		v.AddEvent(ask("a", r))
		want = append(want, broke(PermissionResolvesOnce, 5+i))
	}
	want = append([]Violation{broke(TurnEndedPairs, 0), broke(TurnEndedPairs, 1), broke(TurnEndedPairs, 2), broke(TurnEndedPairs, 3), broke(TurnEndedPairs, 4)}, want...)
	if diff := cmp.Diff(want, v.Finish(), cmpopts.IgnoreFields(Violation{}, "Message")); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}
