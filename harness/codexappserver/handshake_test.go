package codexappserver

import (
	"slices"
	"strings"
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

func TestHandshakeInOrder(t *testing.T) {
	t.Parallel()
	f := newFake(t, harness.Launch{Config: config()}, nil)
	f.begin()
	var methods []string
	for _, line := range f.written {
		_, rest, _ := strings.Cut(line, `"method":"`)
		method, _, _ := strings.Cut(rest, `"`)
		methods = append(methods, method)
	}
	if diff := cmp.Diff([]string{"initialize", "initialized", "thread/start", "turn/start"}, methods); diff != "" {
		t.Error(diff)
	}
	f.wrote(`"initialize"`, `"experimentalApi":true`)
	f.want(harness.Created{NativeID: thread}, harness.PromptWritten{}, harness.Registered{})
}

// Nothing is written while Codex shakes hands, so that a cancel finds nothing.
func TestPromptWaitsForTheThread(t *testing.T) {
	t.Parallel()
	f := newFake(t, harness.Launch{Config: config()}, map[string]string{"thread/start": ""})
	f.begin()
	f.wroteNone("turn/start")
	if f.timers[handshakeTimer].After != time.Minute {
		t.Errorf("timers %v", f.timers)
	}
	f.step(harness.Expired{Timer: handshakeTimer})
	if r := last[harness.Rejected](f); !strings.Contains(r.Error.Message, "not ready") || f.process != harness.Stop {
		t.Errorf("rejected %+v, process %v", r, f.process)
	}
}

func TestHandshakeRefused(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"initialize", "thread/start"} {
		f := newFake(t, harness.Launch{Config: config()}, map[string]string{method: `"error":{"code":-32600,"message":"failed to load configuration: x"}`})
		f.begin()
		if r := last[harness.Rejected](f); !strings.Contains(r.Error.Message, "failed to load") || f.process != harness.Stop {
			t.Errorf("%s: %+v, process %v", method, r, f.process)
		}
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	f := newFake(t, harness.Launch{Config: config(), Resume: thread}, nil)
	f.begin()
	f.wrote("thread/resume", `"threadId":"thread-1"`, `"excludeTurns":true`, `"approvalPolicy":"on-request"`, `"sandbox":"read-only"`)
	if c := last[harness.Created](f); !c.Resumed {
		t.Errorf("created %+v", c)
	}
}

// A thread that another process writes is in use; one that is not there is begun
// afresh by the machine.
func TestResumeFails(t *testing.T) {
	t.Parallel()
	for message, inUse := range map[string]bool{
		"thread 7 already has an active writer":  true,
		"no rollout found for thread id 7":       false,
		"invalid session id: garbage is no UUID": false,
	} {
		f := newFake(t, harness.Launch{Config: config(), Resume: "7"}, map[string]string{"thread/resume": `"error":{"code":-32600,"message":"` + message + `"}`})
		f.begin()
		f.want(harness.ResumeFailed{InUse: inUse, Message: message})
		f.wroteNone("turn/start")
	}
}

// What each mode is to Codex, when the thread is made and with each turn.
func TestModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[protocol.PermissionMode][3]string{
		"":                             {"read-only", "on-request", `"type":"readOnly"`},
		protocol.ModeDefault:           {"read-only", "on-request", `"type":"readOnly"`},
		protocol.ModePlan:              {"read-only", "never", `"type":"readOnly"`},
		protocol.ModeAcceptEdits:       {"workspace-write", "on-request", `"type":"workspaceWrite","writableRoots":["/a"],"networkAccess":false`},
		protocol.ModeDontAsk:           {"workspace-write", "never", `"type":"workspaceWrite"`},
		protocol.ModeBypassPermissions: {"danger-full-access", "never", `"type":"dangerFullAccess"`},
	} {
		cfg := config()
		cfg.PermissionMode, cfg.AdditionalDirectories = mode, []string{"/a"}
		f := newFake(t, harness.Launch{Config: cfg}, nil)
		f.begin()
		f.wrote("thread/start", `"sandbox":"`+want[0]+`"`, `"approvalPolicy":"`+want[1]+`"`)
		f.wrote("turn/start", want[2], `"approvalPolicy":"`+want[1]+`"`)
	}
}

func TestThreadIsMadeWithTheConfig(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Model, cfg.SystemPromptAppend = new("big"), new("be brief")
	cfg.MCPServers = map[string]protocol.MCPServer{
		"lab":  {Type: protocol.MCPStdio, Command: "mcp", Args: []string{"-x"}, Env: map[string]string{"K": "v"}},
		"far":  {Type: protocol.MCPHTTP, URL: "http://x", Headers: map[string]string{"H": "v"}},
		"gone": {Type: protocol.MCPSSE, URL: "http://y"},
	}
	f := newFake(t, harness.Launch{Config: cfg}, nil)
	f.begin()
	f.wrote("thread/start", `"cwd":"/w"`, `"model":"big"`, `"developerInstructions":"be brief"`,
		`"lab":{"command":"mcp","args":["-x"],"env":{"K":"v"}}`, `"far":{"url":"http://x","http_headers":{"H":"v"}}`)
	f.wroteNone("http://y")
}

// A key logs in for this process alone, and stands in no argument.
func TestKeyLogsIn(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.APIKey = new("sk-secret")
	l := harness.Launch{Config: cfg}
	command, err := New(Options{}).Launch(l)
	if err != nil || strings.Contains(strings.Join(command.Args, " "), "secret") || !slices.Contains(command.Args, `cli_auth_credentials_store="ephemeral"`) {
		t.Errorf("launched with %v, %v", command.Args, err)
	}
	f := newFake(t, l, map[string]string{"account/login/start": `"result":{"type":"apiKey"}`})
	f.begin()
	f.wrote("account/login/start", "sk-secret")
	f.wrote("turn/start")
	f = newFake(t, l, map[string]string{"account/login/start": `"error":{"code":-32600,"message":"bad key sk-secret"}`})
	f.begin()
	if r := last[harness.Rejected](f); r.Error.Category != protocol.CategoryAuth || strings.Contains(r.Error.Message, "secret") {
		t.Errorf("rejected %+v", r)
	}
}

// What a turn sets sticks: the next one says the default again.
func TestModelAndEffortOfEachTurn(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.ends("completed")
	cfg := config()
	cfg.Model, cfg.ThinkingLevel = new("big"), protocol.ThinkingOff
	f.answers["turn/start"] = `"result":{"turn":{"id":"turn-2"}}`
	f.step(harness.Begin{Input: protocol.TextInput("x"), Config: cfg})
	f.wrote("turn/start", `"model":"big"`, `"effort":"minimal"`)
	f.tellOf(thread, "turn-2", "turn/completed", `"turn":{"id":"turn-2","status":"completed"}`)
	f.forget()
	f.step(harness.Begin{Input: protocol.TextInput("x"), Config: config()})
	f.wrote("turn/start", `"model":"m"`, `"effort":"medium"`)
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*protocol.RunConfig){
		"model": func(c *protocol.RunConfig) { c.Model = new("x") }, "mode": func(c *protocol.RunConfig) { c.PermissionMode = protocol.ModePlan },
		"level": func(c *protocol.RunConfig) { c.ThinkingLevel = protocol.ThinkingLow },
		"CWD":   func(c *protocol.RunConfig) { c.Cwd = "/x" }, "PROMPT": func(c *protocol.RunConfig) { c.SystemPromptAppend = new("x") },
		"KEY": func(c *protocol.RunConfig) { c.APIKey = new("x") }, "ENV": func(c *protocol.RunConfig) { c.Env = map[string]string{"A": "b"} },
		"MCP": func(c *protocol.RunConfig) { c.MCPServers = map[string]protocol.MCPServer{"a": {}} },
	}
	for name, change := range changes {
		f := running(t)
		cfg := config()
		change(&cfg)
		f.step(harness.Configure{Old: config(), New: cfg})
		if restarts := f.process == harness.Restart; restarts != (name == strings.ToUpper(name)) {
			t.Errorf("%s: restart %v", name, restarts)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.MaxTurns, cfg.DisableTools, cfg.AdditionalDirectories = new(int64(1)), new(true), []string{"rel"}
	cfg.ResumeSessionID, cfg.ResumeSessionAt = new("a"), new("b")
	cfg.MCPServers = map[string]protocol.MCPServer{"x": {Type: protocol.MCPSSE}}
	faults, notes := New(Options{}).Check(cfg)
	var paths []string
	for _, fault := range faults {
		paths = append(paths, fault.Path)
	}
	if diff := cmp.Diff([]string{"config.maxTurns", "config.disableTools", "config.additionalDirectories.0"}, paths); diff != "" || len(notes) != 3 {
		t.Errorf("%s notes %v", diff, notes)
	}
	if faults, notes := New(Options{}).Check(config()); len(faults)+len(notes) > 0 {
		t.Errorf("a plain config gives %v %v", faults, notes)
	}
}
