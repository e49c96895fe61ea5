package acp

import (
	"slices"
	"strings"
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/protocol"
)

// quirky is a fake with quirks whose first turn runs.
func quirky(t *testing.T, q Quirks) *fake {
	t.Helper()
	f := newFake(t, Agent{ID: "agent", Quirks: q}, harness.Launch{Config: config()}, nil)
	f.begin(config())
	f.forget()
	return f
}

const askAlways = `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c","title":"x"},` +
	`"options":[{"optionId":"a","name":"A","kind":"allow_always"},{"optionId":"o","name":"O","kind":"allow_once"}]}}`

// TestAlwaysOnDisk: the harness is not given an "always" that it would keep beyond
// the session.
func TestAlwaysOnDisk(t *testing.T) {
	t.Parallel()
	for onDisk, want := range map[bool]bool{false: true, true: false} {
		f := quirky(t, Quirks{AlwaysOnDisk: onDisk})
		f.line(askAlways)
		i := slices.IndexFunc(f.updates, func(u harness.Update) bool { _, is := u.(harness.Asked); return is })
		if i < 0 || f.updates[i].(harness.Asked).Always != want {
			t.Errorf("on disk %v: %+v", onDisk, f.updates)
		}
	}
}

// TestNoReopen: an old session is not even tried.
func TestNoReopen(t *testing.T) {
	t.Parallel()
	f := newFake(t, Agent{ID: "agent", Quirks: Quirks{NoReopen: true}}, harness.Launch{Config: config(), Resume: "old"},
		map[string]string{"initialize": `"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}`})
	f.begin(config())
	if len(f.updates) != 1 {
		t.Fatalf("told %v", story(f.updates))
	}
	if u, is := f.updates[0].(harness.ResumeFailed); !is || u.InUse {
		t.Errorf("told %v", story(f.updates))
	}
}

// TestErrorText: a failure told as text is one; words alone never make one where
// the agent counts its tokens, or is not known to do so.
func TestErrorText(t *testing.T) {
	t.Parallel()
	say := func(text string) string {
		return `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`
	}
	const end, counted = `"result":{"stopReason":"end_turn"}`, `"result":{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}`
	for name, c := range map[string]struct {
		quirk  bool
		texts  []string
		answer string
		want   string
	}{
		"failed":                 {true, []string{say("Info: retrying"), say("Error: status 429")}, end, "finished error raw=end_turn error=rate_limit: Error: status 429"},
		"an error and more text": {true, []string{say("Error: no"), say(" but it went on")}, end, "finished end_turn raw=end_turn"},
		"with figures":           {true, []string{say("Error: no")}, counted, `finished end_turn raw=end_turn tokens={"input":1,"output":2}`},
		"another agent":          {false, []string{say("Error: no")}, end, "finished end_turn raw=end_turn"},
		"a quotation":            {true, []string{say("It said Error: no")}, end, "finished end_turn raw=end_turn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := quirky(t, Quirks{ErrorText: c.quirk})
			f.update(c.texts...)
			f.answer("session/prompt", c.answer)
			told := story(f.updates)
			expect(t, "the last told", told[len(told)-1:], c.want)
		})
	}
}

// TestGrace: what comes late still belongs to its turn; nothing new begins.
func TestGrace(t *testing.T) {
	t.Parallel()
	f := quirky(t, Quirks{Grace: time.Second})
	f.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"first"}}`)
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	if len(f.timers) != 1 || f.timers[0] != (harness.Timer{Name: graceTimer, After: time.Second}) {
		t.Fatalf("timers %v", f.timers)
	}
	f.forget()
	f.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":" late"}}`)
	f.step(harness.Cancel{})
	f.line(askAlways)
	if len(f.sent()) != 1 || !strings.Contains(f.sent()[0], "cancelled") {
		t.Errorf("written %q, want the late request refused and nothing more", f.sent())
	}
	f.step(harness.Expired{Timer: graceTimer})
	f.step(harness.Expired{Timer: graceTimer})
	expect(t, "told", story(f.updates), `part-2 + " late"`, `part-2 = text "" done`, "finished end_turn raw=end_turn")
}

// TestGraceEndsWithTheProcess: the turn was answered, so it did not fail.
func TestGraceEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	f := quirky(t, Quirks{Grace: time.Second})
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	f.step(harness.Exited{})
	expect(t, "told", story(f.updates), "finished end_turn raw=end_turn")
}

// TestKeyAuthMethod: a login by key is tried once, where the agent wants one.
func TestKeyAuthMethod(t *testing.T) {
	t.Parallel()
	f := newFake(t, Agent{ID: "agent", KeyAuthMethod: "key"}, harness.Launch{Config: config()}, map[string]string{
		"session/new": `"error":{"code":-32000,"message":"Authentication required"}`})
	f.begin(config())
	if f.open["authenticate"] == "" {
		t.Fatalf("no login: %q", f.sent())
	}
	f.answer("authenticate", `"result":{}`)
	told := story(f.updates)
	if len(told) != 1 || !strings.HasPrefix(told[0], "rejected auth:") {
		t.Errorf("told %q, want the second refusal to be final", told)
	}
}

// TestKnownAgents: each row is usable, and an operator's word goes before it.
func TestKnownAgents(t *testing.T) {
	t.Parallel()
	ids := map[protocol.HarnessID]bool{}
	for _, a := range Known() {
		if a.ID == "" || a.Executable == "" || ids[a.ID] {
			t.Errorf("a row without id or executable, or twice: %+v", a)
		}
		ids[a.ID] = true
		if Tested(a.ID) != (a.Capabilities != nil) {
			t.Errorf("%s: capabilities are claimed of what was not tested, or the other way round", a.ID)
		}
		info := New(Agent{ID: a.ID}).Info()
		if info.Executable != a.Executable || info.APIKeyEnv != a.APIKeyEnv {
			t.Errorf("%s by name is %+v", a.ID, info)
		}
		own := New(Agent{ID: a.ID, Executable: "mine", Args: []string{}, Env: []string{}})
		command, err := own.Launch(harness.Launch{})
		if err != nil || own.Info().Executable != "mine" || len(command.Args)+len(command.Env) != 0 {
			t.Errorf("%s of an operator's own is %+v, %+v", a.ID, own.Info(), command)
		}
		for _, kv := range a.Env {
			if name, value, ok := strings.Cut(kv, "="); !ok || name == "" || strings.Contains(value, "=") {
				t.Errorf("%s: %q is no variable", a.ID, kv)
			}
		}
	}
	if !slices.IsSortedFunc(Known(), func(a, b Agent) int { return strings.Compare(string(a.ID), string(b.ID)) }) {
		t.Error("the rows are out of order")
	}
}

const runs = `{"sessionUpdate":"tool_call","toolCallId":"c","title":"sleep","status":"in_progress"}`

// TestLeavesTools: where a cancel leaves a command running, the process goes with it;
// where none runs, or the turn ended by itself, it stays.
func TestLeavesTools(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		quirk, tool bool
		answer      string
		want        harness.Process
	}{
		"cancelled":          {true, true, `"result":{"stopReason":"cancelled"}`, harness.Stop},
		"no tool":            {true, false, `"result":{"stopReason":"cancelled"}`, harness.Keep},
		"ended":              {true, true, `"result":{"stopReason":"end_turn"}`, harness.Keep},
		"of another agent's": {false, true, `"result":{"stopReason":"cancelled"}`, harness.Keep},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := quirky(t, Quirks{LeavesTools: c.quirk})
			if c.tool {
				f.update(runs)
			}
			f.answer("session/prompt", c.answer)
			if f.process != c.want {
				t.Errorf("the process is to %v, want %v", f.process, c.want)
			}
		})
	}
}

// TestLosesNext: where a failed turn spoils the next one, the process goes with it.
func TestLosesNext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		quirk  bool
		answer string
		want   harness.Process
	}{
		"failed":             {true, `"error":{"code":-32603,"message":"no"}`, harness.Stop},
		"ended":              {true, `"result":{"stopReason":"end_turn"}`, harness.Keep},
		"cancelled":          {true, `"result":{"stopReason":"cancelled"}`, harness.Keep},
		"of another agent's": {false, `"error":{"code":-32603,"message":"no"}`, harness.Keep},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := quirky(t, Quirks{LosesNext: c.quirk})
			f.answer("session/prompt", c.answer)
			if f.process != c.want {
				t.Errorf("the process is to %v, want %v", f.process, c.want)
			}
		})
	}
}

// TestCallInInput: what is asked holds what the command does, not which call it is.
func TestCallInInput(t *testing.T) {
	t.Parallel()
	const ask = `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c","title":"x",` +
		`"rawInput":{"turn_id":"t","command":["ls"],"call_id":"c","cwd":"/"}},"options":[{"optionId":"o","name":"O","kind":"allow_once"}]}}`
	for quirk, want := range map[bool]string{
		true: `{"command":["ls"],"cwd":"/"}`, false: `{"turn_id":"t","command":["ls"],"call_id":"c","cwd":"/"}`,
	} {
		f := quirky(t, Quirks{CallInInput: quirk})
		f.line(ask)
		i := slices.IndexFunc(f.updates, func(u harness.Update) bool { _, is := u.(harness.Asked); return is })
		if got := string(f.updates[i].(harness.Asked).RawInput); got != want {
			t.Errorf("asked about %s, want %s", got, want)
		}
	}
}

// A text that comes with a question is no result, and neither is the frame around an
// empty one; a diff that comes with it is shown with the result.
func TestQuestionIsNoResult(t *testing.T) {
	t.Parallel()
	const ask = `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c","title":"x",` +
		`"content":[{"type":"content","content":{"type":"text","text":"May I?"}},{"type":"diff","path":"/f","newText":"n"}]},` +
		`"options":[{"optionId":"o","name":"O","kind":"allow_once"}]}}`
	f := quirky(t, Quirks{})
	f.line(ask)
	f.update(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":{"formatted_output":"","exit_code":0}}`)
	done := f.updates[len(f.updates)-1].(harness.ToolSet).State.(*protocol.CompletedState)
	if done.Output != "" || len(done.Content) != 1 {
		t.Errorf("completed with %q and %v", done.Output, done.Content)
	}
}
