package acp

import (
	"strings"
	"testing"

	"agent-server/harness"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// chunkLine is a text delta as agents write it.
func chunkLine(update string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk",` + update + `}}}`
}

// chunkLines are lines that the probe has to take or has to leave.
var chunkLines = []struct {
	line  string
	takes bool
}{
	{chunkLine(`"content":{"type":"text","text":"hello"}`), true},
	{chunkLine(`"messageId":"m-1","content":{"type":"text","text":"hello"}`), true},
	{chunkLine(`"content":{"type":"text","text":"hello"},"messageId":"m-1"`), true},
	{strings.Replace(chunkLine(`"messageId":"m-1","content":{"type":"text","text":"thought"}`), "message_chunk", "thought_chunk", 1), true},
	{strings.Replace(chunkLine(`"content":{"type":"text","text":"of a user"}`), "agent_message_chunk", "user_message_chunk", 1), false},
	{strings.Replace(chunkLine(`"content":{"type":"text","text":"a"}`), "message_chunk", "other_chunk", 1), false},
	{chunkLine(`"messageId":"","content":{"type":"text","text":""}`), true},
	{chunkLine(`"content":{"type":"text","text":"\"\\\/\b\f\n\r\t\u00e9é😀\ud83d\ude00"}`), true},
	{chunkLine(`"content":{"type":"text","text":"half \ud83d"}`), true},
	{chunkLine("\"content\":{\"type\":\"text\",\"text\":\"bad \xff UTF-8\"}"), true},
	{chunkLine(`"content":{"type":"text","text":"\x"}`), false},
	{chunkLine(`"content":{"type":"text","text":"\u12g4"}`), false},
	{chunkLine("\"content\":{\"type\":\"text\",\"text\":\"raw \t tab\"}"), false},
	{chunkLine(`"content":{"type":"text","text":7}`), false},
	{chunkLine(`"content":{"type":"text","text":"a","text":"b"}`), false},
	{chunkLine(`"content":{"type":"text","text":"a"},"messageId":"m","messageId":"n"`), false},
	{chunkLine(`"messageId":"\u006d","content":{"type":"text","text":"a"}`), false},
	{chunkLine(`"messageId":"é","content":{"type":"text","text":"a"}`), false},
	{chunkLine(`"messageId":null,"content":{"type":"text","text":"a"}`), false},
	{chunkLine(`"messageId":"m"`), false},
	{chunkLine(`"content":{"type":"text","text":"a"},"_meta":{}`), false},
	{chunkLine(`"content":{"type":"text","text":"a","annotations":{}}`), false},
	{chunkLine(`"content":{"text":"a","type":"text"}`), false},
	{chunkLine(`"content":{"type":"text","text":"a"}`) + "\r", false},
	{chunkLine(`"content":{"type":"text","text":"a"}`) + " ", false},
	{chunkLine(`"content":{"type":"text","text":"a`), false},
	{chunkLine(`"sessionUpdate":"plan","content":{"type":"text","text":"a"}`), false},
	{`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-2","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}}}`, false},
	{`{"method":"session/update","params":{}}`, false},
	{"", false},
}

// Law 68: the probe takes less than the decoder does, and means the same by it.
func TestLaw68_probeIsDecoder(t *testing.T) {
	t.Parallel()
	for _, tt := range chunkLines {
		tr := running(t, nil).tr.(*translator)
		if _, ok := tr.probe([]byte(tt.line)); ok != tt.takes {
			t.Errorf("the probe takes it: %v, want %v: %s", ok, tt.takes, tt.line)
		}
		sameWithoutProbe(t, []byte(tt.line))
	}
}

func TestProbeBeforeTheSession(t *testing.T) {
	t.Parallel()
	tr := New(Agent{ID: "agent"}).New(harness.Launch{}, nil).(*translator)
	if _, ok := tr.probe([]byte(chunkLines[0].line)); ok {
		t.Error("the probe takes a line before there is a session")
	}
}

// sameWithoutProbe ties the probe to the decoder: in whatever state, a line
// means the same with and without it.
func sameWithoutProbe(t *testing.T, line []byte) {
	t.Helper()
	for _, before := range [][]string{
		nil,
		{say("", "text before")},
		{say("m-1", "text before")},
		{say("m-1", "text before"), `{"sessionUpdate":"agent_message_chunk","messageId":"m-1","content":{"type":"text","text":"\ud83d"}}`},
		{think("m-1", "thought before"), toolIs("c", "completed")},
	} {
		with, without := running(t, nil), running(t, nil)
		with.update(before...)
		without.update(before...)
		got := with.tr.Line(line)
		plain := without.tr.(*translator)
		plain.out = harness.Output{}
		plain.plainLine(line)
		if diff := cmp.Diff(plain.out, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("line %q after %q (-decoder +probe):\n%s", line, before, diff)
		}
		if diff := cmp.Diff(plain.speech, with.tr.(*translator).speech, cmp.AllowUnexported(speech{})); diff != "" {
			t.Errorf("speech after %q (-decoder +probe):\n%s", line, diff)
		}
	}
}

// FuzzLine: whatever an agent writes, nothing panics, what is written back is
// whole lines of JSON-RPC, and the probe means what the decoder does.
func FuzzLine(f *testing.F) {
	for _, tt := range chunkLines {
		f.Add([]byte(tt.line))
	}
	for _, line := range []string{
		asks("0", lsCall, offered), asks(`"x"`, `{}`, `"options":[]`),
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":1}}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":429,"message":"x","data":{"codex_error_info":{"a":{"http_status_code":401}}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{}}`,
		"\x1b]0;t\a\x1b[0m" + chunkLines[0].line, "noise", "[]",
	} {
		f.Add([]byte(line))
	}
	for _, update := range []string{
		toolIs("c", "completed"), think("m", "x"),
		`{"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{"type":"diff","path":"p","newText":"n"}],"rawInput":[1],"rawOutput":{"output":"x"},"locations":[{"path":"p","line":1}]}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"a","category":"mode","options":[{"options":[{"value":"v"}]}]}]}`,
		`{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":1,"currency":"USD"}}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"blob":"AA=="}}}`,
	} {
		f.Add([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":` + update + `}}`))
	}
	addFixtures(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		sameWithoutProbe(t, line)
		s := running(t, nil)
		s.line(string(line), asks("7", lsCall, offered), string(line))
		s.step(harness.Cancel{})
		s.line(string(line))
	})
}

// BenchmarkLineTextDelta is one text delta through the translator.
func BenchmarkLineTextDelta(b *testing.B) {
	for name, update := range map[string]string{
		"probe":   `"messageId":"msg_22dd9be55001H0ZWwtyG7kPmAj","content":{"type":"text","text":"sixteen bytes.. "}`,
		"decoder": `"messageId":"msg_22dd9be55001H0ZWwtyG7kPmAj", "content":{"type":"text","text":"sixteen bytes.. "}`,
	} {
		b.Run(name, func(b *testing.B) {
			tr := New(Agent{ID: "agent"}).New(harness.Launch{}, nil).(*translator)
			tr.stage, tr.session, tr.chunkHead = ready, "s-1", chunkHead("s-1")
			tr.turn = &turn{written: true}
			line := []byte(chunkLine(update))
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if out := tr.Line(line); len(out.Updates) == 0 {
					b.Fatal("the delta was lost")
				}
			}
		})
	}
}

// TestNoise: what is no message is skipped with a diagnostic, and blank lines
// without one.
func TestNoise(t *testing.T) {
	t.Parallel()
	const chunk = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}}}`
	tests := []struct {
		line string
		said bool
		note string
	}{
		{"=== banner ===", false, "line is no JSON object"},
		{"\x1b[31merror:\x1b[0m red", false, "line is no JSON object"},
		{"{\"cut\":", false, "line is no JSON object"},
		{"[{}]", false, "line is no JSON object"},
		{`{"level":"info"}`, false, "line is no message"},
		{`{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}`, false, "answer to no open request"},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, false, "answer to no open request"},
		{`{"jsonrpc":"2.0","method":"_auth/status_update","params":{}}`, false, "unknown notification"},
		{"", false, ""},
		{" \t\r", false, ""},
		{chunk + "\r", true, ""},
		{"\x1b]0;demo\a\x1b[0m" + chunk, true, ""},
	}
	for _, tt := range tests {
		f := running(t, nil)
		f.line(tt.line)
		if said := len(f.updates) > 0; said != tt.said {
			t.Errorf("%q is said: %v, want %v", tt.line, said, tt.said)
		}
		if noted := len(f.notes) > 0; noted != (tt.note != "") || noted && f.notes[0].Message != tt.note {
			t.Errorf("%q is noted as %v, want %q", tt.line, f.notes, tt.note)
		}
	}
}

func TestDroppedLineIsNoted(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.step(harness.Dropped{Bytes: 70 << 20})
	want := []harness.Diagnostic{{Message: "line over the budget was lost", Detail: "73400320 bytes"}}
	if diff := cmp.Diff(want, f.notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Law 72: the line's bytes are another's as soon as the
// call is over.
func TestLaw72_lineIsNotKept(t *testing.T) {
	t.Parallel()
	tr := running(t, nil).tr.(*translator)
	line := []byte(chunkLine(`"messageId":"m-1","content":{"type":"text","text":"kept \ud83d"}`))
	out := tr.Line(line)
	for i := range line {
		line[i] = 'x'
	}
	expect(t, "told", story(out.Updates), "message m-1", "text part-1", `part-1 + "kept "`)
	out = tr.Line([]byte(chunkLine(`"messageId":"m-1","content":{"type":"text","text":"\ude00"}`)))
	expect(t, "told", story(out.Updates), `part-1 + "😀"`)
}
