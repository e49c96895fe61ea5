package protocol

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// deltaLine is a delta as it goes by thousands a second: 330 bytes with its
// envelope.
const deltaLine = `{"sessionId":"s1","seq":8,"event":{"type":"message.part.delta","sessionId":"s1",` +
	`"turnId":"01a30000-0000-7000-8000-000000000001","messageId":"01a30000-0000-7000-8000-000000000002","outputIndex":1,"partIndex":0,` +
	`"partId":"01a30000-0000-7000-8000-000000000003","delta":{"type":"text","text":"Hello there"},"timestamp":1800000000514}}`

func mustEnvelope(b *testing.B, line string) Envelope {
	b.Helper()
	env, err := DecodeEnvelope([]byte(line))
	if err != nil {
		b.Fatal(err)
	}
	return env
}

func BenchmarkAppendDelta(b *testing.B) {
	ev := mustEnvelope(b, deltaLine).Event
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = AppendEvent(buf[:0], ev)
	}
}

func BenchmarkAppendNotification(b *testing.B) {
	env := mustEnvelope(b, deltaLine)
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = AppendNotification(buf[:0], env)
	}
}

func BenchmarkDecodeDelta(b *testing.B) {
	line := []byte(deltaLine)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeEnvelope(line); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeDeltaPlain is what DecodeDelta is to be measured against: the
// JSON package in two stages, the type first.
func BenchmarkDecodeDeltaPlain(b *testing.B) {
	line := []byte(deltaLine)
	b.ReportAllocs()
	for b.Loop() {
		var env struct {
			SessionID string `json:"sessionId"`
			Seq       int64  `json:"seq"`
			Event     Object `json:"event"`
		}
		var ev struct {
			Type, SessionID, TurnID, MessageID, PartID string
			OutputIndex, PartIndex                     float64
			Delta                                      struct{ Type, Text string }
			Timestamp                                  int64
		}
		if err := json.Unmarshal(line, &env); err != nil {
			b.Fatal(err)
		}
		if err := json.Unmarshal(env.Event, &ev); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	line := []byte(deltaLine)
	b.ReportAllocs()
	for b.Loop() {
		if !valid(line) {
			b.Fatal("not JSON")
		}
	}
}

// benchPart is a finished tool with a long output.
func benchPart() Part {
	return &ToolPart{PartHead: PartHead{ID: "p", SessionID: "s", MessageID: "m"}, ToolCallID: "c", ToolName: "Bash", Kind: KindExecute,
		State: &CompletedState{Input: Object(`{"command":"ls -l"}`), Output: strings.Repeat("a line of output\n", 250), Time: Span{1, 2}}}
}

func BenchmarkAppendPart(b *testing.B) {
	p := benchPart()
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = AppendPart(buf[:0], p)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkDecodePart(b *testing.B) {
	raw := AppendPart(nil, benchPart())
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodePart(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendRaw(b *testing.B) {
	raw := AppendPart(nil, benchPart())
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = AppendRaw(buf[:0], raw)
	}
}

func BenchmarkTurnIdentity(b *testing.B) {
	p, faults := DecodeTurnStart([]byte(`{"input":"hello","config":`+wholeConfig+`}`), nil)
	if faults != nil {
		b.Fatal(faults)
	}
	b.ReportAllocs()
	for b.Loop() {
		TurnIdentity(p.Input, p.Config)
	}
}
