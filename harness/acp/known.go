package acp

import (
	"time"

	"agent-server/protocol"
)

// Known are the agents that are configured by name, in order of their ids. What is
// said of one that is untested here is what its own pages say; the rest was seen in
// recordings.
func Known() []Agent {
	return []Agent{claudeAgent, codex, copilot, cursor, gemini, goose, kimi, opencode, pi, qwen}
}

// Tested says whether an agent of that id was driven, not only read about.
func Tested(id protocol.HarnessID) bool {
	switch id {
	case cursor.ID, goose.ID, kimi.ID, pi.ID:
		return false
	}
	return true
}

// able is what an agent can do that opens old sessions and changes its model
// within one.
func able() *protocol.AgentCapabilities {
	return &protocol.AgentCapabilities{
		MultiTurn: true, SessionResume: true, Images: true, MCPServers: true, PermissionRequests: true,
		ModelSwitch: protocol.ModelSwitchInSession,
	}
}

// with is able with one difference.
func with(change func(*protocol.AgentCapabilities)) *protocol.AgentCapabilities {
	c := able()
	change(c)
	return c
}

// lateChunks is how long some agents' last words may come after their answer.
const lateChunks = 200 * time.Millisecond

var (
	// claudeAgent runs Claude Code behind ACP. Its own mode is one in which a
	// classifier decides, so that a mode is always set.
	claudeAgent = Agent{
		ID: "claude-agent-acp", Login: "claude /login", Executable: "claude-agent-acp", APIKeyEnv: "ANTHROPIC_API_KEY",
		PassEnv:      []string{"ANTHROPIC_*", "CLAUDE_CODE_*", "CLAUDE_CONFIG_DIR", "IS_SANDBOX", "DISABLE_AUTOUPDATER"},
		Capabilities: able(),
		Quirks:       Quirks{Grace: lateChunks},
	}
	// codex is codex-acp. Rejecting once ends the whole turn; that is its own word
	// (fixtures/codex-acp/permission_reject). Its "always" is a rule on disk, and it
	// numbers its calls in their inputs (permission_always); what it runs outlives a
	// cancel (cancel_in_tool), and the turn behind one that failed (model_error) once hung
	// where the machine was busy.
	codex = Agent{
		ID: "codex-acp", Login: "codex login", Executable: "codex-acp", APIKeyEnv: "OPENAI_API_KEY",
		PassEnv:      []string{"CODEX_*", "OPENAI_*"},
		Capabilities: able(),
		Quirks:       Quirks{AlwaysOnDisk: true, LeavesTools: true, LosesNext: true, CallInInput: true},
	}
	// copilot never fails a turn: what went wrong, it says.
	copilot = Agent{
		ID: "copilot", Login: "copilot login", Executable: "copilot", Args: []string{"--acp"},
		PassEnv:      []string{"COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"},
		Capabilities: able(),
		Quirks:       Quirks{ErrorText: true},
	}
	cursor = Agent{ID: "cursor", Executable: "cursor-agent", Args: []string{"acp"}, APIKeyEnv: "CURSOR_API_KEY", PassEnv: []string{"CURSOR_*"}}
	// gemini says that it opens old sessions, and fails (fixtures/gemini/crash,
	// resume_fallback).
	gemini = Agent{
		ID: "gemini", Executable: "gemini", Args: []string{"--acp"}, APIKeyEnv: "GEMINI_API_KEY",
		Env:           []string{"GEMINI_CLI_NO_RELAUNCH=true"}, // one process, which hears its signals
		KeyAuthMethod: "gemini-api-key",
		PassEnv:       []string{"GEMINI_*", "GOOGLE_*"},
		Capabilities:  with(func(c *protocol.AgentCapabilities) { c.SessionResume = false }),
		Modes: map[protocol.PermissionMode]string{
			protocol.ModeAcceptEdits: "autoEdit", protocol.ModeBypassPermissions: "yolo",
		},
		Quirks: Quirks{NoReopen: true, Chatter: "[MODE_UPDATE] "},
	}
	goose = Agent{ID: "goose", Executable: "goose", Args: []string{"acp"}, PassEnv: []string{"GOOSE_*"}}
	kimi  = Agent{ID: "kimi", Executable: "kimi", Args: []string{"acp"}, PassEnv: []string{"KIMI_*"}}
	// opencode allows everything unless its own configuration says otherwise. A refusal
	// ends its turn (fixtures/opencode/permission_reject). It takes long to start.
	opencode = Agent{
		ID: "opencode", Login: "opencode auth login", Executable: "opencode", Args: []string{"acp"},
		Env:          []string{"OPENCODE_DISABLE_AUTOUPDATE=1"},
		PassEnv:      []string{"OPENCODE_*", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"},
		Capabilities: with(func(c *protocol.AgentCapabilities) { c.ThinkingLevels = true }),
		// A minute was not enough on a busy machine.
		HandshakeTimeout: 3 * time.Minute,
		Quirks:           Quirks{Grace: lateChunks},
	}
	pi = Agent{ID: "pi", Executable: "pi-acp", PassEnv: []string{"PI_*"}}
	// qwen has an "always" for the project and one for the user, both on disk.
	qwen = Agent{
		ID: "qwen", Executable: "qwen", Args: []string{"--acp"}, APIKeyEnv: "OPENAI_API_KEY",
		PassEnv:      []string{"OPENAI_*", "QWEN_*", "DASHSCOPE_API_KEY"},
		Capabilities: able(),
		Quirks:       Quirks{AlwaysOnDisk: true},
	}
)
