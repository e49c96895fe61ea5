package protocol

import (
	"testing"

	"pgregory.net/rapid"
)

// Law 51: what this version does not know is kept, byte for byte: an event and a
// part, on the wire, inside what is known, and through a folded state.
func TestLaw51_unknownIsKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		event := string(genUnknownEvent(t).(*UnknownEvent).Raw)
		keepsEvent(t, event)
		part := string(genUnknownPart(t).(*UnknownPart).Raw)
		keepsPart(t, part)
		keepsEvent(t, `{"type":"message.part","sessionId":"s","turnId":"t","messageId":"m","outputIndex":0,"partIndex":0,"part":`+part+`,"timestamp":1}`)
	})
}

// keepsEvent brings an event's text through an envelope and, if it is unknown,
// through a state.
func keepsEvent(t *rapid.T, text string) {
	line := `{"sessionId":"s","seq":1,"event":` + text + `}`
	env, err := DecodeEnvelope([]byte(line))
	if err != nil {
		t.Fatalf("decoding %s: %v", line, err)
	}
	if got := string(AppendEnvelope(nil, env)); got != line {
		t.Fatalf("an envelope came back as\n%s\nand was\n%s", got, line)
	}
	if _, unknown := env.Event.(*UnknownEvent); !unknown {
		return
	}
	held, err := DecodeUnknownEventState(AppendEventState(nil, env.Event))
	if err != nil {
		t.Fatalf("loading %s: %v", text, err)
	}
	if got := string(AppendEvent(nil, held)); got != text {
		t.Fatalf("a state has made of the event\n%s\nwhich was\n%s", got, text)
	}
}

// keepsPart brings a part's text through a state.
func keepsPart(t *rapid.T, text string) {
	p, err := DecodePart([]byte(text))
	if err != nil {
		t.Fatalf("decoding %s: %v", text, err)
	}
	held, err := DecodePartState(AppendPartState(nil, p))
	if err != nil {
		t.Fatalf("loading %s: %v", text, err)
	}
	if got := string(AppendPart(nil, held)); got != text {
		t.Fatalf("a state has made of the part\n%s\nwhich was\n%s", got, text)
	}
}
