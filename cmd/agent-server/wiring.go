package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"agent-server/gateway"
	"agent-server/harness/acp"
	"agent-server/harness/claudecode"
	"agent-server/protocol"
)

// demoCommand is the hidden subcommand that the demo harness runs.
const demoCommand = "demo-agent"

// setup is what serve and run have in common.
type setup struct {
	claude     string
	acpAgents  []string
	acpDefault string
	passEnv    []string
	maxMode    string
	logLevel   string
}

func (s *setup) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.claude, "claude-path", "", "executable of Claude Code (default: claude on PATH)")
	f.StringArrayVar(&s.acpAgents, "acp-agent", nil, `an ACP agent as harness: NAME=COMMAND [ARG…] (repeatable)`)
	f.StringVar(&s.acpDefault, "acp-default", "", `which agent plain harness id "acp" means (default: the first --acp-agent)`)
	f.StringArrayVar(&s.passEnv, "pass-env", nil, "a further variable that harnesses inherit (repeatable)")
	f.StringVar(&s.maxMode, "max-permission-mode", "", "the widest permission mode that clients may ask for")
	f.StringVar(&s.logLevel, "log-level", "warn", "what goes to stderr: debug, info, warn, error")
}

// options joins the packages: the one place that knows every harness.
func (s *setup) options() (gateway.Options, error) {
	o := gateway.Options{PassEnv: s.passEnv, MaxPermissionMode: protocol.PermissionMode(s.maxMode), Version: version}
	var err error
	if o.Logger, err = s.logger(); err != nil {
		return o, err
	}
	self, err := os.Executable()
	if err != nil {
		return o, fmt.Errorf("finding our own executable for the demo agent: %w", err)
	}
	o.Harnesses = []gateway.Registration{
		{Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo}), Path: self, Args: []string{demoCommand}},
		{Harness: claudecode.New(claudecode.Options{}), Path: s.claude},
	}
	return o, s.addAgents(&o)
}

// addAgents registers the operator's ACP agents.
func (s *setup) addAgents(o *gateway.Options) error {
	for _, def := range s.acpAgents {
		name, command, _ := strings.Cut(def, "=")
		words := strings.Fields(command)
		if name == "" || len(words) == 0 {
			return fmt.Errorf("--acp-agent %q: want NAME=COMMAND [ARG…]", def)
		}
		id := protocol.HarnessID(name)
		o.Harnesses = append(o.Harnesses, gateway.Registration{
			Harness: acp.New(acp.Agent{ID: id}), Path: words[0], Args: words[1:]})
		if o.DefaultACP == "" {
			o.DefaultACP = id
		}
	}
	if s.acpDefault != "" {
		o.DefaultACP = protocol.HarnessID(s.acpDefault)
	}
	return nil
}

// logger writes to stderr, whose lines are talk.
func (s *setup) logger() (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(s.logLevel)
	if err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime = zapcore.ISO8601TimeEncoder
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(c), zapcore.Lock(os.Stderr), level)
	return zap.New(core), nil
}
