package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"agent-server/gateway"
	"agent-server/harness/acp"
	"agent-server/harness/claudecode"
	"agent-server/harness/codexappserver"
	"agent-server/harness/codexexec"
	"agent-server/protocol"
)

// demoCommand is the hidden subcommand that the demo harness runs.
const demoCommand = "demo-agent"

// modes are the words of a permission mode, which the protocol closes. A test holds
// them to what its decoder takes.
var modes = []protocol.PermissionMode{protocol.ModeDefault, protocol.ModePlan, protocol.ModeAcceptEdits, protocol.ModeDontAsk, protocol.ModeBypassPermissions}

// modeList spells them for people.
func modeList() string {
	words := make([]string, len(modes))
	for i, m := range modes {
		words[i] = string(m)
	}
	return strings.Join(words, ", ")
}

// validMode refuses a word that is no mode; none at all is valid.
func validMode(m protocol.PermissionMode) error {
	if m != "" && !slices.Contains(modes, m) {
		return fmt.Errorf("%q is none of %s", m, modeList())
	}
	return nil
}

// How lines of the log look.
const (
	// logConsole is for people; so is none at all.
	logConsole = "console"
	// logJSON is for programs: one object a line.
	logJSON = "json"
)

// setup is what serve and run have in common.
//
// All of it is the operator's: no client can name an executable or widen a mode.
type setup struct {
	// config is the operator's file; "": the usual one, if there is one.
	config string
	// claude is Claude Code's executable; "": claude on PATH.
	claude string
	// codex is Codex's native executable; "": codex on PATH.
	codex string
	// acpAgents are NAME=COMMAND; acpDefault is what plain acp means, "" the
	// first of them.
	acpAgents  []string
	acpDefault string
	// passEnv names variables that harnesses inherit beyond the allow-list.
	passEnv []string
	// maxMode is a permission mode; "": no cap.
	maxMode bound
	// logLevel is zap's word; logFormat is one of the two below.
	logLevel, logFormat string
}

// flags are the same for both: what runs in a shell can be served.
func (s *setup) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.config, "config", "", "a file of agents (default: "+configText+"; none: no file)")
	f.StringVar(&s.claude, "claude-path", "", "executable of Claude Code (default: claude on PATH)")
	f.StringVar(&s.codex, "codex-path", "", "executable of Codex, the native one (default: codex on PATH)")
	f.StringArrayVar(&s.acpAgents, "acp-agent", nil, `an ACP agent as harness: NAME=COMMAND [ARG…], split at blanks; --config takes paths with blanks (repeatable)`)
	f.StringVar(&s.acpDefault, "acp-default", "", `which agent plain harness id "acp" means (default: the first --acp-agent)`)
	f.StringArrayVar(&s.passEnv, "pass-env", nil, "a further variable that harnesses inherit (repeatable)")
	f.Var(&s.maxMode, "max-permission-mode", "the widest permission mode that may be asked for (default: no limit)")
	f.StringVar(&s.logLevel, "log-level", "warn", "what goes to stderr: debug, info, warn, error")
	f.StringVar(&s.logFormat, "log-format", logConsole, "how it looks there: console, json")
}

// options joins the packages: the one place that knows every harness.
//
// The demo is this very executable, found by its path and not by its name, so that
// it works from "go run" and from a test as well. Executables are looked for when
// they are needed: what is installed later is there without a restart.
func (s *setup) options() (gateway.Options, error) {
	o := gateway.Options{PassEnv: s.passEnv, MaxPermissionMode: protocol.PermissionMode(s.maxMode), Version: ownVersion()}
	err := validMode(o.MaxPermissionMode)
	if err != nil {
		return o, fmt.Errorf("--max-permission-mode: %w", err)
	}
	if o.Logger, err = s.logger(); err != nil {
		return o, err
	}
	file, err := readConfig(s.config)
	if err != nil {
		return o, err
	}
	self, err := os.Executable()
	if err != nil {
		return o, fmt.Errorf("finding our own executable for the demo agent: %w", err)
	}
	o.Harnesses = []gateway.Registration{
		{Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo}), Path: self, Args: []string{demoCommand}, Version: o.Version},
		{Harness: claudecode.New(claudecode.Options{}), Path: cmp.Or(s.claude, file.ClaudePath)},
		{Harness: codexappserver.New(codexappserver.Options{}), Path: cmp.Or(s.codex, file.CodexPath)},
		{Harness: codexexec.New(), Path: cmp.Or(s.codex, file.CodexPath)},
	}
	return o, s.addAgents(&o, file)
}

// addAgents registers the ACP agents of the flags, of the file, and those that are
// known by name: what comes first has a name. Two of one kind and name, or one of a
// name that is no agent's, are refused by the gateway.
func (s *setup) addAgents(o *gateway.Options, file *config) error {
	if err := s.addOwn(o); err != nil {
		return err
	}
	named := func(id protocol.HarnessID) bool {
		return slices.ContainsFunc(o.Harnesses, func(r gateway.Registration) bool { return r.Harness.Info().ID == id })
	}
	o.Harnesses = append(o.Harnesses, file.registrations(named)...)
	for _, known := range acp.Known() {
		if !named(known.ID) {
			o.Harnesses = append(o.Harnesses, gateway.Registration{Harness: acp.New(known)})
		}
	}
	return s.setDefault(o, file, named)
}

// setDefault says what plain acp means: what a flag says, else the file, else the
// first agent of the flags.
func (s *setup) setDefault(o *gateway.Options, file *config, named func(protocol.HarnessID) bool) error {
	switch id := protocol.HarnessID(file.ACPDefault); {
	case s.acpDefault != "":
		o.DefaultACP = protocol.HarnessID(s.acpDefault)
	case id == "":
	case !named(id):
		return file.wrong("/acpDefault", "there is no agent %q", id)
	default:
		o.DefaultACP = id
	}
	return nil
}

// addOwn registers those of the flags.
func (s *setup) addOwn(o *gateway.Options) error {
	for _, def := range s.acpAgents {
		name, command, _ := strings.Cut(def, "=")
		words := strings.Fields(command)
		if name == "" || len(words) == 0 {
			return fmt.Errorf("--acp-agent %q: want NAME=COMMAND [ARG…]", def)
		}
		if err := agentName(name); err != nil {
			return fmt.Errorf("--acp-agent %q: %w", def, err)
		}
		id := protocol.HarnessID(name)
		o.Harnesses = append(o.Harnesses, gateway.Registration{
			Harness: acp.New(acp.Agent{ID: id, Args: []string{}}), Path: words[0], Args: words[1:]})
		if o.DefaultACP == "" {
			o.DefaultACP = id
		}
	}
	return nil
}

// logger writes to stderr, whose lines are talk.
func (s *setup) logger() (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(s.logLevel)
	if err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	if !slices.Contains([]string{"", logConsole, logJSON}, s.logFormat) {
		return nil, fmt.Errorf("--log-format: %q is none of %s, %s", s.logFormat, logConsole, logJSON)
	}
	return zap.New(s.core(level)), nil
}

// core writes lines of one level and above, in the format that was asked for.
func (s *setup) core(level zapcore.Level) zapcore.Core {
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime = zapcore.ISO8601TimeEncoder
	encoder := zapcore.NewConsoleEncoder(c)
	if s.logFormat == logJSON {
		encoder = zapcore.NewJSONEncoder(c)
	}
	return zapcore.NewCore(encoder, zapcore.Lock(os.Stderr), level)
}

// available says why a turn cannot be run on a harness here, and what it can be
// run on; nil: it can. The gateway would refuse it as well, without the reason.
func available(o gateway.Options, id protocol.HarnessID) error {
	var here []string
	why := "no harness of that name"
	for _, reg := range o.Harnesses {
		own := reg.Harness.Info().ID
		asked := own == id || id == protocol.HarnessACP && own == o.DefaultACP
		err := executable(reg)
		switch {
		case err == nil && asked:
			return nil
		case err == nil:
			here = append(here, string(own))
		case asked:
			why = err.Error()
		}
	}
	return fmt.Errorf("%s (available here: %s)", why, strings.Join(here, ", "))
}

// executable says why a harness cannot be started; it starts nothing. Whether it
// is logged in, a turn finds out.
func executable(reg gateway.Registration) error {
	name := reg.Path
	if name == "" {
		name = reg.Harness.Info().Executable
	}
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("its executable cannot be found: %w", err)
	}
	return nil
}
