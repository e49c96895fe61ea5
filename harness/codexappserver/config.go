package codexappserver

import (
	"agent-server/protocol"
)

// policy is what a permission mode means to Codex.
type policy struct {
	// sandbox is the word of thread/start.
	sandbox string
	// approval is when Codex asks.
	approval string
}

// policies maps our permission modes. A sandbox that denies is never asked about
// by itself: on-request, the model asks to leave it.
var policies = map[protocol.PermissionMode]policy{
	protocol.ModePlan:              {readOnly, "never"},
	protocol.ModeDefault:           {readOnly, "on-request"},
	protocol.ModeAcceptEdits:       {workspaceWrite, "on-request"},
	protocol.ModeDontAsk:           {workspaceWrite, "never"},
	protocol.ModeBypassPermissions: {fullAccess, "never"},
}

// The sandboxes, as thread/start spells them.
const (
	readOnly       = "read-only"
	workspaceWrite = "workspace-write"
	fullAccess     = "danger-full-access"
)

// policyOf is the policy of a config; no mode is the default one.
func policyOf(cfg protocol.RunConfig) policy {
	if p, ok := policies[cfg.PermissionMode]; ok {
		return p
	}
	return policies[protocol.ModeDefault]
}

// sandboxPolicy is a sandbox as turn/start spells it.
type sandboxPolicy struct {
	// Type is readOnly, workspaceWrite or dangerFullAccess.
	Type string `json:"type"`
	// WritableRoots are beside the working directory; workspaceWrite only.
	WritableRoots []string `json:"writableRoots,omitzero"`
	// NetworkAccess is false: a command that wants out has to be asked for.
	NetworkAccess *bool `json:"networkAccess,omitzero"`
}

// policy is the sandbox of a turn.
func (p policy) policy(cfg protocol.RunConfig) sandboxPolicy {
	switch p.sandbox {
	case workspaceWrite:
		return sandboxPolicy{"workspaceWrite", cfg.AdditionalDirectories, new(false)}
	case fullAccess:
		return sandboxPolicy{Type: "dangerFullAccess"}
	}
	return sandboxPolicy{Type: "readOnly", NetworkAccess: new(false)}
}

// defaults are what a thread runs with where a turn names nothing. Overrides of a
// turn stick, so a turn without one has to say the default.
type defaults struct {
	// model is never "" once the thread is open.
	model string
	// effort is "" where the model's own default holds.
	effort string
	// moved says that a turn has set the effort.
	moved bool
}

// efforts maps our thinking levels.
var efforts = map[protocol.ThinkingLevel]string{
	protocol.ThinkingOff:    "minimal",
	protocol.ThinkingLow:    "low",
	protocol.ThinkingMedium: "medium",
	protocol.ThinkingHigh:   "high",
	protocol.ThinkingXHigh:  "xhigh",
}

// fallbackEffort takes back an effort where the thread named none of its own.
const fallbackEffort = "medium"

// effort is what a turn asks for; "" leaves it as it is.
func (d *defaults) turnEffort(cfg protocol.RunConfig) string {
	if e := efforts[cfg.ThinkingLevel]; e != "" {
		d.moved = true
		return e
	}
	if !d.moved {
		return ""
	}
	if d.effort != "" {
		return d.effort
	}
	return fallbackEffort
}

// turnModel is the model of a turn; "" leaves it as it is.
func (d *defaults) turnModel(cfg protocol.RunConfig) string {
	if cfg.Model != nil && *cfg.Model != "" {
		return *cfg.Model
	}
	return d.model
}

// threadParams are those of thread/start and thread/resume.
type threadParams struct {
	// ThreadID is the thread to go on with; absent for a new one.
	ThreadID string `json:"threadId,omitzero"`
	// ExcludeTurns spares us the history of an old one.
	ExcludeTurns bool `json:"excludeTurns,omitzero"`
	// Cwd is absolute; Codex takes one that does not exist too.
	Cwd string `json:"cwd"`
	// Model is absent for Codex's default.
	Model *string `json:"model,omitzero"`
	// ApprovalPolicy and Sandbox are said always: a person's settings may name
	// others, and an old thread may have had them.
	ApprovalPolicy string `json:"approvalPolicy"`
	Sandbox        string `json:"sandbox"`
	// DeveloperInstructions are what is added to the system prompt.
	DeveloperInstructions *string `json:"developerInstructions,omitzero"`
	// Config overrides what the settings say; absent where nothing is.
	Config *overrides `json:"config,omitzero"`
}

// overrides are settings of one thread.
type overrides struct {
	// MCPServers are added to those of the person's settings, by name.
	MCPServers map[string]mcpServer `json:"mcp_servers"`
}

// mcpServer is one server as Codex's settings have it.
type mcpServer struct {
	// Command, Args and Env start a stdio server. Env is secret.
	Command string            `json:"command,omitzero"`
	Args    []string          `json:"args,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
	// URL and Headers reach one over HTTP. Headers are secret.
	URL     string            `json:"url,omitzero"`
	Headers map[string]string `json:"http_headers,omitzero"`
}

// threadParams are those of the thread that this process is for.
func (t *translator) threadParams() threadParams {
	cfg := t.launch.Config
	p := policyOf(cfg)
	return threadParams{
		ThreadID: t.launch.Resume, ExcludeTurns: t.launch.Resume != "", Cwd: cfg.Cwd, Model: cfg.Model,
		ApprovalPolicy: p.approval, Sandbox: p.sandbox,
		DeveloperInstructions: cfg.SystemPromptAppend, Config: overridesOf(cfg),
	}
}

// overridesOf are the settings of a config; nil where it has none.
func overridesOf(cfg protocol.RunConfig) *overrides {
	servers := map[string]mcpServer{}
	for name, s := range cfg.MCPServers {
		switch s.Type {
		case protocol.MCPStdio:
			servers[name] = mcpServer{Command: s.Command, Args: s.Args, Env: s.Env}
		case protocol.MCPHTTP:
			servers[name] = mcpServer{URL: s.URL, Headers: s.Headers}
		}
	}
	if len(servers) == 0 {
		return nil
	}
	return &overrides{servers}
}
