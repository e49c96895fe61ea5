package acp

import (
	"agent-server/harness"
	"agent-server/protocol"
)

// installs is how the agents that are known by name tell of themselves. One that has
// no row, or no member of one, is not asked: what a program does with an argument
// that it does not know, nobody knows.
var installs = map[protocol.HarnessID]harness.Install{
	protocol.HarnessDemo: {Login: harness.Login{Needless: true}},
	claudeAgent.ID: {
		Version: versionFlag, Tested: "0.101.0",
		Login: harness.Login{
			Env:   []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"},
			Files: []harness.File{{Var: "CLAUDE_CONFIG_DIR", Home: ".claude", Name: ".credentials.json"}},
			Hint:  "log in with Claude Code itself (claude, then /login), or set ANTHROPIC_API_KEY",
		},
	},
	// It refuses --version.
	codex.ID: {
		Tested: "0.16.0",
		Login: harness.Login{
			Env:   []string{"CODEX_API_KEY", "OPENAI_API_KEY"},
			Files: []harness.File{{Var: "CODEX_HOME", Home: ".codex", Name: "auth.json"}},
			Hint:  `run "codex login", or set CODEX_API_KEY or OPENAI_API_KEY`,
		},
	},
	// What it keeps in the system's key store is not looked at.
	copilot.ID: {
		Version: versionFlag, Env: []string{"COPILOT_AUTO_UPDATE=false"}, Tested: "1.0.102",
		Login: harness.Login{
			Env:  []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"},
			Hint: "run copilot, then /login, or set COPILOT_GITHUB_TOKEN",
		},
	},
	cursor.ID: {
		Version: versionFlag,
		Login:   harness.Login{Env: []string{"CURSOR_API_KEY"}, Hint: `run "cursor-agent login", or set CURSOR_API_KEY`},
	},
	gemini.ID: {
		Version: versionFlag, Env: []string{"GEMINI_CLI_NO_RELAUNCH=true"}, Tested: "0.61.0",
		Login: harness.Login{
			Env:   []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"},
			Files: []harness.File{{Home: ".gemini", Name: "oauth_creds.json"}},
			Hint:  "run gemini and log in there, or set GEMINI_API_KEY",
		},
	},
	goose.ID: {Version: versionFlag, Login: harness.Login{Hint: `run "goose configure"`}},
	kimi.ID:  {Version: versionFlag, Login: harness.Login{Hint: "run kimi, then /login"}},
	opencode.ID: {
		Version: versionFlag, Env: []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}, Tested: "1.18.33",
		Login: harness.Login{
			Env:   []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"},
			Files: []harness.File{{Var: "XDG_DATA_HOME", Home: ".local/share", Name: "opencode/auth.json"}},
			Hint:  `run "opencode auth login", or set the key of a provider`,
		},
	},
	qwen.ID: {
		Version: versionFlag, Tested: "0.24.4",
		Login: harness.Login{
			Env:   []string{"OPENAI_API_KEY", "DASHSCOPE_API_KEY"},
			Files: []harness.File{{Home: ".qwen", Name: "oauth_creds.json"}},
			Hint:  "run qwen, then /auth, or set OPENAI_API_KEY",
		},
	},
}

// versionFlag is what most of them are asked with.
var versionFlag = []string{"--version"}

// install is the row of the agent that this one is, or is like.
func (a Agent) install() harness.Install {
	if a.Like != "" {
		return installs[a.Like]
	}
	return installs[a.ID]
}
