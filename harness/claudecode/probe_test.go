package claudecode

import (
	"strings"
	"testing"

	"agent-server/harness"

	"github.com/google/go-cmp/cmp"
)

// tail is what follows the event in a delta line.
const tail = `,"session_id":"ad0c46ea-bc7c-4b0b-b9e5-ce3fe2cde4be","parent_tool_use_id":null,"uuid":"bc5ef53d-c00e-4c43-996c-0b51516aaeed","api_message_id":"msg_01XFDUDYJgAACzvnptvVoYEL"}`

// textDelta is a line as the CLI passes on what the model's own server writes.
const textDelta = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" the quick brown fox"}}` + tail

// streaming is a translator in mid-message: block 0 text, 1 thinking, 2 a tool.
func streaming(t testing.TB) *translator {
	t.Helper()
	tr := New(Options{}).New(harness.Launch{NativeID: "native"}, ids()).(*translator)
	tr.Step(harness.Begin{Turn: "turn"})
	feed(tr,
		greeted,
		`{"type":"command_lifecycle","command_uuid":"id-1","state":"started"}`,
		`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1}}},"parent_tool_use_id":null}`,
		`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}`,
		`{"type":"stream_event","event":{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":""}}}`,
		`{"type":"stream_event","event":{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"Bash","input":{}}}}`,
	)
	if tr.stream == nil || len(tr.stream.blocks) != 3 {
		t.Fatal("the stream did not start")
	}
	return tr
}

// The order of members is the model server's: the CLI keeps it.
func TestProbeTakesDeltas(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, line string
		want       growth
	}{
		{"type first", textDelta, growth{0, textBlock, []byte(`" the quick brown fox"`)}},
		{"type last", `{"type":"stream_event","event":{"index":1,"delta":{"type":"thinking_delta","thinking":"hm"},"type":"content_block_delta"}` + tail,
			growth{1, thinkingBlock, []byte(`"hm"`)}},
		{"sorted", `{"type":"stream_event","event":{"delta":{"partial_json":"{\"a\":","type":"input_json_delta"},"index":12,"type":"content_block_delta"}` + tail,
			growth{12, toolBlock, []byte(`"{\"a\":"`)}},
		{"nothing behind", `{"type":"stream_event","event":{"index":0,"delta":{"type":"text_delta","text":""},"type":"content_block_delta"}}`,
			growth{0, textBlock, []byte(`""`)}},
		{"escapes", `{"type":"stream_event","event":{"index":0,"delta":{"type":"text_delta","text":"\"\\\/\b\f\n\r\tü\ud83d"},"type":"content_block_delta"}}`,
			growth{0, textBlock, []byte(`"\"\\\/\b\f\n\r\tü\ud83d"`)}},
	} {
		got, ok := probe([]byte(tc.line))
		if !ok {
			t.Errorf("%s: not recognized", tc.name)
		}
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(growth{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// What the probe takes is final, so it must leave everything else alone.
func TestProbeLeavesTheRest(t *testing.T) {
	t.Parallel()
	event := func(inside string) string { return `{"type":"stream_event","event":{` + inside + `}` }
	const delta = `"index":0,"delta":{"type":"text_delta","text":"x"},"type":"content_block_delta"`
	for name, line := range map[string]string{
		"another type":          `{"type":"assistant"}`,
		"another event":         event(`"type":"ping"`) + `}`,
		"a sub-agent":           event(delta) + `,"parent_tool_use_id":"toolu"}`,
		"a second type":         event(delta) + `,"type":"assistant"}`,
		"a second event":        event(delta) + `,"event":null}`,
		"an object behind":      event(delta) + `,"x":{}}`,
		"a name with escapes":   event(delta) + `,"pa\u0072ent_tool_use_id":"toolu"}`,
		"a second delta":        event(delta+`,"delta":{"type":"text_delta","text":"x"}`) + `}`,
		"a third delta member":  event(`"index":0,"delta":{"type":"text_delta","text":"x","y":1},"type":"content_block_delta"`) + `}`,
		"a signature":           event(`"index":0,"delta":{"type":"signature_delta","signature":"x"},"type":"content_block_delta"`) + `}`,
		"another member's text": event(`"index":0,"delta":{"type":"text_delta","thinking":"x"},"type":"content_block_delta"`) + `}`,
		"no index":              event(`"delta":{"type":"text_delta","text":"x"},"type":"content_block_delta"`) + `}`,
		"index 00":              event(`"index":00,"delta":{"type":"text_delta","text":"x"},"type":"content_block_delta"`) + `}`,
		"index 1e1":             event(`"index":1e1,"delta":{"type":"text_delta","text":"x"},"type":"content_block_delta"`) + `}`,
		"index 1000":            event(`"index":1000,"delta":{"type":"text_delta","text":"x"},"type":"content_block_delta"`) + `}`,
		"a bad escape":          event(`"index":0,"delta":{"type":"text_delta","text":"\x"},"type":"content_block_delta"`) + `}`,
		"a short escape":        event(`"index":0,"delta":{"type":"text_delta","text":"\u12"},"type":"content_block_delta"`) + `}`,
		"a raw control":         event("\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\n\"},\"type\":\"content_block_delta\"") + `}`,
		"rubbish behind":        event(delta) + `}x`,
		"no end":                event(delta),
		"cut in the text":       `{"type":"stream_event","event":{"index":0,"delta":{"type":"text_delta","text":"x`,
		"nothing":               "",
	} {
		if g, ok := probe([]byte(line)); ok {
			t.Errorf("%s: taken as %v", name, g)
		}
	}
}

// FuzzProbe ties the probe to the decoder: the same line gives the same answer.
func FuzzProbe(f *testing.F) {
	f.Add([]byte(textDelta))
	f.Add([]byte(strings.Replace(textDelta, "fox", `fox\ud83d`, 1)))
	f.Add([]byte(strings.Replace(textDelta, " the", `\ude00 the`, 1)))
	f.Add([]byte(`{"type":"stream_event","event":{"index":1,"delta":{"type":"thinking_delta","thinking":"hm"},"type":"content_block_delta"}}`))
	f.Add([]byte(`{"type":"stream_event","event":{"delta":{"partial_json":"{\"a\":","type":"input_json_delta"},"index":2,"type":"content_block_delta"},"parent_tool_use_id":null}`))
	f.Add([]byte("{\"type\":\"stream_event\",\"event\":{\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xff\"},\"type\":\"content_block_delta\"}}"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if _, ok := probe(line); !ok {
			t.Skip("the decoder's anyway")
		}
		probing, decoding := streaming(t), streaming(t)
		for range 2 { // the second time half a pair may be held
			got := probing.Line(line)
			decoding.out = harness.Output{}
			decoding.plainLine(line)
			if diff := cmp.Diff(decoding.out, got); diff != "" {
				t.Fatalf("decoder and probe differ (-decoder +probe):\n%s", diff)
			}
		}
	})
}

func BenchmarkLineTextDelta(b *testing.B) {
	tr, line := streaming(b), []byte(textDelta)
	b.Run("probe", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			if out := tr.Line(line); len(out.Updates) != 1 {
				b.Fatal("no update")
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			tr.out = harness.Output{}
			if tr.plainLine(line); len(tr.out.Updates) != 1 {
				b.Fatal("no update")
			}
		}
	})
}
