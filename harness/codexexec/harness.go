package codexexec

import (
	"fmt"
	"path"
	"strings"

	"agent-server/harness"
	"agent-server/protocol"
)

// What stands in argv can be read by others on the machine, so no secret does: the key
// is in the environment, the prompt on stdin. Servers of a config hold secrets that
// have no other way, which is why they are not taken.

// New is the codex exec harness.
func New() harness.Harness { return adapter{} }

// adapter is the Harness: immutable.
type adapter struct{}

// passEnv are the variables that Codex documents for its home, for a person's
// login and for where its model is.
var passEnv = []string{
	"CODEX_HOME", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_CA_CERTIFICATE",
	"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT",
	"AZURE_OPENAI_API_KEY",
}

// Info is what is known of Codex without running it.
func (adapter) Info() harness.Info {
	return harness.Info{
		ID: protocol.HarnessCodexSDK,
		Capabilities: protocol.AgentCapabilities{
			MultiTurn:      true,
			SessionResume:  true,
			ThinkingLevels: true,
			ModelSwitch:    protocol.ModelSwitchInSession,
		},
		Executable: "codex",
		APIKeyEnv:  "CODEX_API_KEY",
		PassEnv:    append([]string(nil), passEnv...),
		Install:    install,
	}
}

// install is how the CLI tells of itself.
var install = harness.Install{
	Version: []string{"--version"},
	Tested:  "0.171.0",
	Login: harness.Login{
		Env:   []string{"CODEX_API_KEY"},
		Files: []harness.File{{Var: "CODEX_HOME", Home: ".codex", Name: "auth.json"}},
		Hint:  `run "codex login", or set CODEX_API_KEY`,
	},
}

// Check refuses what Codex has no word for and a client relies on; the rest of
// what it has no word for is ignored.
func (adapter) Check(cfg protocol.RunConfig) ([]protocol.Fault, []harness.Diagnostic) {
	var faults []protocol.Fault
	refuse := func(member, why string, given bool) {
		if given {
			faults = append(faults, protocol.Fault{Path: "config." + member, Message: why})
		}
	}
	refuse("maxTurns", "Codex has no bound on the model's rounds", cfg.MaxTurns != nil)
	refuse("disableTools", "Codex cannot be run without its tools", cfg.DisableTools != nil && *cfg.DisableTools)
	for i, dir := range cfg.AdditionalDirectories {
		refuse(fmt.Sprintf("additionalDirectories.%d", i), "must be an absolute path", !path.IsAbs(dir))
	}
	var notes []harness.Diagnostic
	ignore := func(member string, given bool) {
		if given {
			notes = append(notes, harness.Diagnostic{Message: "config member ignored", Detail: member})
		}
	}
	ignore("resumeSessionAt", cfg.ResumeSessionID != nil && cfg.ResumeSessionAt != nil)
	// Their env and headers are secrets, and there is no way but argv.
	ignore("mcpServers: codex exec takes them by its arguments alone", len(cfg.MCPServers) > 0)
	return faults, notes
}

// sandboxes maps our permission modes. Nobody can be asked, so the default mode
// lets the workspace be written in.
var sandboxes = map[protocol.PermissionMode]string{
	"":                             "workspace-write",
	protocol.ModePlan:              "read-only",
	protocol.ModeDefault:           "workspace-write",
	protocol.ModeAcceptEdits:       "workspace-write",
	protocol.ModeDontAsk:           "workspace-write",
	protocol.ModeBypassPermissions: "danger-full-access",
}

// efforts maps our thinking levels.
var efforts = map[protocol.ThinkingLevel]string{
	protocol.ThinkingOff:    "minimal",
	protocol.ThinkingLow:    "low",
	protocol.ThinkingMedium: "medium",
	protocol.ThinkingHigh:   "high",
	protocol.ThinkingXHigh:  "xhigh",
}

// Launch gives the arguments of one process. The prompt goes by stdin, which is
// then closed: Codex reads it to its end, whatever its arguments say.
func (adapter) Launch(l harness.Launch) (harness.Command, error) {
	cfg := l.Config
	args := []string{"exec", "--json", "--skip-git-repo-check", "--sandbox=" + sandboxes[cfg.PermissionMode]}
	// Said always: a person's settings may name another.
	args = append(args, "-c", `approval_policy="never"`)
	if cfg.Model != nil && *cfg.Model != "" {
		args = append(args, "--model="+*cfg.Model)
	}
	if e := efforts[cfg.ThinkingLevel]; e != "" {
		args = append(args, "-c", "model_reasoning_effort="+quote(e))
	}
	if cfg.SystemPromptAppend != nil {
		args = append(args, "-c", "developer_instructions="+quote(*cfg.SystemPromptAppend))
	}
	for _, dir := range cfg.AdditionalDirectories {
		args = append(args, "--add-dir="+dir)
	}
	if l.Resume != "" {
		if l.Resume[0] == '-' {
			return harness.Command{}, fmt.Errorf("launching codex exec: the native id begins with a dash")
		}
		args = append(args, "resume", l.Resume)
	}
	for _, arg := range args {
		if strings.ContainsRune(arg, 0) {
			return harness.Command{}, fmt.Errorf("launching codex exec: a NUL in an argument")
		}
	}
	return harness.Command{Args: append(args, "-"), StdinOnce: true}, nil
}

// quote is a text as a TOML string, which a JSON string is but for DEL.
func quote(s string) string {
	return strings.ReplaceAll(string(protocol.AppendString(nil, s)), "\x7f", `\u007f`)
}

// New gives the translator of one process, which runs one turn.
func (adapter) New(l harness.Launch, newID func() string) harness.Translator {
	return &translator{launch: l, newID: newID, items: map[string]*item{}}
}
