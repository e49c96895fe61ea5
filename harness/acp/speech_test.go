package acp

import (
	"strings"
	"testing"

	"agent-server/protocol"
)

// say and think are chunks; id "" is none.
func say(id, text string) string   { return chunkOf("agent_message_chunk", id, text) }
func think(id, text string) string { return chunkOf("agent_thought_chunk", id, text) }

func chunkOf(kind, id, text string) string {
	if id != "" {
		id = `"messageId":"` + id + `",`
	}
	return `{"sessionUpdate":"` + kind + `",` + id + `"content":{"type":"text","text":` + string(protocol.AppendString(nil, text)) + `}}`
}

func toolIs(id, status string) string {
	return `{"sessionUpdate":"tool_call","toolCallId":"` + id + `","kind":"read","status":"` + status + `"}`
}

func TestMessages(t *testing.T) {
	t.Parallel()
	const read1 = `tool c name=read kind=read pending {"status":"pending","partialInput":""}`
	const done1 = `tool c name=read kind=read completed {"status":"completed","input":{},"output":"","time":{"start":0,"end":0}}`
	tests := []struct {
		name    string
		updates []string
		want    []string
	}{
		{"text in one part", []string{say("", "a"), say("", "b")},
			[]string{"message message-1", "text part-2", `part-2 + "a"`, `part-2 + "b"`}},
		{"empty text opens nothing", []string{say("", ""), think("", "")}, nil},
		{"without ids, thought and speech are messages", []string{think("", "a"), say("", "b"), think("", "c")}, []string{
			"message message-1", "reasoning part-2", `part-2 + "a"`, `part-2 = reasoning "" done`,
			"message message-3", "text part-4", `part-4 + "b"`, `part-4 = text "" done`,
			"message message-5", "reasoning part-6", `part-6 + "c"`}},
		{"without ids, the end of a tool call ends the message", []string{say("", "a"), toolIs("c", "pending"), toolIs("c", "completed"), say("", "b")}, []string{
			"message message-1", "text part-2", `part-2 + "a"`, `part-2 = text "" done`, read1, done1,
			"message message-3", "text part-4", `part-4 + "b"`}},
		{"without ids, text beside a running tool", []string{say("", "a"), toolIs("c", "pending"), say("", "b")}, []string{
			"message message-1", "text part-2", `part-2 + "a"`, `part-2 = text "" done`, read1,
			"text part-3", `part-3 + "b"`}},
		{"a tool alone opens a message", []string{toolIs("c", "pending")}, []string{"message message-1", read1}},
		{"a tool after the end of another opens one", []string{toolIs("c", "completed"), toolIs("d", "pending")}, []string{
			"message message-1", done1, "message message-2", strings.Replace(read1, "tool c", "tool d", 1)}},
		{"an id, as long as it lasts", []string{say("m", "a"), say("m", "b"), say("n", "c")}, []string{
			"message m", "text part-1", `part-1 + "a"`, `part-1 + "b"`, `part-1 = text "" done`,
			"message n", "text part-2", `part-2 + "c"`}},
		{"one id for thought and speech", []string{think("m", "a"), say("m", "b"), think("m", "c")}, []string{
			"message m", "reasoning part-1", `part-1 + "a"`, `part-1 = reasoning "" done`,
			"text part-2", `part-2 + "b"`, `part-2 = text "" done`, "reasoning part-3", `part-3 + "c"`}},
		{"thoughts with ids of their own", []string{think("prt", "a"), say("msg", "b"), think("prt2", "c"), say("msg2", "d")}, []string{
			"message prt", "reasoning part-1", `part-1 + "a"`, `part-1 = reasoning "" done`, "text part-2", `part-2 + "b"`, `part-2 = text "" done`,
			"message prt2", "reasoning part-3", `part-3 + "c"`, `part-3 = reasoning "" done`, "text part-4", `part-4 + "d"`}},
		{"an id goes on after a tool", []string{say("m", "a"), toolIs("c", "completed"), say("m", "b")}, []string{
			"message m", "text part-1", `part-1 + "a"`, `part-1 = text "" done`, done1, "text part-2", `part-2 + "b"`}},
		{"a new id after a tool", []string{toolIs("c", "completed"), say("m", "b")}, []string{
			"message message-1", done1, "message m", "text part-2", `part-2 + "b"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			f.update(tt.updates...)
			expect(t, "told", story(f.updates), tt.want...)
		})
	}
}

func TestHalvesOfCharactersAreJoined(t *testing.T) {
	t.Parallel()
	raw := func(literal string) string {
		return `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + literal + `}}`
	}
	tests := []struct {
		name    string
		updates []string
		want    []string
	}{
		{"across two chunks", []string{raw(`"a\ud83d"`), raw(`"\ude00b"`)}, []string{`part-2 + "a"`, `part-2 + "😀b"`}},
		{"and no more than once", []string{raw(`"\ud83d"`), raw(`"\ude00"`), raw(`"a"`)}, []string{`part-2 + "😀"`, `part-2 + "a"`}},
		{"not into the next part", []string{raw(`"\ud83d"`), think("", "a")}, []string{
			"part-2 + \"\uFFFD\"", `part-2 = text "" done`, "message message-3", "reasoning part-4", `part-4 + "a"`}},
		{"alone in a chunk", []string{raw(`"\ud83d"`), raw(`"\ude00"`)}, []string{`part-2 + "😀"`}},
		{"the other never comes", []string{raw(`"a\ud83d"`), raw(`"b"`)}, []string{`part-2 + "a"`, "part-2 + \"\uFFFDb\""}},
		{"the part ends", []string{raw(`"a\ud83d"`), toolIs("c", "pending")},
			[]string{`part-2 + "a"`, "part-2 + \"\uFFFD\"", `part-2 = text "" done`,
				`tool c name=read kind=read pending {"status":"pending","partialInput":""}`}},
		{"two first halves", []string{raw(`"\ud83d"`), raw(`"\ud83d"`), raw(`"\ude00"`)}, []string{"part-2 + \"\uFFFD\"", `part-2 + "😀"`}},
		{"a backslash before it", []string{raw(`"\\ud83d"`)}, []string{`part-2 + "\\ud83d"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			f.update(tt.updates...)
			expect(t, "told", story(f.updates)[2:], tt.want...)
		})
	}
}

func TestHeldHalfIsSaidAtTheEnd(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"a\udbff"}}`)
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	expect(t, "told", story(f.updates)[2:], `part-2 + "a"`, "part-2 + \"\uFFFD\"", `part-2 = reasoning "" done`, "finished end_turn raw=end_turn")
}

func TestContentThatIsNoText(t *testing.T) {
	t.Parallel()
	block := func(content string) string {
		return `{"sessionUpdate":"agent_message_chunk","content":` + content + `}`
	}
	tests := []struct{ name, content, want string }{
		{"image", `{"type":"image","data":"AA==","mimeType":"image/png"}`, "image image/png data=AA== url=-"},
		{"image by address", `{"type":"image","uri":"http://i","mimeType":"image/png"}`, "image image/png data=- url=http://i"},
		{"audio", `{"type":"audio","data":"AA==","mimeType":"audio/wav"}`, "file audio/wav data=AA== url=- name=-"},
		{"link", `{"type":"resource_link","uri":"file:///a","name":"a"}`, "file application/octet-stream data=- url=file:///a name=a"},
		{"embedded text", `{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}`, `text "inside" done`},
		{"embedded bytes", `{"type":"resource","resource":{"uri":"u","blob":"AA==","mimeType":"a/b"}}`, "file a/b data=AA== url=- name=u"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			f.update(block(tt.content))
			expect(t, "told", story(f.updates), "message message-1", "part-2 = "+tt.want)
		})
	}
}

func TestWhatIsNotShown(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, update, note string }{
		{"echo of the prompt", chunkOf("user_message_chunk", "", "hi"), "update ignored: the turn's input is shown already user_message_chunk"},
		{"a kind of the future", `{"sessionUpdate":"new thing"}`, "update ignored new?thing"},
		{"no kind", `{}`, "update ignored "},
		{"no object", `[]`, "update ignored "},
		{"unknown content", `{"sessionUpdate":"agent_message_chunk","content":{"type":"hologram"}}`, "content ignored hologram"},
		{"tool without an id", `{"sessionUpdate":"tool_call"}`, "tool call without an id "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			f.update(tt.update)
			expect(t, "told", story(f.updates))
			if len(f.notes) != 1 || f.notes[0].Message+" "+f.notes[0].Detail != tt.note {
				t.Errorf("noted %v, want %q", f.notes, tt.note)
			}
		})
	}
}

// TestBetweenTurns: what cannot stand between turns waits for the next one or is
// left out; a tool's own end is shown in its place, once.
func TestBetweenTurns(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.update(toolIs("old", "in_progress"), toolIs("done", "completed"))
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	f.forget()
	f.update(toolIs("late", "completed"), toolIs("done", "completed"), toolIs("old", "in_progress"),
		`{"sessionUpdate":"usage_update","used":1}`, `{"sessionUpdate":"usage_update","used":2}`,
		`{"sessionUpdate":"notice","severity":"error","title":"x"}`,
		`{"sessionUpdate":"compaction_update","compactionId":"k","status":"completed"}`)
	expect(t, "told", story(f.updates))
	f.update(toolIs("old", "completed"))
	f.update(toolIs("old", "failed"))
	expect(t, "told of the tool", story(f.updates),
		`tool old name=read kind=read completed {"status":"completed","input":{},"output":"","time":{"start":0,"end":0}}`)
	f.forget()
	f.begin(config())
	f.update(toolIs("old", "completed"))
	expect(t, "told in the next turn", story(f.updates), "PromptWritten{}", "Registered{}",
		"Notice{Category:internal Message:x}", "Usage{Used:2 Size:<nil> Cost:<nil>}")
}

func TestUpdatesOfAnotherSession(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-2","update":` + say("", "foreign") + `}}`)
	expect(t, "told", story(f.updates))
}
