package claudecode

import (
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// Lines of a sub-agent in the background, as the CLI writes them.
const (
	launchedCall = `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Agent","input":{"description":"Look"}}]}}`
	tasksOne     = `{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"a1","task_type":"local_agent","description":"Look"}]}`
	taskStarted  = `{"type":"system","subtype":"task_started","task_id":"a1","tool_use_id":"t1","description":"Look","task_type":"local_agent","is_backgrounded":true}`
	launched     = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"Async agent launched"}]},"tool_use_result":{"status":"async_launched"}}`
	endedOne     = `{"type":"result","subtype":"success","terminal_reason":"completed","stop_reason":"end_turn","user_message_uuids":["id-1"]}`
	subSays      = `{"type":"assistant","parent_tool_use_id":"t1","agent_id":"a1","message":{"id":"s","content":[{"type":"text","text":"seen"}]}}`
	taskEnded    = `{"type":"system","subtype":"task_notification","task_id":"a1","tool_use_id":"t1","status":"completed","summary":"seen"}`
	tasksNone    = `{"type":"system","subtype":"background_tasks_changed","tasks":[]}`
	woken        = `{"type":"system","subtype":"init","session_id":"native"}`
	wokenEnds    = `{"type":"result","subtype":"success","terminal_reason":"completed","stop_reason":"end_turn","session_id":"native","origin":{"kind":"task-notification"}}`
)

// behind is a translator whose turn has ended while a sub-agent runs on.
func behind(t *testing.T) *translator {
	t.Helper()
	tr := running(t)
	feed(tr, launchedCall, tasksOne, taskStarted, launched, endedOne)
	if tr.turn != nil {
		t.Fatal("the turn has not ended")
	}
	return tr
}

// The set comes before it is known which call started a task, and is told again.
func TestBackgroundNamesItsCalls(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, launchedCall)
	wantUpdates(t, feed(tr, tasksOne), harness.Background{Tasks: []harness.Task{{ID: "a1", Description: "Look"}}})
	agent := &protocol.Subagent{Description: new("Look"), AgentID: new("a1")}
	wantUpdates(t, feed(tr, taskStarted),
		harness.ToolSet{Call: "t1", Subagent: agent},
		harness.Background{Tasks: []harness.Task{{ID: "a1", Call: "t1", Description: "Look"}}})
	wantUpdates(t, feed(tr, tasksNone), harness.Background{})
}

// Where the call is known before (a command that was moved there), once is enough.
func TestBackgroundOfAKnownCall(t *testing.T) {
	t.Parallel()
	wantUpdates(t, feed(running(t), taskStarted, tasksOne),
		harness.Background{Tasks: []harness.Task{{ID: "a1", Call: "t1", Description: "Look"}}})
}

// What a sub-agent in the background says between the turns is told with its owner.
func TestSubagentSpeaksBetweenTurns(t *testing.T) {
	t.Parallel()
	tr := behind(t)
	wantUpdates(t, feed(tr, subSays), harness.PartSet{Part: "s:whole:0", Owner: "t1", Role: protocol.RoleAssistant,
		Value: &protocol.TextPart{Text: "seen", State: protocol.StateDone}})
	out := feed(tr, `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"agent_id":"a1"}}`)
	if len(out.Updates) != 1 || out.Updates[0].(harness.Asked).Owner != "t1" {
		t.Errorf("updates %v", out.Updates)
	}
	// With nothing in the background it is the last word of one that was stopped.
	feed(tr, tasksNone)
	wantUpdates(t, feed(tr, subSays))
}

// Law 160: a native turn that no prompt of ours began is told as woken, and its
// result ends it; what woke it is named.
func TestLaw160_wokenEndsWithItsResult(t *testing.T) {
	t.Parallel()
	tr := behind(t)
	feed(tr, taskEnded, tasksNone)
	wantUpdates(t, feed(tr, woken), harness.Woken{Trigger: "Look"}, harness.Registered{}, harness.Created{NativeID: "native"})
	wantUpdates(t, feed(tr, `{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"It has looked."}]}}`),
		harness.MessageOpened{Message: "m2"},
		harness.PartSet{Part: "m2:whole:0", Role: protocol.RoleAssistant, Value: &protocol.TextPart{Text: "It has looked.", State: protocol.StateDone}})
	wantUpdates(t, feed(tr, wokenEnds), harness.Finished{Reason: protocol.StopEndTurn, Raw: "end_turn"})
	wantUpdates(t, feed(tr, woken), harness.Woken{}, harness.Registered{}, harness.Created{NativeID: "native"})
}

// Before the first prompt an init wakes nobody: older CLIs begin with one.
func TestInitBeforeAnyPrompt(t *testing.T) {
	t.Parallel()
	wantUpdates(t, feed(fresh(t, protocol.RunConfig{}), woken))
}

// A result that is lost is made up for by the CLI being idle.
func TestWokenWithoutAResult(t *testing.T) {
	t.Parallel()
	tr := behind(t)
	feed(tr, woken)
	const state = `{"type":"system","subtype":"session_state_changed","state":"`
	wantTimers(t, feed(tr, state+`idle"}`), harness.Timer{Name: "settle", After: 2 * time.Second})
	wantTimers(t, feed(tr, state+`running"}`), harness.Timer{Name: "settle"})
	wantUpdates(t, tr.Step(harness.Expired{Timer: "settle"}))
	feed(tr, state+`idle"}`)
	wantUpdates(t, tr.Step(harness.Expired{Timer: "settle"}), harness.Finished{Reason: protocol.StopEndTurn, Raw: "idle"})
}

// Law 163: what a background task asks outlives the turn that it was asked in. It
// is taken back with that turn and asked again behind it, and one answer reaches
// the CLI.
func TestLaw163_askedAgainBehindTheTurn(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, launchedCall, tasksOne, taskStarted, launched,
		`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"agent_id":"a1"}}`)
	asked := harness.Asked{Request: "id-3", Owner: "t1", Name: "Bash", Kind: protocol.KindExecute, Title: "ls",
		RawInput: protocol.Object(`{"command":"ls"}`), InputSlot: true}
	wantUpdates(t, feed(tr, endedOne), harness.Withdrawn{Request: "r"}, harness.Finished{Reason: protocol.StopEndTurn, Raw: "end_turn"}, asked)
	wantStdin(t, tr.Step(harness.Resolve{Request: "id-3", Verdict: harness.Verdict{Decision: harness.Allow}}),
		answer(`{"behavior":"allow","updatedInput":{"command":"ls"}}`))
}

// The CLI takes it back by the id that it knows.
func TestAskedAgainAndWithdrawn(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, launchedCall, tasksOne, taskStarted, launched,
		`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"agent_id":"a1"}}`, endedOne)
	wantUpdates(t, feed(tr, `{"type":"control_cancel_request","request_id":"r"}`), harness.Withdrawn{Request: "id-3"})
}

// In a prompt's turn that state may be of the turn before.
func TestIdleInATurn(t *testing.T) {
	t.Parallel()
	wantTimers(t, feed(running(t), `{"type":"system","subtype":"session_state_changed","state":"idle"}`))
}

func wantTimers(t *testing.T, out harness.Output, want ...harness.Timer) {
	t.Helper()
	if diff := cmp.Diff(want, out.Timers); diff != "" {
		t.Errorf("timers (-want +got):\n%s", diff)
	}
}

// Law 161: what the CLI does of its own accord never ends a prompt's turn, and costs
// what it costs there.
func TestLaw161_foreignResultEndsNothing(t *testing.T) {
	t.Parallel()
	const since = `,"model_usage_since_last_result":{"x":{"inputTokens":10,"outputTokens":1,"costUSD":0.5}}}`
	tr := behind(t)
	beginHello(tr, protocol.RunConfig{})
	out := feed(tr, woken,
		`{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"of its own"}]}}`,
		`{"type":"result","subtype":"success","terminal_reason":"completed","origin":{"kind":"task-notification"}`+since)
	for _, u := range out.Updates {
		switch u.(type) {
		case harness.Woken, harness.Finished, harness.Registered:
			t.Errorf("%T in a prompt's turn", u)
		}
	}
	out = feed(tr, `{"type":"command_lifecycle","command_uuid":"id-3","state":"started"}`,
		`{"type":"result","subtype":"success","terminal_reason":"completed","stop_reason":"end_turn","user_message_uuids":["id-3"]`+since)
	end := out.Updates[len(out.Updates)-1].(harness.Finished)
	if end.Tokens.Input != 20 || end.Tokens.Output != 2 || *end.Cost != 1 {
		t.Errorf("cost %v, tokens %+v", *end.Cost, end.Tokens)
	}
}

// A prompt that is not written yet is no start-up that failed.
func TestForeignResultBeforeThePrompt(t *testing.T) {
	t.Parallel()
	tr := behind(t)
	tr.mode = "plan" // so that the prompt waits
	beginHello(tr, protocol.RunConfig{})
	if tr.turn.written {
		t.Fatal("the prompt did not wait")
	}
	for _, u := range feed(tr, woken, wokenEnds).Updates {
		t.Errorf("%T", u)
	}
}

// While the CLI is at something else the prompt waits there, and a cancel takes it
// out of the queue: its life cycle ends it, for it has no result.
func TestCancelOfAWaitingPrompt(t *testing.T) {
	t.Parallel()
	tr := behind(t)
	beginHello(tr, protocol.RunConfig{})
	wantUpdates(t, feed(tr, woken, `{"type":"command_lifecycle","command_uuid":"id-3","state":"queued"}`), harness.Registered{})
	wantStdin(t, tr.Step(harness.Cancel{}),
		`{"type":"control_request","request_id":"id-4","request":{"subtype":"interrupt","cancel_queued":true}}`)
	out := feed(tr, `{"type":"command_lifecycle","command_uuid":"id-3","state":"cancelled"}`,
		`{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","origin":{"kind":"task-notification"}}`)
	wantUpdates(t, out, harness.Finished{Reason: protocol.StopCancelled, Raw: "cancelled"})
}

// The call of a sub-agent that was stopped in the background ends as cancelled, after
// its turn, without the mark that others have.
func TestToolStoppedInTheBackground(t *testing.T) {
	t.Parallel()
	tr := behind(t)
	feed(tr, `{"type":"assistant","parent_tool_use_id":"t1","agent_id":"a1","message":{"id":"s","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"sleep 9"}}]}}`, tasksNone)
	wantUpdates(t, feed(tr, `{"type":"user","parent_tool_use_id":"t1","agent_id":"a1","tool_use_result":"User rejected tool use",
		"message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"The user doesn't want to proceed"}]}}`),
		harness.ToolSet{Call: "t2", Owner: "t1", State: &protocol.CancelledState{}})
}

// With the main agent idle a cancel stops each task.
func TestCancelBetweenTurnsStopsTasks(t *testing.T) {
	t.Parallel()
	tr := behind(t)
	wantStdin(t, tr.Step(harness.Cancel{}),
		`{"type":"control_request","request_id":"id-3","request":{"subtype":"interrupt"}}`,
		`{"type":"control_request","request_id":"id-4","request":{"subtype":"stop_task","task_id":"a1"}}`)
	if out := refuse(tr, "id-4", "no such task"); len(out.Diagnostics) != 1 || out.Diagnostics[0].Message != "stop_task was refused" {
		t.Errorf("%v", out.Diagnostics)
	}
	wantUpdates(t, succeed(tr, "id-3", `{}`))
}

// A cancel of what the CLI does of its own accord is an interrupt like any other.
func TestCancelOfWoken(t *testing.T) {
	t.Parallel()
	tr := behind(t)
	feed(tr, woken)
	wantStdin(t, tr.Step(harness.Cancel{}), `{"type":"control_request","request_id":"id-3","request":{"subtype":"interrupt"}}`)
	wantUpdates(t, feed(tr, `{"type":"result","is_error":true,"subtype":"error_during_execution","terminal_reason":"aborted_tools","origin":{"kind":"task-notification"}}`),
		harness.Finished{Reason: protocol.StopCancelled, Raw: "aborted_tools"})
}
