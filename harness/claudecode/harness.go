package claudecode

import (
	"fmt"
	"time"

	"agent-server/harness"
	"agent-server/protocol"
)

// Options are what an operator can set. The zero value is the safe default.
type Options struct {
	// SettingSources are the settings files that the CLI loads: user, project,
	// local. nil is user alone, so that a person's login and settings work but a
	// project cannot bring hooks, servers and rules that run code. Empty, not
	// nil: none.
	SettingSources []string
	// OwnMCP lets the CLI load MCP servers that it finds in settings and in the
	// project as well. Default: those of the config alone.
	OwnMCP bool
	// HandshakeTimeout bounds the time from a turn's begin to its prompt being
	// written; 0 is 60 s.
	HandshakeTimeout time.Duration
}

// New is the Claude Code harness.
func New(o Options) harness.Harness {
	if o.SettingSources == nil {
		o.SettingSources = []string{"user"}
	}
	if o.HandshakeTimeout == 0 {
		o.HandshakeTimeout = time.Minute
	}
	return adapter{o}
}

// install is how the CLI tells of itself. A login in the system's key store, as on
// macOS, or one that a command of the user's settings gives, is not found.
var install = harness.Install{
	Version: []string{"--version"},
	Env:     []string{"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
	Tested:  "2.1.332",
	Login: harness.Login{
		Env: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
			"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"},
		Files: []harness.File{{Var: "CLAUDE_CONFIG_DIR", Home: ".claude", Name: ".credentials.json"}},
		Hint:  "run claude and type /login, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN",
	},
}

// adapter is the Harness: immutable.
type adapter struct{ opts Options }

// passEnv are the variables that the CLI documents for a person's login, for
// where its model is, and for its limits. Not among them: ANTHROPIC_LOG, which
// makes it write to stdout, and what marks one CLI inside another.
var passEnv = []string{
	// Its own service, or a gateway in front of it.
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS",
	"ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_*",
	// A person's subscription, and where the CLI keeps its login and settings.
	"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR",
	// The clouds that host the models.
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "ANTHROPIC_BEDROCK_BASE_URL",
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK",
	"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
	"CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "ANTHROPIC_VERTEX_BASE_URL",
	"ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION", "VERTEX_REGION_*",
	"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT",
	"CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH", "ANTHROPIC_FOUNDRY_*",
	// Certificates towards a proxy.
	"CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
	// Limits that an operator sets.
	"CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "MAX_THINKING_TOKENS", "MAX_MCP_OUTPUT_TOKENS",
	"API_TIMEOUT_MS", "MCP_TIMEOUT", "MCP_TOOL_TIMEOUT",
	"BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "BASH_MAX_OUTPUT_LENGTH",
	// IS_SANDBOX lets root run without permissions, where a container is the wall.
	"DISABLE_PROMPT_CACHING", "IS_SANDBOX",
}

// Info is what is known of the CLI without running it.
func (a adapter) Info() harness.Info {
	return harness.Info{
		ID: protocol.HarnessClaudeCode,
		Capabilities: protocol.AgentCapabilities{
			MultiTurn:          true,
			SessionResume:      true,
			ThinkingLevels:     true,
			Images:             true,
			MCPServers:         true,
			PermissionRequests: true,
			ModelSwitch:        protocol.ModelSwitchInSession,
		},
		Executable: "claude",
		APIKeyEnv:  "ANTHROPIC_API_KEY",
		Steer:      true,
		PassEnv:    append([]string(nil), passEnv...),
		Install:    install,
	}
}

// Check finds nothing in a config that the CLI cannot honour, but for
// directories without a name, and servers where every tool is forbidden.
func (a adapter) Check(cfg protocol.RunConfig) ([]protocol.Fault, []harness.Diagnostic) {
	var faults []protocol.Fault
	for i, dir := range cfg.AdditionalDirectories {
		if dir == "" {
			faults = append(faults, protocol.Fault{Path: fmt.Sprintf("config.additionalDirectories.%d", i), Message: "must not be empty"})
		}
	}
	var notes []harness.Diagnostic
	if toolsDisabled(cfg) && len(cfg.MCPServers) > 0 {
		notes = append(notes, harness.Diagnostic{Message: "config member ignored", Detail: "mcpServers: disableTools forbids their tools"})
	}
	return faults, notes
}

// New gives the translator of one process.
func (a adapter) New(l harness.Launch, newID func() string) harness.Translator {
	return newTranslator(a.opts, l, newID)
}

// toolsDisabled says whether a config forbids every tool.
func toolsDisabled(cfg protocol.RunConfig) bool {
	return cfg.DisableTools != nil && *cfg.DisableTools
}

// modelOf is the model a config names; "": the CLI's default.
func modelOf(cfg protocol.RunConfig) string {
	if cfg.Model == nil {
		return ""
	}
	return *cfg.Model
}

// modes maps our permission modes to the CLI's.
var modes = map[protocol.PermissionMode]string{
	"":                             "default",
	protocol.ModeDefault:           "default",
	protocol.ModePlan:              "plan",
	protocol.ModeAcceptEdits:       "acceptEdits",
	protocol.ModeDontAsk:           "dontAsk",
	protocol.ModeBypassPermissions: bypass,
}

// bypass is the one mode that a process must have been launched with.
const bypass = "bypassPermissions"
