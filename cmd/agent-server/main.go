// Command agent-server is one gateway for coding agents: it spawns their CLIs,
// turns what they say into one lifecycle stream, and serves it over JSON-RPC.
//
// It decides what flags mean, how the packages are joined, and what is printed.
// stdout is data, stderr is talk. It refuses to know what events mean: rendering
// folds them with the shipped reducer.
//
// main runs on one goroutine; whatever it starts is waited for before it exits.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"agent-server/harness/process"
)

// Exit codes.
const (
	exitOK          = 0
	exitViolation   = 1
	exitUsage       = 2
	exitTurnFailed  = 3
	exitInterrupted = 130
)

// exitError carries an exit code through cobra; its text, if any, has yet to be
// printed.
type exitError struct {
	code int
	err  error
}

// Error is the text of what went wrong; "" where all was said already.
func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap gives what went wrong.
func (e *exitError) Unwrap() error { return e.err }

func main() {
	if err := process.EnableSubreaper(); err != nil {
		fmt.Fprintln(os.Stderr, "agent-server: orphans of harnesses cannot be adopted:", err)
	}
	os.Exit(run(context.Background(), os.Args[1:]))
}

// run executes the command line and gives the exit code.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		if text := exit.Error(); text != "" {
			fmt.Fprintln(os.Stderr, "agent-server:", text)
		}
		return exit.code
	}
	fmt.Fprintln(os.Stderr, "agent-server:", err)
	return exitUsage
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "agent-server",
		Short: "One gateway for coding agents",
		Long: `agent-server spawns coding-agent CLIs (Claude Code, ACP agents, a built-in demo),
turns their output into one canonical event stream, and serves it over JSON-RPC.`,
		Example: `  agent-server run "hello" --harness demo --verify
  agent-server run "fix the failing test" --harness claude-code --cwd .
  agent-server serve --stdio`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newRunCommand(), newServeCommand(), newVerifyCommand(), newVersionCommand(), newDemoAgentCommand())
	return root
}
