package acp

import "testing"

func TestTools(t *testing.T) {
	t.Parallel()
	call := func(rest string) string { return `{"sessionUpdate":"tool_call","toolCallId":"c"` + rest + `}` }
	update := func(rest string) string { return `{"sessionUpdate":"tool_call_update","toolCallId":"c"` + rest + `}` }
	const pending = `pending {"status":"pending","partialInput":""}`
	completed := func(input, output, rest string) string {
		return `completed {"status":"completed","input":` + input + `,"output":` + output + rest + `,"time":{"start":0,"end":0}}`
	}
	failed := func(input, why string) string {
		return `failed {"status":"failed","input":` + input + `,"error":` + why + `,"time":{"start":0,"end":0}}`
	}
	running := func(input string) string {
		return `in_progress {"status":"in_progress","input":` + input + `,"time":{"start":0}}`
	}
	tests := []struct {
		name    string
		updates []string
		want    []string
	}{
		{"all the way", []string{
			call(`,"title":"Read a","name":"read_file","kind":"read","status":"pending","locations":[{"path":"/a","line":3},{"line":1}],"rawInput":{"path":"/a"}`),
			update(`,"status":"in_progress"`),
			update(`,"status":"completed","content":[{"type":"content","content":{"type":"text","text":"inside"}}]`),
		}, []string{
			"tool c name=read_file kind=read title=Read a at=/a:3 " + pending,
			"tool c name=read_file kind=read title=Read a at=/a:3 " + running(`{"path":"/a"}`),
			"tool c name=read_file kind=read title=Read a at=/a:3 " + completed(`{"path":"/a"}`, `"inside"`, `,"content":[{"type":"text","text":"inside"}]`),
		}},
		{"no status is pending", []string{call("")}, []string{"tool c " + pending}},
		{"an update is a first sight too", []string{update(`,"status":"completed","title":"T"`)},
			[]string{"tool c title=T " + completed("{}", `""`, "")}},
		{"the kind stands in for a name", []string{call(`,"kind":"execute"`)}, []string{"tool c name=execute kind=execute " + pending}},
		{"a name in _meta", []string{call(`,"_meta":{"claudeCode":{"toolName":"Bash"}}`)}, []string{"tool c name=Bash " + pending}},
		{"never back", []string{call(`,"status":"in_progress","rawInput":{"a":1}`), update(`,"status":"pending"`), update(`,"status":"completed"`), update(`,"status":"in_progress"`), update(`,"status":"failed"`)}, []string{
			"tool c " + running(`{"a":1}`), "tool c " + running(`{"a":1}`), "tool c " + completed(`{"a":1}`, `""`, ""), "tool c", "tool c",
		}},
		{"an unknown status changes none", []string{call(`,"status":"lost"`)}, []string{"tool c " + pending}},
		{"paused, of the coming version", []string{call(`,"status":"paused"`)}, []string{"tool c " + running("{}")}},
		{"cancelled, of the coming version", []string{call(`,"status":"cancelled"`)},
			[]string{`tool c cancelled {"status":"cancelled","input":{},"time":{"start":0,"end":0}}`}},
		{"the same end may say more", []string{call(`,"status":"completed"`), update(`,"status":"completed","rawOutput":"more"`)}, []string{
			"tool c " + completed("{}", `""`, ""), "tool c " + completed("{}", `"more"`, "")}},
		{"content is replaced, not added to", []string{
			call(`,"content":[{"type":"content","content":{"type":"text","text":"one"}}]`),
			update(`,"content":[{"type":"content","content":{"type":"text","text":"two"}}],"status":"completed"`),
		}, []string{"tool c " + pending, "tool c " + completed("{}", `"two"`, `,"content":[{"type":"text","text":"two"}]`)}},
		{"content that is absent stays", []string{
			call(`,"content":[{"type":"diff","path":"/a","oldText":"x","newText":"y"}]`), update(`,"status":"completed"`),
		}, []string{"tool c " + pending, "tool c " + completed("{}", `""`, `,"content":[{"type":"diff","path":"/a","oldText":"x","newText":"y"}]`)}},
		{"content of every kind", []string{call(`,"status":"completed","content":[{"type":"diff","path":"/a","oldText":null,"newText":"y"},` +
			`{"type":"diff","path":"/b","oldText":"","newText":"z"},{"type":"terminal","terminalId":"t1"},` +
			`{"type":"content","content":{"type":"image","data":"AA==","mimeType":"image/png"}},{"type":"content","content":{"type":"resource_link","uri":"file:///l"}},` +
			`{"type":"content","content":{"type":"resource","resource":{"uri":"u","text":"res"}}},{"type":"future"},{"type":"content","content":7},5]`)},
			[]string{"tool c " + completed("{}", `"file:///l\nres"`, `,"content":[{"type":"diff","path":"/a","newText":"y"},{"type":"diff","path":"/b","newText":"z"},`+
				`{"type":"terminal","terminalId":"t1"},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"text","text":"file:///l"},{"type":"text","text":"res"}]`)}},
		{"raw output as text wins over what is for display", []string{
			call(`,"status":"completed","rawOutput":"plain","content":[{"type":"content","content":{"type":"text","text":"~~~\nplain\n~~~"}}]`),
		}, []string{"tool c " + completed("{}", `"plain"`, `,"content":[{"type":"text","text":"~~~\nplain\n~~~"}]`)}},
		{"raw output as an object", []string{call(`,"status":"completed","rawOutput":{"output":"said","metadata":{"exit":0}}`)},
			[]string{"tool c " + completed("{}", `"said"`, `,"metadata":{"output":"said","metadata":{"exit":0}}`)}},
		{"raw output that says nothing by itself", []string{call(`,"status":"completed","rawOutput":{"exit":0}`)},
			[]string{"tool c " + completed("{}", `"{\"exit\":0}"`, `,"metadata":{"exit":0}`)}},
		{"raw input that is no object", []string{call(`,"status":"completed","rawInput":["ls"]`)},
			[]string{"tool c " + completed(`{"rawInput":["ls"]}`, `""`, "")}},
		{"raw input that is not there yet", []string{call(`,"rawInput":{"a":1}`), update(`,"status":"completed","rawInput":{}`)},
			[]string{"tool c " + pending, "tool c " + completed(`{"a":1}`, `""`, "")}},
		{"failed by its content", []string{call(`,"status":"failed","content":[{"type":"content","content":{"type":"text","text":"exit 1"}}]`)},
			[]string{"tool c " + failed("{}", `"exit 1"`)}},
		{"failed by its raw output", []string{call(`,"status":"failed","rawOutput":{"error":"aborted","metadata":{}}`)}, []string{"tool c " + failed("{}", `"aborted"`)}},
		{"failed by text", []string{call(`,"status":"failed","rawOutput":"no"`)}, []string{"tool c " + failed("{}", `"no"`)}},
		{"failed by another object", []string{call(`,"status":"failed","rawOutput":{"exit":3}`)}, []string{"tool c " + failed("{}", `"{\"exit\":3}"`)}},
		{"failed without a word", []string{call(`,"status":"failed"`)}, []string{"tool c " + failed("{}", `"the agent did not say how the call ended"`)}},
		{"members of the wrong type count as absent", []string{call(`,"title":5,"name":null,"kind":[],"status":{},"content":"x","locations":3`)}, []string{"tool c " + pending}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newRunning(t)
			f.update(tt.updates...)
			expect(t, "told", story(f.updates)[1:], tt.want...)
		})
	}
}

func newRunning(t *testing.T) *fake {
	t.Helper()
	return running(t, nil)
}

func TestToolsStillOpenAtTheEnd(t *testing.T) {
	t.Parallel()
	const left = `tool c name=read kind=read `
	cancelled := left + `cancelled {"status":"cancelled","input":{},"time":{"start":0,"end":0}}`
	failed := left + `failed {"status":"failed","input":{},"error":"the agent did not say how the call ended","time":{"start":0,"end":0}}`
	tests := []struct{ name, answer, want string }{
		{"ended", `"result":{"stopReason":"end_turn"}`, failed},
		{"cancelled", `"result":{"stopReason":"cancelled"}`, cancelled},
		{"in an error", `"error":{"code":-32603,"message":"x"}`, failed},
		{"withdrawn", `"error":{"code":-32800,"message":"x"}`, cancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newRunning(t)
			f.update(toolIs("c", "in_progress"), toolIs("d", "completed"))
			f.forget()
			f.answer("session/prompt", tt.answer)
			expect(t, "told", story(f.updates)[:len(f.updates)-1], tt.want)
		})
	}
}
