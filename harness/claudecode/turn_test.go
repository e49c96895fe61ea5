package claudecode

import (
	"strings"
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

const (
	started = `{"type":"command_lifecycle","command_uuid":"id-1","state":"started"}`
	inited  = `{"type":"system","subtype":"init","session_id":"native","user_message_uuids":["id-1"]}`
)

// prompted is a translator whose first prompt was written, and not taken yet.
func prompted(t *testing.T, l harness.Launch) *translator {
	t.Helper()
	tr := New(Options{}).New(l, ids()).(*translator)
	beginHello(tr, l.Config)
	feed(tr, greeted)
	return tr
}

func TestRegisteredAndCreated(t *testing.T) {
	t.Parallel()
	created := harness.Created{NativeID: "native"}
	for _, tc := range []struct {
		name   string
		launch harness.Launch
		lines  []string
		want   []harness.Update
	}{
		{"queued is not yet taken", harness.Launch{}, []string{`{"type":"command_lifecycle","command_uuid":"id-1","state":"queued"}`}, nil},
		{"started", harness.Launch{}, []string{started}, []harness.Update{harness.Registered{}}},
		{"another prompt's", harness.Launch{}, []string{`{"type":"command_lifecycle","command_uuid":"x","state":"started"}`}, nil},
		{"each once", harness.Launch{}, []string{started, inited, inited}, []harness.Update{harness.Registered{}, created}},
		{"init alone", harness.Launch{}, []string{inited}, []harness.Update{harness.Registered{}, created}},
		{"init of an older CLI", harness.Launch{}, []string{`{"type":"system","subtype":"init","session_id":"native"}`}, []harness.Update{harness.Registered{}, created}},
		{"init of another prompt", harness.Launch{}, []string{`{"type":"system","subtype":"init","session_id":"native","user_message_uuids":["x"]}`}, nil},
		{"resumed", harness.Launch{Resume: "native"}, []string{started, inited}, []harness.Update{harness.Registered{}, harness.Created{NativeID: "native", Resumed: true}}},
		{"cleared at once", harness.Launch{Resume: "old"},
			[]string{started, `{"type":"conversation_reset","new_conversation_id":"not this","trigger":"clear"}`, inited},
			[]harness.Update{harness.Registered{}, created}},
		{"result without init", harness.Launch{}, []string{`{"type":"result","subtype":"success","session_id":"native","user_message_uuids":["id-1"]}`},
			[]harness.Update{created, harness.Finished{Reason: protocol.StopEndTurn, Raw: "success"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			wantUpdates(t, feed(prompted(t, tc.launch), tc.lines...), tc.want...)
		})
	}
}

// Only the first turn of a process tells that it went on with another's work.
func TestResumedIsSaidOnce(t *testing.T) {
	t.Parallel()
	tr := prompted(t, harness.Launch{Resume: "native"})
	feed(tr, started, inited, `{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`)
	beginHello(tr, protocol.RunConfig{})
	wantUpdates(t, feed(tr, `{"type":"system","subtype":"init","session_id":"native","user_message_uuids":["id-3"]}`),
		harness.Registered{}, harness.Created{NativeID: "native"})
}

// The end of a prompt's life cycle follows its result, so it may come into the
// next turn, and it is never that turn's end.
func TestLifecycleOfTheTurnBefore(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, `{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`)
	beginHello(tr, protocol.RunConfig{})
	out := feed(tr, `{"type":"command_lifecycle","command_uuid":"id-1","state":"completed"}`)
	if len(out.Updates)+len(out.Timers)+len(out.Diagnostics) > 0 {
		t.Errorf("%v", out)
	}
}

// Where the life cycle ends and no result comes, the turn must end all the same.
func TestTurnWithoutAResult(t *testing.T) {
	t.Parallel()
	for state, reason := range map[string]protocol.StopReason{"completed": protocol.StopEndTurn, "cancelled": protocol.StopCancelled} {
		tr := running(t)
		out := feed(tr, `{"type":"command_lifecycle","command_uuid":"id-1","state":"`+state+`"}`)
		wantUpdates(t, out)
		if diff := cmp.Diff([]harness.Timer{{Name: "settle", After: 2 * time.Second}}, out.Timers); diff != "" {
			t.Errorf("timers (-want +got):\n%s", diff)
		}
		wantUpdates(t, tr.Step(harness.Expired{Timer: "settle"}), harness.Finished{Reason: reason, Raw: state})
		wantUpdates(t, tr.Step(harness.Expired{Timer: "settle"}))
	}
}

// A result that comes in that time is the end, and the timer is stopped.
func TestLateResult(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, `{"type":"command_lifecycle","command_uuid":"id-1","state":"completed"}`)
	out := feed(tr, `{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`)
	wantUpdates(t, out, harness.Finished{Reason: protocol.StopEndTurn, Raw: "success"})
	if diff := cmp.Diff([]harness.Timer{{Name: "settle"}}, out.Timers); diff != "" {
		t.Errorf("timers (-want +got):\n%s", diff)
	}
	wantUpdates(t, tr.Step(harness.Expired{Timer: "settle"}))
}

func TestCancelInterrupts(t *testing.T) {
	t.Parallel()
	tr := running(t)
	out := tr.Step(harness.Cancel{})
	wantUpdates(t, out)
	wantStdin(t, out, `{"type":"control_request","request_id":"id-3","request":{"subtype":"interrupt"}}`)
	// An acknowledged interrupt is no end yet.
	wantUpdates(t, succeed(tr, "id-3", `{"still_queued":[]}`))
	wantUpdates(t, feed(tr, `{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","user_message_uuids":["id-1"]}`),
		harness.Finished{Reason: protocol.StopCancelled, Raw: "aborted_streaming"})
}

func TestCancelThatTheCLIRefuses(t *testing.T) {
	t.Parallel()
	tr := running(t)
	tr.Step(harness.Cancel{})
	if out := refuse(tr, "id-3", "no"); len(out.Diagnostics) != 1 || len(out.Updates) > 0 {
		t.Errorf("%v", out)
	}
}

func TestCancelOfNothing(t *testing.T) {
	t.Parallel()
	if out := fresh(t, protocol.RunConfig{}).Step(harness.Cancel{}); len(out.Diagnostics) != 1 || out.Stdin != nil {
		t.Errorf("%v", out)
	}
}

func TestExited(t *testing.T) {
	t.Parallel()
	resume := harness.Launch{Resume: "old"}
	rejected := func(c protocol.ErrorCategory, why string) []harness.Update {
		return []harness.Update{harness.Rejected{Error: protocol.TurnError{Category: c, Message: why}}}
	}
	for _, tc := range []struct {
		name   string
		launch harness.Launch
		status harness.ExitStatus
		want   []harness.Update
	}{
		{"crash", harness.Launch{}, harness.ExitStatus{Code: -1, Signal: "killed"}, nil},
		{"crash with words", harness.Launch{}, harness.ExitStatus{Code: 1, Stderr: "panic: out of luck\n"}, nil},
		{"asked to", resume, harness.ExitStatus{Code: 1, Asked: true, Stderr: "No conversation found"}, nil},
		{"bad flag", harness.Launch{}, harness.ExitStatus{Code: 1, Stderr: "error: unknown option '--x'\n"},
			rejected(protocol.CategoryInvalidRequest, "error: unknown option '--x'")},
		{"bypass as root", harness.Launch{}, harness.ExitStatus{Code: 1, Stderr: "warning\n--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons\n\n"},
			rejected(protocol.CategoryInvalidRequest, "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons")},
		{"no login", harness.Launch{}, harness.ExitStatus{Code: 1, Stderr: "Not logged in · Please run /login"},
			rejected(protocol.CategoryAuth, "Not logged in · Please run /login")},
		{"session in use", resume, harness.ExitStatus{Code: 1, Stderr: "Error: Session ID old is already in use.\n"},
			[]harness.Update{harness.ResumeFailed{InUse: true, Message: "Error: Session ID old is already in use."}}},
		{"fresh id in use", harness.Launch{NativeID: "n"}, harness.ExitStatus{Code: 1, Stderr: "Error: Session ID n is already in use.\n"},
			rejected(protocol.CategoryInvalidRequest, "Error: Session ID n is already in use.")},
		{"unknown session", resume, harness.ExitStatus{Code: 1, Stderr: "No conversation found with session ID: old\n"},
			[]harness.Update{harness.ResumeFailed{Message: "No conversation found with session ID: old"}}},
		{"unknown place", resume, harness.ExitStatus{Code: 1, Stderr: "No message found with message.uuid of: x\n"},
			[]harness.Update{harness.ResumeFailed{Message: "No message found with message.uuid of: x"}}},
		{"such words without a resume", harness.Launch{}, harness.ExitStatus{Code: 1, Stderr: "No conversation found\n"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := New(Options{}).New(tc.launch, ids()).(*translator)
			beginHello(tr, protocol.RunConfig{})
			wantUpdates(t, tr.Step(harness.Exited{Status: tc.status}), tc.want...)
		})
	}
}

// Once the prompt is out, an exit is the machine's to tell, whatever stderr says.
func TestExitedInMidTurn(t *testing.T) {
	t.Parallel()
	wantUpdates(t, running(t).Step(harness.Exited{Status: harness.ExitStatus{Code: 1, Stderr: "error: unknown option"}}))
}

// The code is 1 after a failed turn as well: no crash.
func TestExitedBetweenTurns(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, `{"type":"result","is_error":true,"terminal_reason":"api_error","user_message_uuids":["id-1"]}`)
	wantUpdates(t, tr.Step(harness.Exited{Status: harness.ExitStatus{Code: 1, Stderr: "unknown option"}}))
}

// The line that an unknown session gives comes before its exit.
func TestStartupResult(t *testing.T) {
	t.Parallel()
	const line = `{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":["No conversation found with session ID: old"]}`
	tr := New(Options{}).New(harness.Launch{Resume: "old"}, ids()).(*translator)
	beginHello(tr, protocol.RunConfig{})
	wantUpdates(t, feed(tr, line), harness.ResumeFailed{Message: "No conversation found with session ID: old"})
	wantUpdates(t, tr.Step(harness.Exited{Status: harness.ExitStatus{Code: 1, Stderr: "No conversation found"}}))

	tr = fresh(t, protocol.RunConfig{})
	beginHello(tr, protocol.RunConfig{})
	wantUpdates(t, feed(tr, line), harness.Rejected{Error: protocol.TurnError{
		Category: protocol.CategoryInternal, Message: "No conversation found with session ID: old"}})
}

func TestLinesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", "[log_723e74] sending request {", "\x1b[31mred\x1b[0m", "null", "[]", `"x"`, "{", `{"type":"resu`,
		"{}", `{"type":7}`, `{"type":""}`, `{"type":null}`, `{"type":"something_new","secret":"payload"}`,
		`{"type":"system","subtype":"something_new"}`, `{"type":"stream_event","event":{"type":"something_new"}}`,
		`{"type":"command_lifecycle","command_uuid":"id-1","state":"something_new"}`,
		`{"type":"assistant","message":{"id":"m","content":[{"type":"something_new"}]}}`,
	} {
		out := feed(running(t), line)
		if len(out.Updates) > 0 || out.Stdin != nil || len(out.Diagnostics) != 1 {
			t.Errorf("%q: %v", line, out)
		}
	}
}

// What another program writes must not reach the log as it is.
func TestDiagnosticsAreShortAndClean(t *testing.T) {
	t.Parallel()
	out := feed(running(t), `{"type":"a\n\u001b[31m bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}`)
	if got := out.Diagnostics[0].Detail; len(got) != 40 || got[:4] != "a???" {
		t.Errorf("detail %q", got)
	}
}

// Known hints are passed over in silence: some come with every delta.
func TestLinesThatAreIgnored(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"type":"keep_alive"}`,
		`{"type":"system","subtype":"thinking_tokens","estimated_tokens":3}`,
		`{"type":"system","subtype":"session_state_changed","state":"idle"}`,
		`{"type":"system","subtype":"status","status":"requesting"}`,
		`{"type":"system","subtype":"permission_denied","tool_name":"Bash"}`,
		`{"type":"tool_progress","tool_use_id":"t-heartbeat-0","parent_tool_use_id":"t"}`,
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning"}}`,
		`{"type":"stream_event","event":{"type":"ping"}}`,
		`{"type":"stream_event","event":{"type":"content_block_stop","index":0}}`,
		`{"type":"stream_event","event":{"type":"message_start"},"parent_tool_use_id":"toolu"}`,
		`{"type":"user","isReplay":true,"message":{"content":"<local-command-stdout>Set model</local-command-stdout>"}}`,
		`{"type":"user","isSynthetic":true,"message":{"content":"Output token limit hit."}}`,
		`{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`,
		`{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}`,
	} {
		out := feed(running(t), line)
		if len(out.Updates)+len(out.Stdin)+len(out.Diagnostics)+len(out.Timers) > 0 {
			t.Errorf("%s: %v", line, out)
		}
	}
}

// A lost line is told; if it was the result, the life cycle ends the turn.
func TestDroppedLine(t *testing.T) {
	t.Parallel()
	out := running(t).Step(harness.Dropped{Bytes: 99})
	if len(out.Diagnostics) != 1 || out.Diagnostics[0].Detail != "99 bytes" || len(out.Updates) > 0 {
		t.Errorf("%v", out)
	}
}

// What is said in no turn, and by no background task, is not shown, and not taken
// for the next turn's.
func TestLinesOutsideATurn(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, `{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`)
	out := feed(tr,
		`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m"}}}`,
		`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text"}}}`,
		textDelta,
		`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"x"}]}}`,
		`{"type":"user","parent_tool_use_id":"t","message":{"content":[{"type":"text","text":"x"}]}}`,
		`{"type":"system","subtype":"api_retry"}`,
		`{"type":"system","subtype":"status","status":"compacting"}`,
		`{"type":"system","subtype":"compact_boundary"}`,
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}`,
		`{"type":"result","subtype":"success","origin":{"kind":"task-notification"}}`,
	)
	wantUpdates(t, out)
}

// With a turn open, the result of a turn that nobody began is not its end.
func TestResultOfAnotherPrompt(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"type":"result","subtype":"success","user_message_uuids":["x"]}`,
		`{"type":"result","subtype":"success","user_message_uuid":"x"}`,
		`{"type":"result","subtype":"success","origin":{"kind":"task-notification"}}`,
	} {
		wantUpdates(t, feed(running(t), line))
	}
	for _, line := range []string{
		`{"type":"result","subtype":"success","user_message_uuid":"id-1"}`,
		`{"type":"result","subtype":"success","user_message_uuids":["x","id-1"]}`,
		`{"type":"result","subtype":"success"}`,
	} {
		wantUpdates(t, feed(running(t), line), harness.Finished{Reason: protocol.StopEndTurn, Raw: "success"})
	}
}

// A session may last for days: what a turn was counted by goes with it.
func TestTurnLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	tr := called(t, "Bash", `{}`)
	feed(tr, assistant("m", `{"type":"text","text":"a"}`), result(`"content":"x"`, ``),
		messageStart("n"), blockStart("0", bashBegins), `{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`)
	if len(tr.blocks)+len(tr.calls)+len(tr.asks)+len(tr.awaited) > 0 || tr.turn != nil || tr.stream != nil {
		t.Errorf("left: %v %v %v %v", tr.blocks, tr.calls, tr.asks, tr.awaited)
	}
}

// What the CLI said last is bounded, and text.
func TestReasonIsBounded(t *testing.T) {
	t.Parallel()
	tr := New(Options{}).New(harness.Launch{Resume: "native"}, ids())
	tr.Step(harness.Begin{Turn: "t", Input: protocol.TextInput("hello")})
	out := tr.Step(harness.Exited{Status: harness.ExitStatus{Code: 1, Stderr: "No conversation found \xff" + strings.Repeat("é", 400)}})
	want := "No conversation found " + strings.Repeat("é", 238)
	wantUpdates(t, out, harness.ResumeFailed{Message: want})
}
