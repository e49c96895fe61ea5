package codexappserver

import (
	"fmt"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

const commandAsk = `"kind":"command","itemId":"c","reason":"why","command":"/bin/bash -lc 'touch a'","cwd":"/w",` +
	`"proposedExecpolicyAmendment":["touch"],"availableDecisions":["accept",{"acceptWithExecpolicyAmendment":{"execpolicy_amendment":["touch"]}},"cancel"]`

// asking is a turn in which a command waits for consent.
func asking(t *testing.T) *fake {
	t.Helper()
	f := running(t)
	f.tell("thread/status/changed", `"status":{"type":"active","activeFlags":["waitingOnApproval"]}`)
	f.started(`"type":"commandExecution","id":"c","command":"/bin/bash -lc 'touch a'","cwd":"/w","commandActions":[{"type":"unknown","command":"touch a"}]`)
	f.ask("0", "item/commandExecution/requestApproval", commandAsk)
	return f
}

func TestCommandApproval(t *testing.T) {
	t.Parallel()
	f := asking(t)
	if _, ok := stateOfCall(f, "c").(*protocol.PendingState); !ok {
		t.Errorf("the call is %+v", stateOfCall(f, "c"))
	}
	want := harness.Asked{
		Request: "0", Call: "c", Name: "commandExecution", Kind: protocol.KindExecute, Title: "touch a", Always: true,
		RawInput: protocol.Object(`{"command":"/bin/bash -lc 'touch a'","cwd":"/w","reason":"why"}`),
	}
	want.Title = "touch a"
	if diff := cmp.Diff(want, last[harness.Asked](f)); diff != "" {
		t.Error(diff)
	}
	f.forget()
	f.step(harness.Resolve{Request: "0", Verdict: harness.Verdict{Decision: harness.Allow}})
	f.wrote(`{"id":0,"result":{"decision":"accept"}}`)
	if _, ok := stateOfCall(f, "c").(*protocol.InProgressState); !ok {
		t.Errorf("the call is %+v", stateOfCall(f, "c"))
	}
}

// Each decision in Codex's word; what writes rules for good is never said.
func TestLaw173_noRuleIsWritten(t *testing.T) {
	t.Parallel()
	requests := map[string]string{
		"item/commandExecution/requestApproval": commandAsk,
		"item/fileChange/requestApproval":       `"itemId":"p"`,
		"item/permissions/requestApproval":      `"itemId":"q","reason":"net","permissions":{"network":{"enabled":true}}`,
		"mcpServer/elicitation/request":         `"serverName":"lab","message":"Allow?","_meta":{"codex_approval_kind":"mcp_tool_call","persist":["session","always"],"tool_name":"x","tool_params":{}}`,
	}
	words := map[harness.Decision]string{
		harness.Deny: "decline", harness.Allow: "accept", harness.AllowAlways: "acceptForSession", harness.CancelRequest: "decline",
	}
	for method, members := range requests {
		for decision, word := range words {
			f := running(t)
			f.ask("7", method, members)
			f.forget()
			f.step(harness.Resolve{Request: "7", Verdict: harness.Verdict{Decision: decision}})
			if len(f.written) != 1 {
				t.Fatalf("%s %d: wrote %v", method, decision, f.written)
			}
			for _, never := range []string{"mendment", "always", "cancel"} {
				f.wroteNone(never)
			}
			if strings.HasSuffix(method, "/requestApproval") && !strings.Contains(method, "permissions") {
				f.wrote(`{"id":7,"result":{"decision":"` + word + `"}}`)
			}
			f.step(harness.Resolve{Request: "7", Verdict: harness.Verdict{Decision: decision}})
			if len(f.written) != 1 {
				t.Errorf("%s: answered twice", method)
			}
		}
	}
}

func TestAnswersOfTheOtherRequests(t *testing.T) {
	t.Parallel()
	permissions := `"itemId":"q","permissions":{"network":{"enabled":true},"fileSystem":null}`
	tool := `"serverName":"lab","message":"Allow?","_meta":{"codex_approval_kind":"mcp_tool_call","persist":["session"],"tool_name":"x","tool_params":{}}`
	for _, tt := range []struct {
		method, members string
		decision        harness.Decision
		want            string
	}{
		{"item/permissions/requestApproval", permissions, harness.Allow, `{"permissions":{"network":{"enabled":true},"fileSystem":null},"scope":"turn"}`},
		{"item/permissions/requestApproval", permissions, harness.AllowAlways, `{"permissions":{"network":{"enabled":true},"fileSystem":null},"scope":"session"}`},
		{"item/permissions/requestApproval", permissions, harness.Deny, `{"permissions":{},"scope":"turn"}`},
		{"mcpServer/elicitation/request", tool, harness.Allow, `{"action":"accept","content":{},"_meta":null}`},
		{"mcpServer/elicitation/request", tool, harness.AllowAlways, `{"action":"accept","content":{},"_meta":{"persist":"session"}}`},
		{"mcpServer/elicitation/request", tool, harness.Deny, `{"action":"decline","content":null,"_meta":null}`},
	} {
		f := running(t)
		f.ask("7", tt.method, tt.members)
		f.step(harness.Resolve{Request: "7", Verdict: harness.Verdict{Decision: tt.decision}})
		f.wrote(`{"id":7,"result":` + tt.want + `}`)
	}
}

// A patch is asked about with what is in it.
func TestFileApproval(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.started(`"type":"fileChange","id":"p","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x"}]`)
	f.ask("1", "item/fileChange/requestApproval", `"itemId":"p","reason":null,"grantRoot":"/srv"`)
	a := last[harness.Asked](f)
	if a.Call != "p" || !strings.Contains(string(a.RawInput), `"diff":"x"`) || !strings.Contains(a.Title, "/srv") || len(a.Locations) != 1 {
		t.Errorf("%+v", a)
	}
}

// An MCP server's tool is asked about by name: the call is the running one that was
// not asked about.
func TestElicitationForATool(t *testing.T) {
	t.Parallel()
	f := running(t)
	for _, id := range []string{"one", "two"} {
		f.started(`"type":"mcpToolCall","id":"` + id + `","server":"lab","tool":"x","arguments":{}`)
	}
	for i, call := range []string{"one", "two", ""} {
		f.ask(fmt.Sprint(i), "mcpServer/elicitation/request", `"serverName":"lab","message":"Allow?","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"x","tool_params":{"a":1}}`)
		a := last[harness.Asked](f)
		if a.Call != call || a.Name != "mcp__lab__x" || a.Always || string(a.RawInput) != `{"a":1}` {
			t.Errorf("%s: %+v", call, a)
		}
	}
}

// A question that yes or no can answer is asked; a form that has to be filled in is
// declined.
func TestOtherElicitations(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.ask("3", "mcpServer/elicitation/request", `"serverName":"lab","mode":"url","url":"http://x","message":"Open it?","_meta":null`)
	if a := last[harness.Asked](f); a.Title != "Open it?" || a.Name != "elicitation" {
		t.Errorf("%+v", a)
	}
	f.forget()
	f.ask("4", "mcpServer/elicitation/request", `"serverName":"lab","mode":"form","message":"Which?","requestedSchema":{"type":"object","required":["colour"]},"_meta":null`)
	none[harness.Asked](f)
	f.wrote(`{"id":4,"result":{"action":"decline","content":null,"_meta":null}}`)
}

// Whatever cannot be answered is refused at once: Codex would wait for ever.
func TestLaw174_everyRequestIsAnswered(t *testing.T) {
	t.Parallel()
	for _, method := range []string{
		"item/tool/call", "item/tool/requestUserInput", "account/chatgptAuthTokens/refresh", "attestation/generate",
		"applyPatchApproval", "execCommandApproval", "from/the/future",
	} {
		f := running(t)
		f.ask("0", method, `"itemId":"c"`)
		none[harness.Asked](f)
		f.wrote(`"id":0`, `"code":-32601`)
	}
	f := running(t)
	f.line(`{"method":"item/commandExecution/requestApproval","id":"x","params":{"threadId":"stranger","itemId":"c"}}`)
	none[harness.Asked](f)
	f.wrote(`{"id":"x","result":{"decision":"decline"}}`)
}

// A request that Codex has settled is taken back, and not answered any more.
func TestSettledRequests(t *testing.T) {
	t.Parallel()
	f := asking(t)
	f.forget()
	f.tell("serverRequest/resolved", `"requestId":0`)
	f.want(harness.Withdrawn{Request: "0"})
	f.step(harness.Resolve{Request: "0"})
	if len(f.written) > 0 {
		t.Errorf("wrote %v", f.written)
	}
	f.tell("serverRequest/resolved", `"requestId":0`)
	f.want()
}

// After a cancel nothing more is shown of a call that waited: what its thread says
// of itself later is of no turn.
func TestCancelledCallStaysCancelled(t *testing.T) {
	t.Parallel()
	f := asking(t)
	f.step(harness.Cancel{})
	f.ends("interrupted")
	if _, ok := stateOfCall(f, "c").(*protocol.CancelledState); !ok {
		t.Errorf("the call is %+v", stateOfCall(f, "c"))
	}
	f.forget()
	f.tell("serverRequest/resolved", `"requestId":0`)
	f.tell("thread/status/changed", `"status":{"type":"active","activeFlags":[]}`)
	none[harness.ToolSet](f)
}

// A call that was refused and never ends is cancelled with its turn.
func TestRefusedCallWithoutAnEnd(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.started(`"type":"fileChange","id":"p","changes":[]`)
	f.ask("0", "item/fileChange/requestApproval", `"itemId":"p"`)
	f.step(harness.Resolve{Request: "0"})
	f.ends("completed")
	if _, ok := stateOfCall(f, "p").(*protocol.CancelledState); !ok {
		t.Errorf("the call is %+v", stateOfCall(f, "p"))
	}
}

func TestNetworkApproval(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.ask("0", "item/commandExecution/requestApproval", `"itemId":"c","command":"curl x","networkApprovalContext":{"host":"x.org","protocol":"https"}`)
	if a := last[harness.Asked](f); !strings.Contains(a.Title, "x.org") || !jsontext.Value(a.RawInput).IsValid() {
		t.Errorf("%+v", a)
	}
}
