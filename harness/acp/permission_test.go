package acp

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

const offered = `"options":[{"optionId":"once","name":"Allow","kind":"allow_once"},{"optionId":"session","name":"Always here","kind":"allow_always"},` +
	`{"optionId":"disk","name":"Always","kind":"allow_always"},{"optionId":"no","name":"No","kind":"reject_once"}]`

func asks(id, call, options string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":` + call + `,` + options + `}}`
}

const lsCall = `{"toolCallId":"c","title":"ls","kind":"execute","status":"pending","rawInput":{"command":"ls"}}`

func chose(id, option string) string {
	return `"id":` + id + `,"result":{"outcome":{"outcome":"selected","optionId":"` + option + `"}}}`
}

func refused(id string) string {
	return `"id":` + id + `,"result":{"outcome":{"outcome":"cancelled"}}}`
}

const toldOptions = "options=[{once Allow allow_once} {session Always here allow_always} {disk Always allow_always} {no No reject_once}] always=true"

func TestAsked(t *testing.T) {
	t.Parallel()
	const pending = `pending {"status":"pending","partialInput":`
	const head = "tool c name=execute kind=execute title=ls "
	asked := `asked 0 call=c name=execute kind=execute title="ls" input={"command":"ls"} ` + toldOptions
	shown := `tool c pending {"status":"pending","partialInput":"{\"command\":\"ls\"}"}`
	tests := []struct {
		name  string
		first []string
		call  string
		want  []string
	}{
		{"first sight of the call", nil, lsCall, []string{"message message-1", head + pending + `""}`, shown, asked}},
		{"of a call known before", []string{`{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute","rawInput":{"command":"ls"}}`},
			`{"toolCallId":"c"}`, []string{"message message-1", head + pending + `""}`, head + pending + `""}`, shown, asked}},
		{"a running call is not set back", []string{`{"sessionUpdate":"tool_call","toolCallId":"c","status":"in_progress"}`}, lsCall, []string{
			"message message-1", `tool c in_progress {"status":"in_progress","input":{},"time":{"start":0}}`,
			head + `in_progress {"status":"in_progress","input":{"command":"ls"},"time":{"start":0}}`, asked}},
		{"without an input", nil, `{"toolCallId":"c","title":"ls","kind":"execute"}`,
			[]string{"message message-1", head + pending + `""}`, `asked 0 call=c name=execute kind=execute title="ls" input=null ` + toldOptions}},
		{"without a call", nil, `{"title":"ls","kind":"execute","rawInput":{"command":"ls"}}`,
			[]string{`asked 0 call= name= kind=execute title="ls" input={"command":"ls"} ` + toldOptions}},
		{"call of the wrong type", nil, `7`, []string{`asked 0 call= name= kind= title="" input=null ` + toldOptions}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			f.update(tt.first...)
			f.line(asks("0", tt.call, offered))
			expect(t, "told", story(f.updates), tt.want...)
			expect(t, "written", f.sent())
		})
	}
}

func TestOptionsThatLackSomething(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.line(asks(`"u-1"`, lsCall, `"options":[{"name":"no id"},{"optionId":"a"},3]`))
	asked, ok := f.updates[len(f.updates)-1].(harness.Asked)
	if !ok || asked.Request != `"u-1"` {
		t.Fatalf("told %v", story(f.updates))
	}
	want := protocol.PermissionOption{OptionID: "a", Name: "a", Kind: "_unknown"}
	if len(asked.Options) != 1 || asked.Options[0] != want {
		t.Errorf("options %v, want %v alone", asked.Options, want)
	}
}

func TestResolved(t *testing.T) {
	t.Parallel()
	verdict := func(d harness.Decision, option string) harness.Verdict {
		return harness.Verdict{Decision: d, OptionID: option}
	}
	const runs = `tool c name=execute kind=execute title=ls in_progress {"status":"in_progress","input":{"command":"ls"},"time":{"start":0}}`
	tests := []struct {
		name    string
		options string
		verdict harness.Verdict
		sent    string
		told    []string
	}{
		{"allow", offered, verdict(harness.Allow, "once"), chose("0", "once"), []string{runs}},
		{"one of two that always allow", offered, verdict(harness.AllowAlways, "disk"), chose("0", "disk"), []string{runs}},
		{"reject", offered, verdict(harness.Deny, "no"), chose("0", "no"), nil},
		{"cancelled", offered, verdict(harness.CancelRequest, ""), refused("0"), nil},
		{"allow without an option", offered, verdict(harness.Allow, ""), chose("0", "once"), []string{runs}},
		{"always without an option is once", offered, verdict(harness.AllowAlways, ""), chose("0", "once"), []string{runs}},
		{"always is never guessed", `"options":[{"optionId":"a","name":"A","kind":"allow_always"}]`, verdict(harness.AllowAlways, "x"), refused("0"), nil},
		{"deny by what it was not offered", offered, verdict(harness.Deny, "zzz"), chose("0", "no"), nil},
		{"deny with an always alone", `"options":[{"optionId":"a","name":"A","kind":"allow_once"},{"optionId":"never","name":"N","kind":"reject_always"}]`,
			verdict(harness.Deny, ""), chose("0", "never"), nil},
		{"deny without a word for it", `"options":[{"optionId":"a","name":"A","kind":"allow_once"}]`, verdict(harness.Deny, ""), refused("0"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			f.line(asks("0", lsCall, tt.options))
			f.forget()
			f.step(harness.Resolve{Request: "0", Verdict: tt.verdict})
			expect(t, "written", f.sent(), tt.sent)
			expect(t, "told", story(f.updates), tt.told...)
			f.forget()
			f.step(harness.Resolve{Request: "0", Verdict: tt.verdict})
			expect(t, "written for a second answer", f.sent())
		})
	}
}

func TestRejectedToolIsCancelledAtTheEnd(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.line(asks("0", lsCall, offered))
	f.step(harness.Resolve{Request: "0", Verdict: harness.Verdict{Decision: harness.Deny, OptionID: "no"}})
	f.forget()
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	expect(t, "told", story(f.updates),
		`tool c name=execute kind=execute title=ls cancelled {"status":"cancelled","input":{"command":"ls"},"time":{"start":0,"end":0}}`,
		"finished end_turn raw=end_turn")
}

func TestRequestsThatAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		before func(f *fake)
		line   string
		sent   string
	}{
		{"no turn", func(f *fake) { f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`) }, asks("5", lsCall, offered), refused("5")},
		{"after a cancel", func(f *fake) { f.step(harness.Cancel{}) }, asks("5", lsCall, offered), refused("5")},
		{"no options", func(*fake) {}, asks("5", lsCall, `"options":[]`), refused("5")},
		{"another session", func(*fake) {}, `{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":{"sessionId":"s-2",` + offered + `}}`, refused("5")},
		{"a file", func(*fake) {}, `{"jsonrpc":"2.0","id":5,"method":"fs/write_text_file","params":{}}`,
			`"id":5,"error":{"code":-32601,"message":"method not found"}}`},
		{"an extension", func(*fake) {}, `{"jsonrpc":"2.0","id":"x","method":"_x/ext"}`,
			`"id":"x","error":{"code":-32601,"message":"method not found"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			tt.before(f)
			f.forget()
			f.line(tt.line)
			expect(t, "written", f.sent(), tt.sent)
			expect(t, "told", story(f.updates))
		})
	}
}

func TestWithdrawn(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.line(asks("0", lsCall, offered), asks(`"0"`, `{"toolCallId":"d"}`, offered))
	f.forget()
	f.line(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`)
	expect(t, "told", story(f.updates), "Withdrawn{Request:0}")
	expect(t, "written", f.sent(), refused("0"))
	f.forget()
	f.line(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`)
	expect(t, "told again", story(f.updates))
	f.step(harness.Resolve{Request: "0", Verdict: harness.Verdict{Decision: harness.Allow, OptionID: "once"}})
	expect(t, "written for a late answer", f.sent())
	f.step(harness.Resolve{Request: `"0"`, Verdict: harness.Verdict{Decision: harness.Allow, OptionID: "once"}})
	expect(t, "written for the other", f.sent(), chose(`"0"`, "once"))
}

func TestAskedTwiceUnderOneID(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.line(asks("0", lsCall, offered))
	f.forget()
	f.line(asks("0", `{"toolCallId":"d"}`, offered))
	expect(t, "told", story(f.updates))
	expect(t, "written", f.sent())
	f.step(harness.Resolve{Request: "0", Verdict: harness.Verdict{Decision: harness.Allow, OptionID: "once"}})
	expect(t, "written for the one answer", f.sent(), chose("0", "once"))
}

// What a policy has to look at is told, wherever the request names it.
func TestAskedNamesItsFiles(t *testing.T) {
	t.Parallel()
	const shown = `"locations":[{"path":"/w/a"}],"content":[{"type":"diff","path":"/w/b","newText":"x"},{"type":"terminal","terminalId":"t"}]}`
	for name, call := range map[string]string{"of a call": `{"toolCallId":"c",` + shown, "of none": `{` + shown} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			f.line(asks("0", call, offered))
			asked, _ := f.updates[len(f.updates)-1].(harness.Asked)
			if diff := cmp.Diff([]string{"/w/b"}, asked.Files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]protocol.Location{{Path: "/w/a"}}, asked.Locations); diff != "" {
				t.Errorf("locations (-want +got):\n%s", diff)
			}
		})
	}
}
