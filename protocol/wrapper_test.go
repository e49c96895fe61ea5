package protocol

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWrappers(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]string{
		`{"type":"x.y","sessionId":7,"raw":{"a":1}}`:                         `{"type":"x.y","raw":{"type":"x.y","sessionId":7,"raw":{"a":1}}}`,
		`{"n":1.50,"type":"turn.queued","sessionId":"s"}`:                    `{"type":"turn.queued","sessionId":"s","raw":{"n":1.50,"type":"turn.queued","sessionId":"s"}}`,
		`{"type":"turn.started","sessionId":"s","turnId":"t","timestamp":1}`: `{"type":"turn.started","sessionId":"s","turnId":"t","timestamp":1}`,
	} {
		ev, err := DecodeEvent([]byte(wire))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(AppendEventState(nil, ev))); diff != "" {
			t.Errorf("in a state:\n%s", diff)
		}
		if diff := cmp.Diff(wire, string(AppendEvent(nil, ev))); diff != "" {
			t.Errorf("on the wire:\n%s", diff)
		}
	}
}

// TestWrappersOfParts: an object with a raw of its own is wrapped like any other.
func TestWrappersOfParts(t *testing.T) {
	t.Parallel()
	const wire = `{"type":"plan","raw":"own","id":"p","sessionId":"s","messageId":"m","parentToolCallId":"c","_meta":{"k":1},"entries":[]}`
	const want = `{"type":"plan","id":"p","sessionId":"s","messageId":"m","parentToolCallId":"c","_meta":{"k":1},"raw":` + wire + `}`
	p, err := DecodePart([]byte(wire))
	if err != nil {
		t.Fatal(err)
	}
	state := AppendPartState(nil, p)
	if diff := cmp.Diff(want, string(state)); diff != "" {
		t.Errorf("in a state:\n%s", diff)
	}
	// On the wire that same wrapper is a part with a raw of its own.
	again, err := DecodePart(state)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(again.(*UnknownPart).Raw); got != want {
		t.Errorf("decoded from the wire, its raw is %s", got)
	}
}

func TestStateRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := genPart(t)
		gotPart, err := DecodePartState(AppendPartState(nil, p))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, gotPart); diff != "" {
			t.Fatalf("a part came back otherwise:\n%s", diff)
		}
		ev := genUnknownEvent(t)
		gotEvent, err := DecodeUnknownEventState(AppendEventState(nil, ev))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ev, Event(gotEvent)); diff != "" {
			t.Fatalf("an event came back otherwise:\n%s", diff)
		}
	})
}

func TestMalformedWrappers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"type":"plan","id":"p","sessionId":"s","messageId":"m"}`:                       "malformed plan part of a state: raw: is required",
		`{"type":"plan","id":"p","sessionId":"s","messageId":"m","raw":1,"_meta":null}`:  "malformed plan part of a state: _meta: must be an object, not null; raw: must be an object, not a number",
		`{"type":"text","id":"p","sessionId":"s","messageId":"m","raw":{"type":"text"}}`: "malformed text part of a state: text: is required",
		`[]`: "malformed part of a state: must be an object, not an array",
	} {
		if _, err := DecodePartState([]byte(body)); errorText(err) != want {
			t.Errorf("%s:\n got %v\nwant %s", body, err, want)
		}
	}
	if _, err := DecodeUnknownEventState([]byte(`{"type":"x","sessionId":1}`)); errorText(err) != "malformed unknown event of a state: sessionId: must be a string, not a number; raw: is required" {
		t.Errorf("got %v", err)
	}
}
