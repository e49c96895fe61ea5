package codexexec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"

	"github.com/google/go-cmp/cmp"
)

const (
	threadLine = `{"type":"thread.started","thread_id":"thread"}`
	turnLine   = `{"type":"turn.started"}`
	doneLine   = `{"type":"turn.completed","usage":{"input_tokens":12,"cached_input_tokens":3,"cache_write_input_tokens":2,"output_tokens":5,"reasoning_output_tokens":1}}`
)

// fresh is a translator whose turn has begun.
func fresh(t *testing.T, l harness.Launch) harness.Translator {
	t.Helper()
	tr := New().New(l, func() string { return "id" })
	out := tr.Step(harness.Begin{Turn: "t", Input: protocol.TextInput("hi")})
	if string(out.Stdin) != "hi\n" || !slices.Contains(out.Updates, harness.Update(harness.PromptWritten{})) {
		t.Fatalf("begin gives %+v", out)
	}
	return tr
}

// said are the updates of some lines.
func said(tr harness.Translator, lines ...string) []harness.Update {
	var updates []harness.Update
	for _, line := range lines {
		updates = append(updates, tr.Line([]byte(line)).Updates...)
	}
	return updates
}

// Text comes whole: it is shown as one that streams once.
func TestTextStreamsOnce(t *testing.T) {
	t.Parallel()
	got := said(fresh(t, harness.Launch{}), threadLine, turnLine,
		`{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"hm"}}`,
		`{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"yes"}}`, doneLine)
	want := []harness.Update{
		harness.Created{NativeID: "thread"}, harness.Registered{},
		harness.MessageOpened{}, harness.PartOpened{Part: "item_0", Kind: protocol.PartReasoning},
		harness.TextAppended{Part: "item_0", Text: "hm"},
		harness.PartSet{Part: "item_0", Value: &protocol.ReasoningPart{Text: "hm", State: protocol.StateDone}},
		harness.PartOpened{Part: "item_1", Kind: protocol.PartText}, harness.TextAppended{Part: "item_1", Text: "yes"},
		harness.PartSet{Part: "item_1", Value: &protocol.TextPart{Text: "yes", State: protocol.StateDone}},
		harness.Finished{Reason: protocol.StopEndTurn, Raw: "completed", Tokens: &protocol.TokenUsage{
			Input: 7, Output: 5, Reasoning: new(protocol.Number(1)), Cache: &protocol.CacheUsage{Read: 3, Write: 2},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What Codex tells of a thread that was gone on with is no turn's cost.
func TestTokensOfAnOldThreadAreUnknown(t *testing.T) {
	t.Parallel()
	got := said(fresh(t, harness.Launch{Resume: "thread"}), threadLine, doneLine)
	if diff := cmp.Diff(harness.Update(harness.Created{NativeID: "thread", Resumed: true}), got[0]); diff != "" {
		t.Error(diff)
	}
	if end := got[len(got)-1].(harness.Finished); end.Tokens != nil {
		t.Errorf("tokens %+v", end.Tokens)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, item string
		want       harness.ToolSet
	}{
		{"command", `"type":"command_execution","command":"ls","aggregated_output":"a\n","exit_code":0,"status":"completed"`,
			harness.ToolSet{Name: "command_execution", Kind: protocol.KindExecute, Title: "ls", State: &protocol.CompletedState{
				Input: protocol.Object(`{"command":"ls"}`), Output: "a\n"}}},
		{"command that fails", `"type":"command_execution","command":"ls","aggregated_output":"no\n","exit_code":2,"status":"failed"`,
			harness.ToolSet{Name: "command_execution", Kind: protocol.KindExecute, Title: "ls", State: &protocol.FailedState{
				Input: protocol.Object(`{"command":"ls"}`), Error: "Exit code 2\nno"}}},
		{"file change", `"type":"file_change","changes":[{"path":"/w/a","kind":"add"}],"status":"completed"`,
			harness.ToolSet{Name: "file_change", Kind: protocol.KindEdit, Title: "add a", Locations: []protocol.Location{{Path: "/w/a"}},
				State: &protocol.CompletedState{Input: protocol.Object(`{"changes":[{"path":"/w/a","kind":"add"}]}`), Output: "add /w/a"}}},
		{"mcp tool", `"type":"mcp_tool_call","server":"s","tool":"x","arguments":{"a":1},"result":{"content":[{"type":"text","text":"y"}]},"status":"completed"`,
			harness.ToolSet{Name: "mcp__s__x", Kind: protocol.KindOther, Title: "s: x",
				State: &protocol.CompletedState{Input: protocol.Object(`{"a":1}`), Output: "y"}}},
		{"web search", `"type":"web_search","query":"q"`,
			harness.ToolSet{Name: "web_search", Kind: protocol.KindSearch, Title: "q", State: &protocol.CompletedState{Input: protocol.Object(`{"query":"q"}`)}}},
		{"unknown", `"type":"from_the_future","x":1`,
			harness.ToolSet{Name: "from_the_future", Kind: protocol.KindOther,
				State: &protocol.CompletedState{Input: protocol.Object(`{"id":"i","type":"from_the_future","x":1}`)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := said(fresh(t, harness.Launch{}), threadLine, `{"type":"item.completed","item":{"id":"i",`+tt.item+`}}`)
			tt.want.Call = "id/i"
			if diff := cmp.Diff(harness.Update(tt.want), got[len(got)-1]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A list of steps is a plan.
func TestTodoListIsAPlan(t *testing.T) {
	t.Parallel()
	got := said(fresh(t, harness.Launch{}), `{"type":"item.started","item":{"id":"i","type":"todo_list","items":[{"text":"a","completed":true},{"text":"b","completed":false}]}}`)
	want := `{"type":"plan","entries":[{"content":"a","status":"completed"},{"content":"b","status":"pending"}]}`
	if raw := string(got[0].(harness.PartSet).Value.(*protocol.UnknownPart).Raw); raw != want {
		t.Errorf("got %s", raw)
	}
}

// An error line is the end only where turn.failed says so.
func TestErrorLinesAreNotFinal(t *testing.T) {
	t.Parallel()
	retry := `{"type":"error","message":"Reconnecting... 1/2 (stream disconnected before completion)"}`
	got := said(fresh(t, harness.Launch{}), threadLine, retry, doneLine)
	if n, ok := got[2].(harness.Notice); !ok || n.Category != protocol.CategoryNetwork {
		t.Errorf("the retry gives %+v", got[2:])
	}
	got = said(fresh(t, harness.Launch{}), threadLine, `{"type":"error","message":"no"}`, `{"type":"turn.failed","error":{"message":"no"}}`)
	want := harness.Finished{Reason: protocol.StopError, Raw: "failed", Error: &protocol.TurnError{Category: protocol.CategoryInternal, Message: "no"}}
	if diff := cmp.Diff([]harness.Update{want}, got[2:]); diff != "" {
		t.Errorf("a failure told twice: %s", diff)
	}
}

// A cancel ends the process, and its end is the turn's.
func TestCancelStopsTheProcess(t *testing.T) {
	t.Parallel()
	tr := fresh(t, harness.Launch{})
	said(tr, threadLine, `{"type":"item.started","item":{"id":"i","type":"command_execution","command":"sleep 9"}}`)
	if out := tr.Step(harness.Cancel{}); out.Process != harness.Stop || len(out.Updates) != 0 {
		t.Errorf("cancel gives %+v", out)
	}
	got := tr.Step(harness.Exited{Status: harness.ExitStatus{Code: -1, Signal: "terminated", Asked: true}}).Updates
	want := []harness.Update{
		harness.ToolSet{Call: "id/i", State: &protocol.CancelledState{}},
		harness.Finished{Reason: protocol.StopCancelled, Raw: "stopped"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A process that ends before it names a thread says on stderr why.
func TestExitBeforeTheThread(t *testing.T) {
	t.Parallel()
	exit := harness.Exited{Status: harness.ExitStatus{Code: 1, Stderr: "Reading…\nError: no rollout found\n"}}
	got := fresh(t, harness.Launch{Resume: "x"}).Step(exit).Updates
	if diff := cmp.Diff([]harness.Update{harness.ResumeFailed{Message: "Error: no rollout found"}}, got); diff != "" {
		t.Error(diff)
	}
	got = fresh(t, harness.Launch{}).Step(exit).Updates
	want := harness.Rejected{Error: protocol.TurnError{Category: protocol.CategoryInternal, Message: "Error: no rollout found"}}
	if diff := cmp.Diff([]harness.Update{want}, got); diff != "" {
		t.Error(diff)
	}
}

// A process runs one turn; the next has one of its own, which goes on with the
// thread.
func TestOneProcessATurn(t *testing.T) {
	t.Parallel()
	s := newStage(t, protocol.RunConfig{})
	s.start()
	s.line(threadLine, turnLine)
	if out := s.step(session.NativeLine{Gen: 1, Line: []byte(doneLine)}); out.Stop == nil {
		t.Error("the process is not let go")
	}
	out := s.step(session.StartTurn{Token: 2, TurnID: "next", Input: protocol.TextInput("more"), Config: s.cfg})
	if out.Spawn == nil || out.Spawn.Launch.Resume != "thread" || !out.Spawn.Command.StdinOnce {
		t.Errorf("the next turn spawns %+v", out.Spawn)
	}
	s.line(threadLine, doneLine)
	s.finish()
}

// An image is refused: Codex would never see it.
func TestImagesAreRefused(t *testing.T) {
	t.Parallel()
	tr := New().New(harness.Launch{}, func() string { return "id" })
	out := tr.Step(harness.Begin{Input: protocol.Input{Items: []protocol.InputItem{{Type: protocol.InputImage, Data: new("AAAA")}}}})
	if r, ok := out.Updates[0].(harness.Rejected); !ok || r.Error.Category != protocol.CategoryInvalidRequest || out.Stdin != nil {
		t.Errorf("got %+v", out)
	}
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	l := harness.Launch{Resume: "thread", Config: protocol.RunConfig{
		Model: new("m"), ThinkingLevel: protocol.ThinkingOff, PermissionMode: protocol.ModePlan,
		SystemPromptAppend: new("be \"brief\"\x7f"), AdditionalDirectories: []string{"/a"}, APIKey: new("secret"),
		Env: map[string]string{"K": "secret"},
	}}
	got, err := New().Launch(l)
	want := []string{"exec", "--json", "--skip-git-repo-check", "--sandbox=read-only", "-c", `approval_policy="never"`, "--model=m",
		"-c", `model_reasoning_effort="minimal"`, "-c", `developer_instructions="be \"brief\"\u007f"`, "--add-dir=/a", "resume", "thread", "-"}
	if diff := cmp.Diff(want, got.Args); diff != "" || err != nil || !got.StdinOnce {
		t.Errorf("%v %s", err, diff)
	}
	for mode, sandbox := range map[protocol.PermissionMode]string{
		"": "workspace-write", protocol.ModeDefault: "workspace-write", protocol.ModeAcceptEdits: "workspace-write",
		protocol.ModeDontAsk: "workspace-write", protocol.ModeBypassPermissions: "danger-full-access",
	} {
		got, _ := New().Launch(harness.Launch{Config: protocol.RunConfig{PermissionMode: mode}})
		if !slices.Contains(got.Args, "--sandbox="+sandbox) {
			t.Errorf("%s runs with %v", mode, got.Args)
		}
	}
	if _, err := New().Launch(harness.Launch{Resume: "--last"}); err == nil {
		t.Error("a native id that is a flag is taken")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	faults, notes := New().Check(protocol.RunConfig{
		MaxTurns: new(int64(1)), DisableTools: new(true), AdditionalDirectories: []string{"rel"},
		ResumeSessionID: new("x"), ResumeSessionAt: new("y"), MCPServers: map[string]protocol.MCPServer{"s": {}},
	})
	got := fmt.Sprint(faults, notes)
	for _, want := range []string{"config.maxTurns", "config.disableTools", "config.additionalDirectories.0", "resumeSessionAt", "mcpServers"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if faults, notes := New().Check(protocol.RunConfig{DisableTools: new(false)}); len(faults)+len(notes) > 0 {
		t.Errorf("a plain config gives %v %v", faults, notes)
	}
}

func TestCategories(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]protocol.ErrorCategory{
		"unexpected status 401 Unauthorized: x":                    protocol.CategoryAuth,
		"exceeded retry limit, last status: 429 Too Many Requests": protocol.CategoryRateLimit,
		"unexpected status 503":                                    protocol.CategoryUpstream,
		"Codex ran out of room in the model's context window.":     protocol.CategoryContextLimit,
		"You've hit your usage limit.":                             protocol.CategoryUsageLimit,
		`{"error":{"message":"Unsupported parameter: foo."}}`:      protocol.CategoryInvalidRequest,
		"stream disconnected before completion: x":                 protocol.CategoryNetwork,
		"Missing environment variable: `KEY`.":                     protocol.CategoryAuth,
		"something else":                                           protocol.CategoryInternal,
	} {
		if got := categoryOf(message); got != want {
			t.Errorf("%q is %s, want %s", message, got, want)
		}
	}
}
