// Command agent-server is one gateway for coding agents: it spawns their CLIs,
// turns what they say into one lifecycle stream, and serves it over JSON-RPC.
//
// It decides what flags mean, how the packages are joined, and what is printed.
// stdout is data, stderr is talk. It refuses to know what events mean: rendering
// folds them with the shipped reducer.
//
// A run has two goroutines: one follows the turn and is the only one that writes
// to stdout, the other (main's) hears signals and clocks and never writes, so
// that a stuck terminal cannot hold up a Ctrl-C. Whatever is started is waited
// for before the command exits, but for a read of stdin and a write to a stdout
// that nobody reads: the system gives no way to end those.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK = 0
	// exitViolation: a stream broke the protocol's laws. It wins over all others.
	exitViolation = 1
	// exitUsage: what was asked for cannot be begun: flags, files, a harness that
	// is not here.
	exitUsage = 2
	// exitFailed: the turn failed or timed out, or what it gave could not be shown.
	exitFailed = 3
	// exitInterrupted: a signal asked for the end.
	exitInterrupted = 130
)

// exitError carries an exit code through cobra. Its text, if any, has yet to be
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

// usage makes an error of the caller's, about a flag or an argument.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func main() { os.Exit(run(context.Background(), os.Args[1:])) }

// run executes the command line and gives the exit code. An error without a code
// is cobra's own: a flag or an argument that it does not know.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case !errors.As(err, &exit):
		fmt.Fprintf(os.Stderr, "agent-server: %v\nsee \"%s --help\"\n", err, cmd.CommandPath())
		return exitUsage
	case exit.Error() != "":
		fmt.Fprintln(os.Stderr, "agent-server:", exit)
	}
	return exit.code
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
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newRunCommand(), newServeCommand(), newVerifyCommand(), newSchemaCommand(), newVersionCommand(), newDemoAgentCommand())
	return root
}
