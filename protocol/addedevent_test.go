package protocol

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// addedEvents are one of each added type, with what stands on the wire.
var addedEvents = []struct {
	event AddedEvent
	wire  string
	read  func(Event) (AddedEvent, bool)
}{
	{&TurnQueued{SessionID: "s", TurnID: "t", Position: 2, Timestamp: 5, Meta: Object(`{"a/b":1}`)},
		`{"type":"turn.queued","sessionId":"s","turnId":"t","position":2,"timestamp":5,"_meta":{"a/b":1}}`,
		func(ev Event) (AddedEvent, bool) { e, ok := ReadTurnQueued(ev); return &e, ok }},
	{&TurnUnqueued{SessionID: "s", TurnID: "t", Reason: UnqueuedCancelled, Input: TextInput("a\u2028b"), Timestamp: 5},
		`{"type":"turn.unqueued","sessionId":"s","turnId":"t","reason":"cancelled","input":"a\u2028b","timestamp":5}`,
		func(ev Event) (AddedEvent, bool) { e, ok := ReadTurnUnqueued(ev); return &e, ok }},
	{&TurnUnqueued{SessionID: "s", TurnID: "t", Reason: "x", Input: Input{Items: []InputItem{{Type: InputText, Text: "hi"}}}, Timestamp: 5},
		`{"type":"turn.unqueued","sessionId":"s","turnId":"t","reason":"x","input":[{"type":"text","text":"hi"}],"timestamp":5}`,
		func(ev Event) (AddedEvent, bool) { e, ok := ReadTurnUnqueued(ev); return &e, ok }},
	{&SessionUpdated{SessionID: "s", Title: new("T"), Mode: new("plan"), Modes: []Object{Object(`{"id":"plan"}`)}, Commands: []Object{},
		Model: new("m"), BackgroundTasks: new(int64(0)), Timestamp: 5},
		`{"type":"session.updated","sessionId":"s","title":"T","mode":"plan","modes":[{"id":"plan"}],"commands":[],"model":"m","backgroundTasks":0,"timestamp":5}`,
		func(ev Event) (AddedEvent, bool) { e, ok := ReadSessionUpdated(ev); return &e, ok }},
	{&SessionUpdated{SessionID: "s", Timestamp: 5}, `{"type":"session.updated","sessionId":"s","timestamp":5}`,
		func(ev Event) (AddedEvent, bool) { e, ok := ReadSessionUpdated(ev); return &e, ok }},
}

// TestAddedEvents: what is written is an unknown event to every decoder, and reads
// back as what it was.
func TestAddedEvents(t *testing.T) {
	t.Parallel()
	for _, c := range addedEvents {
		u := c.event.Unknown()
		if diff := cmp.Diff(c.wire, string(AppendEvent(nil, u))); diff != "" {
			t.Error(diff)
		}
		decoded, err := DecodeEvent([]byte(c.wire))
		if diff := cmp.Diff(Event(u), decoded); err != nil || diff != "" {
			t.Errorf("%s: decodes to another event: %v %s", c.wire, err, diff)
		}
		read, ok := c.read(decoded)
		if diff := cmp.Diff(c.event, read); !ok || diff != "" {
			t.Errorf("%s: reads as something else (%v): %s", c.wire, ok, diff)
		}
	}
}

// TestQueuedInput: what waits can be given back, and what says nothing of it is "".
func TestQueuedInput(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]string{
		``: `""`, `{}`: `""`, `{"agent-server/input":7}`: `""`, `{"agent-server/input":"hi"}`: `"hi"`,
		`{"agent-server/input":[{"type":"text","text":"a"}]}`: `[{"type":"text","text":"a"}]`,
	} {
		if got := Encode(TurnQueued{Meta: Object(meta)}.Input()); string(got) != want {
			t.Errorf("%s: %s, want %s", meta, got, want)
		}
	}
}

// TestAddedEventsThatDoNotFit stay unknown.
func TestAddedEventsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{
		`{"type":"turn.queued","sessionId":"s","turnId":"t","position":0,"timestamp":5}`,
		`{"type":"turn.unqueued","sessionId":"s","turnId":"t","reason":" ","input":"","timestamp":5}`,
		`{"type":"turn.unqueued","sessionId":"s","turnId":"t","reason":"x","timestamp":5}`,
		`{"type":"session.updated","sessionId":"s","modes":[1],"timestamp":5}`,
		`{"type":"session.updated","sessionId":7,"timestamp":5}`,
		`{"type":"turn.started","sessionId":"s","turnId":"t","timestamp":5}`,
	} {
		ev, err := DecodeEvent([]byte(wire))
		if err != nil {
			t.Fatalf("%s: %v", wire, err)
		}
		for _, c := range addedEvents {
			if _, ok := c.read(ev); ok {
				t.Errorf("%s was read as %s", wire, c.wire)
			}
		}
	}
}
