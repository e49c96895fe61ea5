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
//
// The call tree of a run:
//
//	run.go   flags → everything that can be wrong is looked at
//	local.go a gateway in this process, and a client on it
//	watch.go main: signals, clocks → cancel, quit
//	turn.go  the follower: start, events, close, shutdown
//	         → render.go, tool.go  what the fold says has changed → screen.go
//	         → ask.go              questions → answers of stdin
//	         → package verify
//	verdict.go all that was seen → what is said last, and the exit code
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
	// exitOK: what was asked for was done; a turn that was cancelled by the
	// harness, or stopped at one of its limits, is done too.
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
	// code is one of the exit codes, never exitOK.
	code int
	// err is what went wrong; nil where the screen has shown it.
	err error
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

// usage makes an error of the caller's, about a flag or an argument. Its text names
// the flag.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// main has no other way out: everything below returns its code.
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

// exactly wants one argument, which it names: cobra only counts.
func exactly(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("%s is missing", name)
		case 1:
			return nil
		}
		return fmt.Errorf("one %s is wanted, and here are %d: quote what has blanks", name, len(args))
	}
}

// newRoot makes the command tree. It is made anew for each run, so that no flag
// keeps a value.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "agent-server",
		Short: "One gateway for coding agents",
		Long: `agent-server spawns coding-agent CLIs (Claude Code, ACP agents, a built-in demo),
turns their output into one canonical event stream, and serves it over JSON-RPC.`,
		Example: `  agent-server run "hello" --harness demo --verify
  agent-server run "fix the failing test" --harness claude-code --cwd .
  agent-server serve --stdio`,
		// run prints errors, in one place and once; the usage of a whole
		// command would hide them.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newRunCommand(), newServeCommand(), newAttachCommand(), newVerifyCommand(), newSchemaCommand(), newSessionsCommand(), newHarnessesCommand(), newDoctorCommand(), newVersionCommand(), newDemoAgentCommand())
	return root
}
