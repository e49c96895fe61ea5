package claudecode

import (
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

const prompt = `{"type":"user","session_id":"","message":{"role":"user","content":"hello"},"parent_tool_use_id":null,"uuid":"id-1"}`

// beginHello begins a turn.
func beginHello(tr *translator, cfg protocol.RunConfig) harness.Output {
	return tr.Step(harness.Begin{Turn: "turn", Input: protocol.TextInput("hello"), Config: cfg})
}

// succeed answers a control request of ours.
func succeed(tr *translator, id, body string) harness.Output {
	return feed(tr, `{"type":"control_response","response":{"subtype":"success","request_id":"`+id+`","response":`+body+`}}`)
}

// refuse answers a control request of ours with an error.
func refuse(tr *translator, id, why string) harness.Output {
	return feed(tr, `{"type":"control_response","response":{"subtype":"error","request_id":"`+id+`","error":"`+why+`"}}`)
}

func TestPromptIsHeldUntilTheHandshakeIsOver(t *testing.T) {
	t.Parallel()
	tr := fresh(t, protocol.RunConfig{})
	out := beginHello(tr, protocol.RunConfig{})
	wantStdin(t, out, `{"type":"control_request","request_id":"id-2","request":{"subtype":"initialize","forwardSubagentText":true}}`)
	wantUpdates(t, out)
	if diff := cmp.Diff([]harness.Timer{{Name: "handshake", After: time.Minute}}, out.Timers); diff != "" {
		t.Errorf("timers (-want +got):\n%s", diff)
	}

	out = succeed(tr, "id-2", `{"current_permission_mode":"default"}`)
	wantStdin(t, out, prompt)
	wantUpdates(t, out, harness.SessionInfo{Mode: new("default")}, harness.PromptWritten{})
	if diff := cmp.Diff([]harness.Timer{{Name: "handshake"}}, out.Timers); diff != "" {
		t.Errorf("timers (-want +got):\n%s", diff)
	}
}

// Later prompts find the handshake done.
func TestSecondPromptIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, `{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`)
	out := beginHello(tr, protocol.RunConfig{})
	wantUpdates(t, out, harness.PromptWritten{})
	if lines := stdin(t, out); len(lines) != 1 || lines[0]["type"] != "user" || lines[0]["uuid"] == "id-1" {
		t.Errorf("written %v", lines)
	}
	if len(out.Timers) > 0 {
		t.Errorf("timers %v", out.Timers)
	}
}

// What no flag can set, or must not, goes with the handshake.
func TestHandshakeCarriesTheConfig(t *testing.T) {
	t.Parallel()
	cfg := protocol.RunConfig{
		SystemPromptAppend: new("be brief"), ThinkingLevel: protocol.ThinkingOff,
		MCPServers: map[string]protocol.MCPServer{
			"files": {Type: protocol.MCPStdio, Command: "serve", Args: []string{"-x"}, Env: map[string]string{"T": "secret"}},
			"bare":  {Type: protocol.MCPStdio, Command: "bare"},
			"web":   {Type: protocol.MCPHTTP, URL: "https://h", Headers: map[string]string{"A": "secret"}},
		},
	}
	tr := fresh(t, cfg)
	out := beginHello(tr, cfg)
	wantStdin(t, out,
		`{"type":"control_request","request_id":"id-2","request":{"subtype":"initialize","appendSystemPrompt":"be brief","forwardSubagentText":true}}`,
		`{"type":"control_request","request_id":"id-3","request":{"subtype":"set_max_thinking_tokens","max_thinking_tokens":0}}`,
		`{"type":"control_request","request_id":"id-4","request":{"subtype":"mcp_set_servers","servers":{
			"files":{"type":"stdio","command":"serve","args":["-x"],"env":{"T":"secret"}},
			"bare":{"type":"stdio","command":"bare","args":[]},
			"web":{"type":"http","url":"https://h","headers":{"A":"secret"}}}}}`)

	wantStdin(t, succeed(tr, "id-4", `{"added":["files"],"removed":[],"errors":{}}`))
	wantStdin(t, succeed(tr, "id-2", `{}`))
	wantStdin(t, succeed(tr, "id-3", `{}`), prompt)
}

func TestHandshakeWithoutToolsSetsNoServers(t *testing.T) {
	t.Parallel()
	cfg := protocol.RunConfig{DisableTools: new(true), MCPServers: map[string]protocol.MCPServer{"a": {Type: protocol.MCPStdio, Command: "x"}}}
	wantStdin(t, beginHello(fresh(t, cfg), cfg), `{"type":"control_request","request_id":"id-2","request":{"subtype":"initialize","forwardSubagentText":true}}`)
}

// A server that is not there is told, but by its name alone; the turn goes on.
func TestHandshakeTellsOfMissingServers(t *testing.T) {
	t.Parallel()
	cfg := protocol.RunConfig{MCPServers: map[string]protocol.MCPServer{"b": {Type: protocol.MCPHTTP, URL: "u"}, "a": {Type: protocol.MCPHTTP, URL: "u"}}}
	tr := fresh(t, cfg)
	beginHello(tr, cfg)
	feed(tr, greeted)
	out := succeed(tr, "id-3", `{"added":[],"errors":{"b":"cannot reach https://h/?token","a":"no"}}`)
	wantUpdates(t, out,
		harness.Notice{Category: protocol.CategoryInvalidRequest, Message: "MCP server a could not be reached"},
		harness.Notice{Category: protocol.CategoryInvalidRequest, Message: "MCP server b could not be reached"},
		harness.PromptWritten{},
	)
}

// Without these a turn can run: they are told, and the prompt is written.
func TestHandshakeGoesOnWithoutTheRest(t *testing.T) {
	t.Parallel()
	cfg := protocol.RunConfig{ThinkingLevel: protocol.ThinkingOff, MCPServers: map[string]protocol.MCPServer{"a": {Type: protocol.MCPHTTP, URL: "u"}}}
	tr := fresh(t, cfg)
	beginHello(tr, cfg)
	feed(tr, greeted)
	if out := refuse(tr, "id-3", "no"); len(out.Diagnostics) != 1 || len(out.Updates) > 0 {
		t.Errorf("refused thinking: %v", out)
	}
	wantUpdates(t, refuse(tr, "id-4", "no"),
		harness.Notice{Category: protocol.CategoryInvalidRequest, Message: "the MCP servers could not be set"},
		harness.PromptWritten{})
}

func TestHandshakeRefused(t *testing.T) {
	t.Parallel()
	tr := fresh(t, protocol.RunConfig{})
	beginHello(tr, protocol.RunConfig{})
	out := refuse(tr, "id-2", "not today")
	wantUpdates(t, out, harness.Rejected{Error: protocol.TurnError{
		Category: protocol.CategoryInternal, Message: "Claude Code refused the handshake: not today"}})
	if out.Process != harness.Stop {
		t.Error("the process is kept, with nobody knowing what it is configured to")
	}
	wantStdin(t, out)
}

func TestHandshakeNeverAnswered(t *testing.T) {
	t.Parallel()
	tr := New(Options{HandshakeTimeout: 5 * time.Second}).New(harness.Launch{}, ids()).(*translator)
	if out := beginHello(tr, protocol.RunConfig{}); out.Timers[0].After != 5*time.Second {
		t.Errorf("timers %v", out.Timers)
	}
	out := tr.Step(harness.Expired{Timer: "handshake"})
	wantUpdates(t, out, harness.Rejected{Error: protocol.TurnError{
		Category: protocol.CategoryInternal, Message: "Claude Code did not answer the handshake within 5s"}})
	if out.Process != harness.Stop {
		t.Error("the process is kept")
	}
	wantStdin(t, feed(tr, greeted)) // too late: the prompt is gone
}

// The machine tells of no cancel in this window, but were it to, nothing may be
// written any more.
func TestCancelWhileThePromptIsHeld(t *testing.T) {
	t.Parallel()
	tr := fresh(t, protocol.RunConfig{})
	beginHello(tr, protocol.RunConfig{})
	wantUpdates(t, tr.Step(harness.Cancel{}), harness.Finished{Reason: protocol.StopCancelled})
	wantStdin(t, feed(tr, greeted))
	out := beginHello(tr, protocol.RunConfig{})
	wantUpdates(t, out, harness.PromptWritten{})
}

func TestPromptForms(t *testing.T) {
	t.Parallel()
	text := func(s string) protocol.InputItem { return protocol.InputItem{Type: protocol.InputText, Text: s} }
	for _, tc := range []struct {
		name string
		in   protocol.Input
		want string
	}{
		{"empty text", protocol.TextInput(""), `""`},
		{"no items", protocol.Input{}, `[]`},
		{"text", protocol.Input{Items: []protocol.InputItem{text("a"), text("b")}}, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		{"image", protocol.Input{Items: []protocol.InputItem{{Type: protocol.InputImage, Data: new("AAAA"), MimeType: "image/png"}}},
			`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]`},
		{"image behind a URL", protocol.Input{Items: []protocol.InputItem{{Type: protocol.InputImage, URL: new("https://h/i"), MimeType: "image/png"}}},
			`[{"type":"image","source":{"type":"url","url":"https://h/i"}}]`},
		{"PDF", protocol.Input{Items: []protocol.InputItem{{Type: protocol.InputFile, Data: new("AAAA"), MimeType: "application/pdf", Filename: new("a.pdf")}}},
			`[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"},"title":"a.pdf"}]`},
		{"text file", protocol.Input{Items: []protocol.InputItem{{Type: protocol.InputFile, Data: new("aGVsbG8="), MimeType: "text/markdown; charset=utf-8", Filename: new("a.md")}}},
			`[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hello"},"title":"a.md"}]`},
		{"text file behind a URL", protocol.Input{Items: []protocol.InputItem{{Type: protocol.InputFile, URL: new("https://h/a.json"), MimeType: "application/json"}}},
			`[{"type":"text","text":"A file is at https://h/a.json"}]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			line, err := promptLine("u", tc.in)
			if err != nil {
				t.Fatal(err)
			}
			wantStdin(t, harness.Output{Stdin: line},
				`{"type":"user","session_id":"","message":{"role":"user","content":`+tc.want+`},"parent_tool_use_id":null,"uuid":"u"}`)
		})
	}
}

// A file that the model cannot read must not get lost in silence.
func TestPromptThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for name, item := range map[string]protocol.InputItem{
		"a zip":         {Type: protocol.InputFile, Data: new("AAAA"), MimeType: "application/zip"},
		"no base64":     {Type: protocol.InputFile, Data: new("%"), MimeType: "text/plain"},
		"no media type": {Type: protocol.InputFile, Data: new("AAAA")},
	} {
		tr := fresh(t, protocol.RunConfig{})
		out := tr.Step(harness.Begin{Input: protocol.Input{Items: []protocol.InputItem{item}}})
		if r, ok := out.Updates[0].(harness.Rejected); !ok || r.Error.Category != protocol.CategoryInvalidRequest || out.Stdin != nil {
			t.Errorf("%s: %v", name, out)
		}
	}
}

// between is a translator between turns, launched with a config.
func between(t *testing.T, cfg protocol.RunConfig) *translator {
	t.Helper()
	tr := fresh(t, cfg)
	beginHello(tr, cfg)
	for len(tr.awaited) > 0 {
		for id := range tr.awaited {
			succeed(tr, id, `{}`)
		}
	}
	feed(tr, `{"type":"result","subtype":"success","user_message_uuids":["id-1"]}`)
	if tr.turn != nil {
		t.Fatal("the turn goes on")
	}
	return tr
}

func TestConfigureRestarts(t *testing.T) {
	t.Parallel()
	base := protocol.RunConfig{Model: new("a"), MaxTurns: new(int64(3))}
	for name, change := range map[string]func(*protocol.RunConfig){
		"no model":     func(c *protocol.RunConfig) { c.Model = nil },
		"empty model":  func(c *protocol.RunConfig) { c.Model = new("") },
		"bypass":       func(c *protocol.RunConfig) { c.PermissionMode = protocol.ModeBypassPermissions },
		"cwd":          func(c *protocol.RunConfig) { c.Cwd = "/b" },
		"turns":        func(c *protocol.RunConfig) { c.MaxTurns = new(int64(4)) },
		"thinking":     func(c *protocol.RunConfig) { c.ThinkingLevel = protocol.ThinkingHigh },
		"thinking off": func(c *protocol.RunConfig) { c.ThinkingLevel = protocol.ThinkingOff },
		"directories":  func(c *protocol.RunConfig) { c.AdditionalDirectories = []string{"/b"} },
		"prompt":       func(c *protocol.RunConfig) { c.SystemPromptAppend = new("b") },
		"servers":      func(c *protocol.RunConfig) { c.MCPServers = map[string]protocol.MCPServer{"b": {}} },
		"environment":  func(c *protocol.RunConfig) { c.Env = map[string]string{"B": "b"} },
		"key":          func(c *protocol.RunConfig) { c.APIKey = new("b") },
		"tools":        func(c *protocol.RunConfig) { c.DisableTools = new(true) },
	} {
		changed := base
		change(&changed)
		out := between(t, base).Step(harness.Configure{Old: base, New: changed})
		if out.Process != harness.Restart || out.Stdin != nil {
			t.Errorf("%s: %v", name, out)
		}
	}
}

func TestConfigureLive(t *testing.T) {
	t.Parallel()
	old := protocol.RunConfig{Model: new("a")}
	next := protocol.RunConfig{Model: new("b"), PermissionMode: protocol.ModePlan, IncludeRaw: new(true), ResumeSessionID: new("x")}
	tr := between(t, old)
	out := tr.Step(harness.Configure{Old: old, New: next})
	if out.Process != harness.Keep {
		t.Fatal("the process is not kept")
	}
	wantStdin(t, out,
		`{"type":"control_request","request_id":"id-3","request":{"subtype":"set_model","model":"b"}}`,
		`{"type":"control_request","request_id":"id-4","request":{"subtype":"set_permission_mode","mode":"plan"}}`)
	// The next prompt waits for both.
	wantStdin(t, beginHello(tr, next))
	wantUpdates(t, succeed(tr, "id-3", `{"model":"b"}`))
	wantUpdates(t, succeed(tr, "id-4", `{"mode":"plan"}`), harness.SessionInfo{Mode: new("plan")}, harness.PromptWritten{})
}

func TestConfigureNothing(t *testing.T) {
	t.Parallel()
	old := protocol.RunConfig{Model: new("a"), PermissionMode: ""}
	next := old
	next.PermissionMode = protocol.ModeDefault
	if out := between(t, old).Step(harness.Configure{Old: old, New: next}); out.Stdin != nil || out.Process != harness.Keep {
		t.Errorf("absent is default, but %v", out)
	}
}

// A process launched with bypass can leave it and come back.
func TestConfigureOutOfBypass(t *testing.T) {
	t.Parallel()
	wild := protocol.RunConfig{PermissionMode: protocol.ModeBypassPermissions}
	tr := between(t, wild)
	wantStdin(t, tr.Step(harness.Configure{Old: wild, New: protocol.RunConfig{}}),
		`{"type":"control_request","request_id":"id-3","request":{"subtype":"set_permission_mode","mode":"default"}}`)
	wantStdin(t, tr.Step(harness.Configure{Old: protocol.RunConfig{}, New: wild}),
		`{"type":"control_request","request_id":"id-4","request":{"subtype":"set_permission_mode","mode":"bypassPermissions"}}`)
}

// A turn must not run in another mode, or with another model, than it asked for.
func TestConfigureRefused(t *testing.T) {
	t.Parallel()
	next := protocol.RunConfig{PermissionMode: protocol.ModePlan}
	rejected := harness.Rejected{Error: protocol.TurnError{Category: protocol.CategoryInvalidRequest, Message: "no such mode"}}

	tr := between(t, protocol.RunConfig{})
	tr.Step(harness.Configure{New: next})
	beginHello(tr, next)
	out := refuse(tr, "id-3", "no such mode")
	wantUpdates(t, out, rejected)
	if out.Process != harness.Stop {
		t.Error("the process is kept")
	}

	tr = between(t, protocol.RunConfig{})
	tr.Step(harness.Configure{New: next})
	wantUpdates(t, refuse(tr, "id-3", "no such mode")) // no turn yet
	wantUpdates(t, beginHello(tr, next), rejected)
}

// An approved plan leaves plan mode; the next turn asked for plan mode again.
func TestModeIsRestored(t *testing.T) {
	t.Parallel()
	plan := protocol.RunConfig{PermissionMode: protocol.ModePlan}
	tr := between(t, plan)
	feed(tr, `{"type":"system","subtype":"status","status":null,"permissionMode":"default"}`)
	out := beginHello(tr, plan)
	wantStdin(t, out, `{"type":"control_request","request_id":"id-4","request":{"subtype":"set_permission_mode","mode":"plan"}}`)
	wantUpdates(t, succeed(tr, "id-4", `{"mode":"plan"}`), harness.SessionInfo{Mode: new("plan")}, harness.PromptWritten{})
}

func TestUnknownAnswerIsNoted(t *testing.T) {
	t.Parallel()
	out := succeed(running(t), "never-asked", `{}`)
	if len(out.Diagnostics) != 1 || len(out.Updates) > 0 {
		t.Errorf("%v", out)
	}
}
