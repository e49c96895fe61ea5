package claudecode

import (
	"slices"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// always are the arguments that every launch begins with.
var always = []string{
	"-p", "--output-format=stream-json", "--input-format=stream-json", "--verbose",
	"--include-partial-messages", "--permission-prompt-tool=stdio",
	"--system-prompt-snapshot=off",
}

func TestLaunchArguments(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		opts   Options
		launch harness.Launch
		want   []string
	}{
		{
			name:   "the least",
			launch: harness.Launch{NativeID: "n"},
			want:   []string{"--setting-sources=user", "--strict-mcp-config", "--session-id=n", "--permission-mode=default"},
		},
		{
			name: "the operator's choices",
			opts: Options{SettingSources: []string{"user", "project"}, OwnMCP: true},
			want: []string{"--setting-sources=user,project", "--permission-mode=default"},
		},
		{
			name: "no settings at all",
			opts: Options{SettingSources: []string{}},
			want: []string{"--setting-sources=", "--strict-mcp-config", "--permission-mode=default"},
		},
		{
			name:   "resume at a place",
			launch: harness.Launch{NativeID: "unused", Resume: "old", ResumeAt: "place"},
			want:   []string{"--setting-sources=user", "--strict-mcp-config", "--resume=old", "--resume-session-at=place", "--permission-mode=default"},
		},
		{
			name: "a whole config",
			launch: harness.Launch{Config: protocol.RunConfig{
				Model: new("-sonnet"), ThinkingLevel: protocol.ThinkingXHigh, MaxTurns: new(int64(7)),
				AdditionalDirectories: []string{"/a", "-b"}, PermissionMode: protocol.ModeAcceptEdits, DisableTools: new(true),
			}},
			want: []string{
				"--setting-sources=user", "--strict-mcp-config", "--permission-mode=acceptEdits", "--model=-sonnet", "--max-turns=7",
				"--effort=xhigh", "--add-dir=/a", "--add-dir=-b", "--tools=",
			},
		},
		{
			name: "what a flag says otherwise, or not",
			launch: harness.Launch{Config: protocol.RunConfig{
				Model: new(""), ThinkingLevel: protocol.ThinkingOff, PermissionMode: protocol.ModeBypassPermissions, DisableTools: new(false),
			}},
			want: []string{"--setting-sources=user", "--strict-mcp-config", "--permission-mode=bypassPermissions"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := New(tc.opts).Launch(tc.launch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append(slices.Clone(always), tc.want...), got.Args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLaunchKnowsEveryPermissionMode(t *testing.T) {
	t.Parallel()
	for mode, want := range map[protocol.PermissionMode]string{
		protocol.ModeDefault: "default", protocol.ModePlan: "plan", protocol.ModeAcceptEdits: "acceptEdits",
		protocol.ModeDontAsk: "dontAsk", protocol.ModeBypassPermissions: "bypassPermissions",
	} {
		got, err := New(Options{}).Launch(harness.Launch{Config: protocol.RunConfig{PermissionMode: mode}})
		if err != nil || !slices.Contains(got.Args, "--permission-mode="+want) {
			t.Errorf("%s: %v, %v", mode, got.Args, err)
		}
	}
}

// Law 74: no secret stands in argv. Other users of the machine can read a process's arguments.
func TestLaw74_secretsStayOutOfArguments(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	cfg := protocol.RunConfig{
		APIKey: new(secret), Env: map[string]string{"TOKEN": secret}, SystemPromptAppend: new(secret),
		MCPServers: map[string]protocol.MCPServer{
			"a": {Type: protocol.MCPStdio, Command: "x", Args: []string{secret}, Env: map[string]string{"T": secret}},
			"b": {Type: protocol.MCPHTTP, URL: "https://h/?" + secret, Headers: map[string]string{"A": secret}},
		},
	}
	c, err := New(Options{}).Launch(harness.Launch{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(c.Args, c.Env...) {
		if strings.Contains(s, secret) {
			t.Errorf("%q holds a secret", s)
		}
	}
}

func TestLaunchEnvironment(t *testing.T) {
	t.Parallel()
	c, err := New(Options{}).Launch(harness.Launch{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1",
		"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	} {
		if !slices.Contains(c.Env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	c.Env[0] = "changed"
	if again, _ := New(Options{}).Launch(harness.Launch{}); again.Env[0] == "changed" {
		t.Error("launches share their environment")
	}
}

func TestLaunchRefusesWhatNoProcessCanBeGiven(t *testing.T) {
	t.Parallel()
	const secret = "hidden"
	_, err := New(Options{}).Launch(harness.Launch{Config: protocol.RunConfig{Model: new(secret + "\x00")}})
	if err == nil || !strings.Contains(err.Error(), "--model") || strings.Contains(err.Error(), secret) {
		t.Errorf("error %v", err)
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	info := New(Options{}).Info()
	want := protocol.AgentCapabilities{
		MultiTurn: true, SessionResume: true, ThinkingLevels: true, Images: true, MCPServers: true,
		PermissionRequests: true, ModelSwitch: protocol.ModelSwitchInSession,
	}
	if diff := cmp.Diff(want, info.Capabilities); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
	if info.ID != protocol.HarnessClaudeCode || info.Executable != "claude" || info.APIKeyEnv != "ANTHROPIC_API_KEY" {
		t.Errorf("info %v", info)
	}
	for _, must := range []string{"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR", "ANTHROPIC_BASE_URL"} {
		if !slices.Contains(info.PassEnv, must) {
			t.Errorf("%s is not passed on, so a login would not work", must)
		}
	}
	// These change how the CLI speaks, or make it refuse to start.
	for _, name := range []string{"ANTHROPIC_LOG", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "NODE_OPTIONS", "DEBUG"} {
		for _, pattern := range info.PassEnv {
			prefix, many := strings.CutSuffix(pattern, "*")
			if pattern == name || many && strings.HasPrefix(name, prefix) {
				t.Errorf("%s is passed on by %s", name, pattern)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	h := New(Options{})
	faults, notes := h.Check(protocol.RunConfig{
		MaxTurns: new(int64(1)), PermissionMode: protocol.ModePlan, DisableTools: new(true), AdditionalDirectories: []string{"/a"},
	})
	if len(faults)+len(notes) > 0 {
		t.Errorf("a config that can be honoured: %v, %v", faults, notes)
	}
	faults, _ = h.Check(protocol.RunConfig{AdditionalDirectories: []string{"/a", ""}})
	want := []protocol.Fault{{Path: "config.additionalDirectories.1", Message: "must not be empty"}}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	_, notes = h.Check(protocol.RunConfig{DisableTools: new(true), MCPServers: map[string]protocol.MCPServer{"a": {}}})
	if len(notes) != 1 || !strings.Contains(notes[0].Detail, "mcpServers") {
		t.Errorf("diagnostics %v", notes)
	}
}
