package acp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// expect compares what was written or told with what was wanted, line by line.
func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const prompted = `session/prompt {"sessionId":"s-1","prompt":[{"type":"text","text":"hi"}]}`

func TestHandshake(t *testing.T) {
	t.Parallel()
	f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config()}, nil)
	f.begin(config())
	expect(t, "written", f.sent(),
		`initialize {"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},`+
			`"terminal":false,"session":{"compaction":{},"notices":{}}},"clientInfo":{"name":"agent-server","version":"1"}}`,
		`session/new {"cwd":"/workspace","mcpServers":[]}`,
		prompted)
	expect(t, "told", story(f.updates), "Created{NativeID:s-1 Resumed:false}", "PromptWritten{}", "Registered{}")
	want := []harness.Timer{{Name: handshakeTimer, After: time.Minute}, {Name: handshakeTimer}}
	if diff := cmp.Diff(want, f.timers); diff != "" {
		t.Errorf("timers (-want +got):\n%s", diff)
	}
	if f.process != harness.Keep {
		t.Errorf("process %v, want keep", f.process)
	}
}

func TestSecondTurnNeedsNoHandshake(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	f.forget()
	f.begin(config())
	expect(t, "written", f.sent(), prompted)
	expect(t, "told", story(f.updates), "PromptWritten{}", "Registered{}")
}

func TestHandshakeThatFails(t *testing.T) {
	t.Parallel()
	login := "rejected auth: agent wants a login: run `agent` in a terminal and log in there. It said: Authentication required"
	tests := []struct {
		name    string
		agent   Agent
		answers map[string]string
		want    string
	}{
		{"initialize refused", Agent{}, map[string]string{"initialize": `"error":{"code":-32603,"message":"broken"}`},
			"rejected internal: the agent refused the handshake: broken"},
		{"another version", Agent{}, map[string]string{"initialize": `"result":{"protocolVersion":2}`},
			"rejected internal: the agent speaks version 2 of its protocol, not 1"},
		{"login needed", Agent{}, map[string]string{"session/new": `"error":{"code":-32000,"message":"Authentication required"}`}, login},
		{"login refused", Agent{AuthMethod: "key"}, map[string]string{"authenticate": `"error":{"code":-32603,"message":"no key"}`},
			"rejected auth: the agent refused the login: no key"},
		{"no session", Agent{}, map[string]string{"session/new": `"error":{"code":-32602,"message":"Invalid params","data":{"details":"no such directory"}}`},
			"rejected invalid_request: the agent opened no session: Invalid params: no such directory"},
		{"session without an id", Agent{}, map[string]string{"session/new": `"result":{}`},
			"rejected internal: the agent named no session"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.agent.ID = "agent"
			f := newFake(t, tt.agent, harness.Launch{Config: config()}, tt.answers)
			f.begin(config())
			expect(t, "told", story(f.updates), tt.want)
			if f.process != harness.Stop {
				t.Errorf("process %v, want stop", f.process)
			}
			f.forget()
			f.begin(config())
			expect(t, "told of the next turn", story(f.updates), tt.want)
		})
	}
}

func TestHandshakeIsBounded(t *testing.T) {
	t.Parallel()
	f := newFake(t, Agent{ID: "agent", HandshakeTimeout: 5 * time.Second}, harness.Launch{Config: config()}, nil)
	delete(f.answers, "session/new")
	f.begin(config())
	f.step(harness.Expired{Timer: "another"})
	expect(t, "told before", story(f.updates))
	f.step(harness.Expired{Timer: handshakeTimer})
	expect(t, "told", story(f.updates), "rejected internal: the agent was not ready for a prompt within 5s")
	if f.process != harness.Stop {
		t.Errorf("process %v, want stop", f.process)
	}
}

func TestTimerOfAWrittenPromptMeansNothing(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.step(harness.Expired{Timer: handshakeTimer})
	expect(t, "told", story(f.updates))
}

func TestAuthenticateComesBeforeTheSession(t *testing.T) {
	t.Parallel()
	f := newFake(t, Agent{ID: "agent", AuthMethod: "key"}, harness.Launch{Config: config()},
		map[string]string{"authenticate": `"result":{}`})
	f.begin(config())
	expect(t, "written", f.sent()[1:], `authenticate {"methodId":"key"}`, `session/new {"cwd":"/workspace","mcpServers":[]}`, prompted)
}

func TestResume(t *testing.T) {
	t.Parallel()
	const can = `"result":{"protocolVersion":1,"agentCapabilities":{`
	old := func(method string) string { return method + ` {"sessionId":"old","cwd":"/workspace","mcpServers":[]}` }
	oldPrompt := strings.Replace(prompted, session, "old", 1)
	going := []string{"Created{NativeID:old Resumed:true}", "PromptWritten{}", "Registered{}"}
	tests := []struct {
		name    string
		answers map[string]string
		sent    []string
		told    []string
	}{
		{"session/resume", map[string]string{
			"initialize":     can + `"loadSession":true,"sessionCapabilities":{"resume":{}}}}`,
			"session/resume": `"result":{}`,
		}, []string{old("session/resume"), oldPrompt}, going},
		{"session/load", map[string]string{
			"initialize":   can + `"loadSession":true,"sessionCapabilities":{"resume":null}}}`,
			"session/load": `"result":{}`,
		}, []string{old("session/load"), oldPrompt}, going},
		{"advertised and unknown", map[string]string{
			"initialize":     can + `"loadSession":true,"sessionCapabilities":{"resume":{}}}}`,
			"session/resume": `"error":{"code":-32601,"message":"no"}`,
			"session/load":   `"result":null`,
		}, []string{old("session/resume"), old("session/load"), oldPrompt}, going},
		{"no way", map[string]string{"initialize": can + `}}`}, nil,
			[]string{"ResumeFailed{InUse:false Message:the agent cannot open an old session}"}},
		{"not found", map[string]string{
			"initialize":   can + `"loadSession":true}}`,
			"session/load": `"error":{"code":-32002,"message":"Resource not found"}`,
		}, []string{old("session/load")}, []string{"ResumeFailed{InUse:false Message:Resource not found}"}},
		{"login needed", map[string]string{
			"initialize":   can + `"loadSession":true}}`,
			"session/load": `"error":{"code":-32000,"message":"Log in"}`,
		}, []string{old("session/load")},
			[]string{"rejected auth: agent wants a login: run `agent` in a terminal and log in there. It said: Log in"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config(), Resume: "old"}, tt.answers)
			f.begin(config())
			expect(t, "written", append([]string(nil), f.sent()[1:]...), tt.sent...)
			expect(t, "told", story(f.updates), tt.told...)
		})
	}
}

func TestReplayedHistoryIsNotShown(t *testing.T) {
	t.Parallel()
	f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config(), Resume: session},
		map[string]string{"initialize": `"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`})
	f.begin(config())
	f.update(
		`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"before"}}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"answered"}}`,
		`{"sessionUpdate":"tool_call","toolCallId":"c","status":"completed"}`,
	)
	f.answer("session/load", `"result":{}`)
	want := []harness.Diagnostic{{Message: "history of the old session not shown again", Detail: "3 updates"}}
	if diff := cmp.Diff(want, f.notes); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
	expect(t, "told", story(f.updates), "Created{NativeID:s-1 Resumed:true}", "PromptWritten{}", "Registered{}")
	f.forget()
	f.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"now"}}`)
	expect(t, "told", story(f.updates), "message message-1", "text part-2", `part-2 + "now"`)
}

func TestEarlyUpdatesWaitForTheSession(t *testing.T) {
	t.Parallel()
	f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config()}, nil)
	delete(f.answers, "session/new")
	f.begin(config())
	for i := range maxEarly + 5 {
		f.update(fmt.Sprintf(`{"sessionUpdate":"current_mode_update","currentModeId":"m%d"}`, i))
	}
	if n := len(f.notes); n != 5 {
		t.Errorf("%d updates are dropped, want the 5 over the cap", n)
	}
	f.answer("session/new", `"result":{"sessionId":"s-1"}`)
	if mode := f.tr.(*translator).settings.modes.current; mode != fmt.Sprintf("m%d", maxEarly-1) {
		t.Errorf("mode %q, want the last early one", mode)
	}
}

// TestEarlyUpdatesAreBounded in bytes too: what an agent says before it has a
// session is not ours to hold.
func TestEarlyUpdatesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config()}, nil)
	delete(f.answers, "session/new")
	f.begin(config())
	for i := range 5 {
		f.update(fmt.Sprintf(`{"sessionUpdate":"current_mode_update","currentModeId":"m%d","x":%q}`, i, strings.Repeat("x", maxEarlyBytes/4)))
	}
	f.answer("session/new", `"result":{"sessionId":"s-1"}`)
	if mode := f.tr.(*translator).settings.modes.current; mode != "m2" || len(f.notes) != 2 {
		t.Errorf("mode %q and %d dropped, want m2, the last that fits, and 2", mode, len(f.notes))
	}
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*protocol.RunConfig)
		want   harness.Process
	}{
		{"model", func(c *protocol.RunConfig) { c.Model = new("m") }, harness.Keep},
		{"thinking", func(c *protocol.RunConfig) { c.ThinkingLevel = protocol.ThinkingLow }, harness.Keep},
		{"mode", func(c *protocol.RunConfig) { c.PermissionMode = protocol.ModePlan }, harness.Keep},
		{"system prompt, which is ignored", func(c *protocol.RunConfig) { c.SystemPromptAppend = new("x") }, harness.Keep},
		{"cwd", func(c *protocol.RunConfig) { c.Cwd = "/other" }, harness.Restart},
		{"environment", func(c *protocol.RunConfig) { c.Env = map[string]string{"A": "b"} }, harness.Restart},
		{"key", func(c *protocol.RunConfig) { c.APIKey = new("k") }, harness.Restart},
		{"servers", func(c *protocol.RunConfig) {
			c.MCPServers = map[string]protocol.MCPServer{"a": {Type: protocol.MCPStdio, Command: "b"}}
		}, harness.Restart},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
			changed := config()
			tt.change(&changed)
			f.step(harness.Configure{Old: config(), New: changed})
			if f.process != tt.want {
				t.Errorf("process %v, want %v", f.process, tt.want)
			}
		})
	}
}

func TestMCPServers(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.MCPServers = map[string]protocol.MCPServer{
		"web":   {Type: protocol.MCPHTTP, URL: "http://h", Headers: map[string]string{"b": "2", "a": "1"}},
		"event": {Type: protocol.MCPSSE, URL: "http://s"},
		"local": {Type: protocol.MCPStdio, Command: "/bin/x", Args: []string{"-y"}, Env: map[string]string{"K": "v"}},
		"bare":  {Type: protocol.MCPStdio, Command: "/bin/z"},
	}
	f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: cfg},
		map[string]string{"initialize": `"result":{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true,"sse":false}}}`})
	f.begin(cfg)
	expect(t, "written", f.sent()[1:2], `session/new {"cwd":"/workspace","mcpServers":[`+
		`{"name":"bare","command":"/bin/z","args":[],"env":[]},`+
		`{"name":"local","command":"/bin/x","args":["-y"],"env":[{"name":"K","value":"v"}]},`+
		`{"type":"http","name":"web","url":"http://h","headers":[{"name":"a","value":"1"},{"name":"b","value":"2"}]}]}`)
	want := []harness.Diagnostic{{Message: ignoredMember, Detail: "mcpServers: the agent cannot reach sse"}}
	if diff := cmp.Diff(want, f.notes); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}
