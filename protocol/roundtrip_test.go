package protocol

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agent-server/fixtures/vectors"
)

// Law 50: decoding what was appended gives the same event, and appending that the
// same bytes.
func TestLaw50_decodeOfAppend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ev := genEvent(t)
		line := AppendEvent(nil, ev)
		got, err := DecodeEvent(line)
		if err != nil {
			t.Fatalf("decoding %s: %v", line, err)
		}
		if diff := cmp.Diff(ev, got); diff != "" {
			t.Fatalf("an event came back otherwise (-sent +got):\n%s", diff)
		}
		if again := AppendEvent(nil, got); !bytes.Equal(line, again) {
			t.Fatalf("appended again it is\n%s\nand was\n%s", again, line)
		}
		checkLine(t, line)
	})
}

func TestDecodeOfAppendPart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := genPart(t)
		got, err := DecodePart(AppendPart(nil, p))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, got); diff != "" {
			t.Fatalf("a part came back otherwise (-sent +got):\n%s", diff)
		}
	})
}

func TestDecodeOfAppendEnvelope(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		env := genEnvelope(t)
		got, err := DecodeEnvelope(AppendEnvelope(nil, env))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(env, got); diff != "" {
			t.Fatalf("an envelope came back otherwise (-sent +got):\n%s", diff)
		}
	})
}

// TestMembersInAnyOrder sorts the members of a line, everywhere: it is the same
// event.
func TestMembersInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want, err := Canonical(AppendEvent(nil, genEvent(t)))
		if err != nil {
			t.Fatal(err)
		}
		ev, err := DecodeEvent(want)
		if err != nil {
			t.Fatalf("decoding %s: %v", want, err)
		}
		got, err := Canonical(AppendEvent(nil, ev))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Fatalf("another event (-sorted +decoded):\n%s", diff)
		}
	})
}

// TestBaseReadsTheSame: what a base client can read, it reads as we do.
func TestBaseReadsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ev := genEvent(t)
		switch e := ev.(type) {
		case *SessionCreated:
			e.Harness = HarnessCodexSDK
		case *Raw:
			e.Harness = HarnessClaudeCode
		}
		got, err := DecodeEventBase(AppendEvent(nil, ev))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ev, got); diff != "" {
			t.Fatalf("a base client reads it otherwise (-sent +got):\n%s", diff)
		}
	})
}

// Law 55: what was decoded is its holder's. The test scribbles over the input
// after decoding it.
func TestLaw55_decodeSharesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ev := genEvent(t)
		line := AppendEvent(nil, ev)
		got, err := DecodeEvent(line)
		if err != nil {
			t.Fatal(err)
		}
		for i := range line {
			line[i] = '#'
		}
		if diff := cmp.Diff(ev, got); diff != "" {
			t.Fatalf("the event changed with the bytes that it came from:\n%s", diff)
		}
	})
}

// TestRepeatedIDs: ids that a line repeats are kept once, and never taken for
// each other.
func TestRepeatedIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ envelope, event, want string }{
		{`"s"`, `"s"`, "s"}, {`"s"`, `"t"`, "t"}, {`""`, `""`, ""}, {`"s"`, `""`, ""},
		{`"a\\n"`, `"a\n"`, "a\n"}, {`"a\n"`, `"a\\n"`, `a\n`}, {`"é"`, `"\u00e9"`, "é"}, {`"\ufffd"`, "\"\xff\"", "\uFFFD"},
	} {
		env, err := DecodeEnvelope([]byte(`{"sessionId":` + c.envelope + `,"seq":1,"event":{"type":"turn.started","sessionId":` + c.event + `,"turnId":"t","timestamp":1}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := env.Event.Session(); got != c.want {
			t.Errorf("%s after %s is %q, want %q", c.event, c.envelope, got, c.want)
		}
	}
}

// failer is what both kinds of test have.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkLine holds a line against the framing: one line, whoever splits it.
func checkLine(t failer, line []byte) {
	t.Helper()
	switch {
	case bytes.ContainsAny(line, "\n\r\u2028\u2029"):
		t.Fatalf("a line breaks in the middle: %q", line)
	case !utf8.Valid(line):
		t.Fatalf("a line is not UTF-8: %q", line)
	case !json.Valid(line):
		t.Fatalf("a line is not JSON: %q", line)
	}
}

// Law 52: no line of ours breaks in the middle. The test feeds the encoder bytes that no peer should send.
func TestLaw52_linesNeverBreak(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Bytes alone would hardly ever be a separator.
		bits := rapid.OneOf(rapid.Map(rapid.Byte(), func(b byte) string { return string([]byte{b}) }),
			rapid.SampledFrom([]string{"\u2028", "\u2029", "\r", "\n"}))
		text := strings.Join(rapid.SliceOf(bits).Draw(t, "text"), "")
		checkLine(t, AppendString(nil, text))
		raw := []byte("{ \"x\" :\r\n\t[1, \"" + strings.Map(unquoted, text) + "\u2028\xff\"]}")
		checkLine(t, AppendRaw(nil, raw))
		checkLine(t, Encode(struct {
			Text string
			Free Object
		}{text, raw}))
	})
}

// unquoted drops what may not stand raw inside a string literal.
func unquoted(r rune) rune {
	if r < ' ' || r == '"' || r == '\\' {
		return -1
	}
	return r
}

// canonicalOf fails the test where raw is no JSON.
func canonicalOf(t testing.TB, raw []byte) string {
	t.Helper()
	c, err := Canonical(raw)
	if err != nil {
		t.Fatalf("canonical form of %s: %v", raw, err)
	}
	return string(c)
}

// folded is what this package reads of the state of a stream.
type folded struct {
	Timeline []struct {
		Parts []Object `json:"parts"`
	} `json:"timeline"`
	UnknownEvents []Object `json:"unknownEvents"`
}

// vectorEvents is the events of all streams.
func vectorEvents(t *testing.T) []Object {
	t.Helper()
	var events []Object
	for _, v := range vectors.Shared(t) {
		for _, ev := range v.Events {
			events = append(events, Object(ev))
		}
	}
	return events
}

func TestVectorsRoundTrip(t *testing.T) {
	t.Parallel()
	known := 0
	for i, raw := range vectorEvents(t) {
		ev, err := DecodeEvent(raw)
		if err != nil {
			t.Errorf("event %d: %v", i, err)
			continue
		}
		if _, unknown := ev.(*UnknownEvent); !unknown {
			known++
		}
		if _, err := DecodeEventBase(raw); err != nil {
			t.Errorf("event %d, as a base client reads it: %v", i, err)
		}
		if diff := cmp.Diff(canonicalOf(t, raw), canonicalOf(t, AppendEvent(nil, ev))); diff != "" {
			t.Errorf("event %d changed (-was +is):\n%s", i, diff)
		}
	}
	if known < 1000 {
		t.Errorf("only %d known events among the vectors", known)
	}
}

// TestVectorStatesRoundTrip: the parts and the wrappers of a folded state.
func TestVectorStatesRoundTrip(t *testing.T) {
	t.Parallel()
	parts, unknown := 0, 0
	for _, v := range vectors.Shared(t) {
		var state folded
		if err := Decode(v.State, &state); err != nil {
			t.Fatal(err)
		}
		for _, entry := range state.Timeline {
			for _, raw := range entry.Parts {
				p, err := DecodePartState(raw)
				if err != nil {
					t.Error(err)
					continue
				}
				parts++
				if diff := cmp.Diff(canonicalOf(t, raw), canonicalOf(t, AppendPartState(nil, p))); diff != "" {
					t.Errorf("a part changed (-was +is):\n%s", diff)
				}
			}
		}
		for _, raw := range state.UnknownEvents {
			ev, err := DecodeUnknownEventState(raw)
			if err != nil {
				t.Error(err)
				continue
			}
			unknown++
			if diff := cmp.Diff(canonicalOf(t, raw), canonicalOf(t, AppendEventState(nil, ev))); diff != "" {
				t.Errorf("an unknown event changed (-was +is):\n%s", diff)
			}
		}
	}
	if parts < 100 || unknown < 5 {
		t.Errorf("only %d parts and %d unknown events", parts, unknown)
	}
}

// TestEnvelopeLines holds the encoder against lines written by hand: every
// event, part, state and content type in the order of the protocol's pages.
func TestEnvelopeLines(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("testdata", "envelopes.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[EventType]bool{}
	for line := range bytes.Lines(raw) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		var note struct {
			Params Object `json:"params"`
		}
		if err := Decode(line, &note); err != nil {
			t.Fatal(err)
		}
		env, err := DecodeEnvelope(note.Params)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		seen[env.Event.Type()] = true
		if diff := cmp.Diff(string(line), string(AppendNotification(nil, env))); diff != "" {
			t.Errorf("a line changed (-was +is):\n%s", diff)
		}
	}
	for _, ev := range eventTypes {
		if !seen[ev.Type()] {
			t.Errorf("no line has a %s event", ev.Type())
		}
	}
}

// TestMemberOrderIsFree: a peer may list the members in any order.
func TestMemberOrderIsFree(t *testing.T) {
	t.Parallel()
	ev, err := DecodeEvent([]byte(` { "timestamp" : 12 , "turnId":"t1",
		"nobody" : [ {"type":"}"} ], "sessionId":"s1","type":"turn.started" } `))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Event(&TurnStarted{SessionID: "s1", TurnID: "t1", Timestamp: 12}), ev); diff != "" {
		t.Error(diff)
	}
}
