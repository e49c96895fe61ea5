package claudecode

import (
	"fmt"
	"strconv"
	"strings"

	"agent-server/harness"
	"agent-server/protocol"
)

// launchEnv keeps the CLI to its one task.
var launchEnv = []string{
	// What the CLI would find out itself, said so that an inherited one cannot
	// make it believe that it runs inside another.
	"CLAUDE_CODE_ENTRYPOINT=sdk-cli",
	"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1",
	// Nothing goes out but requests to the model.
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	"DISABLE_TELEMETRY=1",
	"DISABLE_ERROR_REPORTING=1",
	"DISABLE_AUTOUPDATER=1",
	"BUN_ENABLE_CRASH_REPORTING=0",
}

// Launch gives the arguments of one process. Values stand behind a = in one
// argument, so that one that begins with a dash stays a value. What may be secret
// or long (MCP servers, the appended system prompt) is not here: it goes through
// the handshake on stdin.
func (a adapter) Launch(l harness.Launch) (harness.Command, error) {
	args := []string{
		// --verbose is what stream-json asks for; stdio makes permissions requests
		// on stdout, where the CLI would else refuse by itself.
		"-p", "--output-format=stream-json", "--input-format=stream-json", "--verbose",
		"--include-partial-messages", "--permission-prompt-tool=stdio",
		// A resumed conversation would else keep the system prompt that it began with,
		// whatever the config says now.
		"--system-prompt-snapshot=off",
		"--setting-sources=" + strings.Join(a.opts.SettingSources, ","),
	}
	if !a.opts.OwnMCP {
		args = append(args, "--strict-mcp-config")
	}
	args = append(args, sessionArgs(l)...)
	args = append(args, configArgs(l.Config)...)
	for _, arg := range args {
		if strings.ContainsRune(arg, 0) {
			return harness.Command{}, fmt.Errorf("launching Claude Code: a NUL in %s", strings.SplitN(arg, "=", 2)[0])
		}
	}
	return harness.Command{Args: args, Env: append([]string(nil), launchEnv...)}, nil
}

// sessionArgs say which native session the process runs.
func sessionArgs(l harness.Launch) []string {
	if l.Resume == "" {
		if l.NativeID == "" {
			return nil
		}
		return []string{"--session-id=" + l.NativeID}
	}
	args := []string{"--resume=" + l.Resume}
	if l.ResumeAt != "" {
		args = append(args, "--resume-session-at="+l.ResumeAt)
	}
	return args
}

// configArgs are the members of a config that only a launch can set.
func configArgs(cfg protocol.RunConfig) []string {
	// Said always: a person's settings may name another default.
	args := []string{"--permission-mode=" + modes[cfg.PermissionMode]}
	if model := modelOf(cfg); model != "" {
		args = append(args, "--model="+model)
	}
	if cfg.MaxTurns != nil {
		args = append(args, "--max-turns="+strconv.FormatInt(*cfg.MaxTurns, 10))
	}
	// Off has no flag: it goes with the handshake.
	if cfg.ThinkingLevel != "" && cfg.ThinkingLevel != protocol.ThinkingOff {
		args = append(args, "--effort="+string(cfg.ThinkingLevel))
	}
	for _, dir := range cfg.AdditionalDirectories {
		args = append(args, "--add-dir="+dir)
	}
	if toolsDisabled(cfg) {
		// An empty list is no tool at all; an absent one is all of them.
		args = append(args, "--tools=")
	}
	return args
}
