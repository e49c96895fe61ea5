package claudecode

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
)

// asks is a can_use_tool line; rest are further members of the request.
func asks(input, rest string) string {
	return `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":` + input + `,"tool_use_id":"call"` + rest + `}}`
}

// answer is the line that answers request r.
func answer(body string) string {
	return `{"type":"control_response","response":{"subtype":"success","request_id":"r","response":` + body + `}}`
}

const ruleAndMore = `,"permission_suggestions":[
	{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch a"}],"behavior":"allow","destination":"localSettings"},
	{"type":"addDirectories","directories":["/w"],"destination":"session"},
	{"type":"setMode","mode":"acceptEdits","destination":"session"}]`

func TestAsked(t *testing.T) {
	t.Parallel()
	wantUpdates(t, feed(called(t, "Bash", `{"command":"ls"}`), asks(`{"command":"ls"}`, ruleAndMore)),
		harness.Asked{Request: "r", Call: "call", Name: "Bash", Kind: protocol.KindExecute, Title: "ls",
			RawInput: protocol.Object(`{"command":"ls"}`), Always: true, InputSlot: true})
}

func TestAlwaysIsOfferedOnlyWhereItMeansSomething(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]bool{
		ruleAndMore: true,
		ruleAndMore + `,"suppress_always_allow_rule":true`: false,
		``:                                      false,
		`,"permission_suggestions":[]`:          false,
		`,"permission_suggestions":[null,7,{}]`: false,
		`,"permission_suggestions":[{"type":"setMode","mode":"acceptEdits"}]`:                                                   false,
		`,"permission_suggestions":[{"type":"setMode","mode":"bypassPermissions"}]`:                                             false,
		`,"permission_suggestions":[{"type":"addRules","behavior":"deny","rules":[]}]`:                                          false,
		`,"permission_suggestions":[{"type":"addRules","behavior":"allow","rules":[{"toolName":"mcp__a__b"}]}]`:                 false,
		`,"permission_suggestions":[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":":*"}]}]`:   false,
		`,"permission_suggestions":[{"type":"addRules","behavior":"deny","rules":[{"toolName":"Bash","ruleContent":"ls"}]}]`:    false,
		`,"permission_suggestions":[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"ls:*"}]}]`: true,
		`,"permission_suggestions":[{"type":"removeRules","behavior":"allow","rules":[]}]`:                                      false,
		`,"permission_suggestions":[{"type":"addDirectories","directories":["/w"],"destination":"userSettings"}]`:               false,
	} {
		out := feed(called(t, "Bash", `{}`), asks(`{}`, rest))
		if got := out.Updates[0].(harness.Asked).Always; got != want {
			t.Errorf("%s: %v", rest, got)
		}
	}
}

// Law 164: an always allows no more than it reads: the rules that it brings each say
// which calls they allow, they are for this session, and no mode and no directory
// goes with them.
func TestLaw164_alwaysIsNarrow(t *testing.T) {
	t.Parallel()
	const suggestions = `,"permission_suggestions":[
		{"type":"addRules","behavior":"allow","destination":"localSettings","rules":[
			{"toolName":"Bash"},{"toolName":"Bash","ruleContent":"*"},{"toolName":"Bash","ruleContent":"ls"}]},
		{"type":"addRules","behavior":"allow","destination":"userSettings","rules":[{"toolName":"mcp__a__b"}]},
		{"type":"setMode","mode":"acceptEdits","destination":"session"},
		{"type":"addDirectories","directories":["/"],"destination":"session"}]`
	tr := called(t, "Bash", `{}`)
	feed(tr, asks(`{}`, suggestions))
	wantStdin(t, tr.Step(harness.Resolve{Request: "r", Verdict: harness.Verdict{Decision: harness.AllowAlways}}),
		answer(`{"behavior":"allow","updatedInput":{},"updatedPermissions":[{"type":"addRules","behavior":"allow","destination":"session",
			"rules":[{"toolName":"Bash","ruleContent":"ls"}]}],"decisionClassification":"user_permanent"}`))
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	const allowed = `{"behavior":"allow","updatedInput":{"command":"ls"}`
	for _, tc := range []struct {
		name    string
		rest    string
		verdict harness.Verdict
		want    string
	}{
		{"allow restates the input", "", harness.Verdict{Decision: harness.Allow}, allowed + `}`},
		{"deny", "", harness.Verdict{Decision: harness.Deny, Message: "not now"}, `{"behavior":"deny","message":"not now"}`},
		{"deny needs words", "", harness.Verdict{}, `{"behavior":"deny","message":"The user refused this call."}`},
		{"cancelled", "", harness.Verdict{Decision: harness.CancelRequest, Message: "gone"}, `{"behavior":"deny","message":"gone"}`},
		{"an unknown decision denies", "", harness.Verdict{Decision: 99, Message: "?"}, `{"behavior":"deny","message":"?"}`},
		// The rule covers this call and those like it; the rest would be wider.
		{"always: the rule alone, in the session", ruleAndMore, harness.Verdict{Decision: harness.AllowAlways},
			allowed + `,"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch a"}],"behavior":"allow","destination":"session"}],"decisionClassification":"user_permanent"}`},
		{"always: never a mode", `,"permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`,
			harness.Verdict{Decision: harness.AllowAlways}, allowed + `}`},
		{"always: never a directory", `,"permission_suggestions":[{"type":"addDirectories","directories":["/w"],"destination":"session"}]`,
			harness.Verdict{Decision: harness.AllowAlways}, allowed + `}`},
		{"always: where it was not offered", "", harness.Verdict{Decision: harness.AllowAlways}, allowed + `}`},
		{"once: no permissions", ruleAndMore, harness.Verdict{Decision: harness.Allow}, allowed + `}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := called(t, "Bash", `{"command":"ls"}`)
			feed(tr, asks(`{"command":"ls"}`, tc.rest))
			out := tr.Step(harness.Resolve{Request: "r", Verdict: tc.verdict})
			wantStdin(t, out, answer(tc.want))
			wantUpdates(t, out)
			again := tr.Step(harness.Resolve{Request: "r", Verdict: tc.verdict})
			if again.Stdin != nil || len(again.Diagnostics) != 1 {
				t.Errorf("answered twice: %v", again)
			}
		})
	}
}

// What runs is what is shown.
func TestEditedInput(t *testing.T) {
	t.Parallel()
	tr := called(t, "Bash", `{"command":"ls"}`)
	feed(tr, asks(`{"command":"ls"}`, ""))
	out := tr.Step(harness.Resolve{Request: "r", Verdict: harness.Verdict{Decision: harness.Allow, UpdatedInput: protocol.Object(`{"command":"ls -l"}`)}})
	wantStdin(t, out, answer(`{"behavior":"allow","updatedInput":{"command":"ls -l"}}`))
	wantUpdates(t, out, harness.ToolSet{Call: "call", Name: "Bash", Kind: protocol.KindExecute, Title: "ls -l",
		State: &protocol.InProgressState{Input: protocol.Object(`{"command":"ls -l"}`)}})
}

// A mode that the CLI came into by itself ends with the turn: the config in force
// says what it may do, and the server's cap was judged by that.
func TestAlwaysKeepsNoMode(t *testing.T) {
	t.Parallel()
	tr := called(t, "Write", `{}`)
	feed(tr, asks(`{}`, ruleAndMore))
	tr.Step(harness.Resolve{Request: "r", Verdict: harness.Verdict{Decision: harness.AllowAlways}})
	feed(tr, `{"type":"system","subtype":"status","status":null,"permissionMode":"acceptEdits"}`,
		`{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`)
	wantUpdates(t, beginHello(tr, protocol.RunConfig{}))
	if got := tr.awaited; len(got) != 1 {
		t.Errorf("%d requests are open, want the one for the mode", len(got))
	}
}

func TestWithdrawn(t *testing.T) {
	t.Parallel()
	const withdraw = `{"type":"control_cancel_request","request_id":"r"}`
	tr := called(t, "Bash", `{}`)
	feed(tr, asks(`{}`, ""))
	wantUpdates(t, feed(tr, withdraw), harness.Withdrawn{Request: "r"})
	wantUpdates(t, feed(tr, withdraw))
	if out := tr.Step(harness.Resolve{Request: "r", Verdict: harness.Verdict{Decision: harness.Allow}}); out.Stdin != nil {
		t.Error("an answer after the withdrawal")
	}
}

// A cancel has drained the broker; the CLI takes its requests back by itself.
func TestCancelLeavesRequestsToTheCLI(t *testing.T) {
	t.Parallel()
	tr := called(t, "Bash", `{}`)
	feed(tr, asks(`{}`, ""))
	wantStdin(t, tr.Step(harness.Cancel{}), `{"type":"control_request","request_id":"id-3","request":{"subtype":"interrupt"}}`)
	wantUpdates(t, feed(tr, `{"type":"control_cancel_request","request_id":"r"}`))
}

// It is the machine that knows whether anyone can be asked; its answer goes back.
func TestAskedWhereNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	idle := called(t, "Bash", `{}`)
	feed(idle, `{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`)
	cancelled := called(t, "Bash", `{}`)
	cancelled.Step(harness.Cancel{})
	for name, tr := range map[string]*translator{"outside a turn": idle, "after a cancel": cancelled} {
		if out := feed(tr, asks(`{}`, "")); len(out.Updates) != 1 || out.Stdin != nil {
			t.Errorf("%s: %v", name, out)
		}
		out := tr.Step(harness.Resolve{Request: "r", Verdict: harness.Verdict{Decision: harness.CancelRequest, Message: "no turn is open"}})
		wantStdin(t, out, answer(`{"behavior":"deny","message":"no turn is open"}`))
	}
}

// A turn may end with a request open; that is answered all the same.
func TestRequestThatOutlivesItsTurn(t *testing.T) {
	t.Parallel()
	tr := called(t, "Bash", `{}`)
	feed(tr, asks(`{}`, ""), `{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`)
	wantStdin(t, tr.Step(harness.Resolve{Request: "r", Verdict: harness.Verdict{Decision: harness.CancelRequest, Message: "over"}}),
		answer(`{"behavior":"deny","message":"over"}`))
}

// Where it is not known who asks, there is nobody to show it to: a refusal with
// its reason, never silence.
func TestAskedByAStranger(t *testing.T) {
	t.Parallel()
	out := feed(running(t), asks(`{}`, `,"agent_id":"stranger"`))
	wantUpdates(t, out)
	wantStdin(t, out, answer(`{"behavior":"deny","message":"It is not known which sub-agent asks."}`))
	if len(out.Diagnostics) != 1 {
		t.Errorf("diagnostics %v", out.Diagnostics)
	}
}

// A sub-agent's request belongs to the call that runs it: known by the call, else
// by the agent.
func TestAskedBySubagent(t *testing.T) {
	t.Parallel()
	tr := called(t, "Agent", `{}`)
	feed(tr, `{"type":"system","subtype":"task_started","task_id":"agent","task_type":"local_agent","tool_use_id":"call"}`,
		sub("call", "s", `{"type":"tool_use","id":"inner","name":"Bash","input":{}}`))
	for _, call := range []string{"inner", "unseen"} {
		out := feed(tr, `{"type":"control_request","request_id":"`+call+`","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"`+call+`","agent_id":"agent"}}`)
		if a := out.Updates[0].(harness.Asked); a.Owner != "call" || a.Call != call {
			t.Errorf("%s: %v", call, a)
		}
	}
}

// A request whose tool was never shown is the machine's to show.
func TestAskedForAnUnseenCall(t *testing.T) {
	t.Parallel()
	out := feed(running(t), asks(`null`, ""))
	if a := out.Updates[0].(harness.Asked); a.Call != "call" || string(a.RawInput) != "{}" {
		t.Errorf("%v", a)
	}
}

func TestOtherControlRequests(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, request, want string
		notes               int
	}{
		{"hook", `{"subtype":"hook_callback","callback_id":"c"}`, answer(`{}`), 0},
		{"elicitation", `{"subtype":"elicitation"}`, answer(`{"action":"decline"}`), 0},
		{"MCP message", `{"subtype":"mcp_message"}`, `{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"not supported by this client"}}`, 1},
		{"brand new", `{"subtype":"brand_new"}`, `{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"not supported by this client"}}`, 1},
		{"no request", `null`, `{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"not supported by this client"}}`, 1},
		{"undeclared dialog", `{"subtype":"request_user_dialog"}`, "", 1},
	} {
		out := feed(running(t), `{"type":"control_request","request_id":"r","request":`+tc.request+`}`)
		wantUpdates(t, out)
		if tc.want == "" {
			wantStdin(t, out)
		} else {
			wantStdin(t, out, tc.want)
		}
		if len(out.Diagnostics) != tc.notes {
			t.Errorf("%s: diagnostics %v", tc.name, out.Diagnostics)
		}
	}
	if out := feed(running(t), `{"type":"control_request","request":{"subtype":"can_use_tool"}}`); out.Stdin != nil || len(out.Diagnostics) != 1 {
		t.Errorf("without an id: %v", out)
	}
}
