package codexappserver

import (
	"fmt"
	"path"
	"time"

	"agent-server/harness"
	"agent-server/protocol"
)

// What an operator sets is here; what a client sets is in a turn's config, and goes to
// the thread when it is made or to each turn.

// Options are what an operator can set. The zero value is the safe default.
type Options struct {
	// HandshakeTimeout bounds the time from a turn's begin to its prompt being
	// written; 0 is 60 s.
	HandshakeTimeout time.Duration
	// UnreachableTimeout bounds how long a turn may go on while Codex cannot reach
	// its provider: Codex itself tries without an end. 0 is 2 min.
	UnreachableTimeout time.Duration
}

// New is the Codex app-server harness.
func New(o Options) harness.Harness {
	if o.HandshakeTimeout == 0 {
		o.HandshakeTimeout = time.Minute
	}
	if o.UnreachableTimeout == 0 {
		o.UnreachableTimeout = 2 * time.Minute
	}
	return adapter{o}
}

// adapter is the Harness: immutable.
type adapter struct{ opts Options }

// passEnv are the variables that Codex documents for its home, for a person's
// login and for where its model is. A provider of the operator's own has a key
// variable of its own name, which --pass-env adds.
var passEnv = []string{
	"CODEX_HOME", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_CA_CERTIFICATE",
	"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT",
	"AZURE_OPENAI_API_KEY",
}

// Info is what is known of Codex without running it.
func (a adapter) Info() harness.Info {
	return harness.Info{
		ID: protocol.HarnessCodexAppServer,
		Capabilities: protocol.AgentCapabilities{
			MultiTurn:          true,
			SessionResume:      true,
			ThinkingLevels:     true,
			Images:             true,
			MCPServers:         true,
			PermissionRequests: true,
			ModelSwitch:        protocol.ModelSwitchInSession,
		},
		Executable: "codex",
		APIKeyEnv:  "OPENAI_API_KEY",
		Steer:      true,
		PassEnv:    append([]string(nil), passEnv...),
		Install:    install,
	}
}

// install is how the CLI tells of itself. A key in a variable is no login for the
// server: its own provider wants one that was made with the command. One that the
// user's configuration names may want none.
var install = harness.Install{
	Version: []string{"--version"},
	Tested:  "0.171.0",
	Login: harness.Login{
		Files: []harness.File{{Var: "CODEX_HOME", Home: ".codex", Name: "auth.json"}},
		Hint:  `run "codex login", or "codex login --with-api-key" with the key on stdin`,
	},
}

// Check refuses what Codex has no word for and a client relies on; the rest of
// what it has no word for is ignored.
func (a adapter) Check(cfg protocol.RunConfig) ([]protocol.Fault, []harness.Diagnostic) {
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
			notes = append(notes, harness.Diagnostic{Message: ignoredMember, Detail: member})
		}
	}
	ignore("additionalDirectories: in this mode the sandbox lets nothing be written",
		len(cfg.AdditionalDirectories) > 0 && policyOf(cfg).sandbox == readOnly)
	ignore("resumeSessionAt", cfg.ResumeSessionID != nil && cfg.ResumeSessionAt != nil)
	for _, s := range cfg.MCPServers {
		ignore("mcpServers: Codex cannot reach sse", s.Type == protocol.MCPSSE)
	}
	return faults, notes
}

// ignoredMember is the diagnostic of a config member that changes nothing.
const ignoredMember = "config member ignored"

// Launch gives the arguments of one process. All else goes through the handshake:
// what stands in argv can be read by others on the machine. A key of the config
// logs in for this process alone: nothing of it is kept.
func (a adapter) Launch(l harness.Launch) (harness.Command, error) {
	args := []string{"app-server"}
	if l.Config.APIKey != nil {
		args = append(args, "-c", `cli_auth_credentials_store="ephemeral"`)
	}
	return harness.Command{Args: args}, nil
}

// New gives the translator of one process. It mints no ids: Codex does.
func (a adapter) New(l harness.Launch, _ func() string) harness.Translator {
	return newTranslator(a.opts, l)
}
