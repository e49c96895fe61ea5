package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agent-server/client"
	"agent-server/fixtures"
	"agent-server/gateway"
	"agent-server/protocol"
)

// maxPrompt bounds a prompt from stdin, in bytes: escaped, it still fits into
// one message.
const maxPrompt = 1 << 20

// runFlags are what run was called with.
type runFlags struct {
	setup
	remote
	// harness, cwd, model, mode and resume become the turn's config; "": left
	// out. record is a directory; "": no recording.
	harness, cwd, model, mode, resume, record string
	// timeout bounds the turn, not its end; 0: none.
	timeout time.Duration
	// json and verify are what they are called on the command line.
	json, verify bool
}

// newRunCommand is one turn from a shell: the way to try a harness, and a check
// that CI can run.
func newRunCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Run one turn and show it",
		Long: `Run one turn on a harness and show it as it comes: the answer on stdout; reasoning,
tools, diffs and questions on stderr. PROMPT "-" is read from stdin,
which may not be empty.

The gateway is one of its own, which ends with it, or with --connect one that runs
already: the session is then a new one there, and --cwd a directory there. A lost
connection is made again, and nothing of the turn is missed.

A permission is asked for at the terminal, or of lines on stdin: a number, an
option's id or its kind. Where stdin ends before the answer, it is refused.

Exit codes: 0 the turn ended cleanly; 1 --verify found a violation; 2 usage, also a
harness that is not here; 3 the turn failed or timed out, or stdout took no more;
130 interrupted. A violation wins over the others. Ctrl-C cancels the turn and
waits for its end; twice, it quits.`,
		Example: `  agent-server run "hello" --harness demo --verify
  agent-server run "ask" --harness demo            # a tool that needs consent
  echo allow_once | agent-server run "edit" --harness demo
  agent-server run "what does main.go do?" --harness claude-code --cwd ~/project
  agent-server run - --timeout 5m < prompt.txt
  agent-server run "hello" --json | agent-server verify -
  agent-server run "hello" --connect ws://127.0.0.1:7777/ --token-file ~/.local/state/agent-server/token`,
		Args: exactly("PROMPT"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.setup.flags(cmd)
	f.remote.flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.harness, "harness", string(protocol.HarnessDemo), "which harness runs the turn")
	fl.StringVar(&f.cwd, "cwd", ".", "the directory it works in")
	fl.StringVar(&f.model, "model", "", "the harness's own name of a model")
	fl.StringVar(&f.mode, "permission-mode", "", "how much it may do unasked: "+modeList())
	fl.StringVar(&f.resume, "resume", "", "native session id to go on with")
	fl.StringVar(&f.record, "record", "", "write a recording of the run into this directory, in place of an older one")
	fl.DurationVar(&f.timeout, "timeout", 0, "cancel the turn after this long; 0: never")
	fl.BoolVar(&f.json, "json", false, "print the envelopes as on the wire, one a line")
	fl.BoolVar(&f.verify, "verify", false, "check the stream against the protocol's laws")
	return cmd
}

// run looks at everything that can be wrong before anything is started or
// written: a slip in a flag costs no process, and no older recording.
func (f *runFlags) run(cmd *cobra.Command, prompt string) error {
	o, err := f.check(cmd)
	if err != nil {
		return usage("%w", err)
	}
	cfg, err := f.config()
	if err != nil {
		return usage("%w", err)
	}
	if prompt, err = promptText(prompt, os.Stdin); err != nil {
		return usage("reading the prompt: %w", err)
	}
	return f.start(cmd.Context(), o, protocol.TurnStartParams{SessionID: new(client.NewID()), TurnID: new(client.NewID()),
		Input: protocol.TextInput(prompt), Config: cfg})
}

// check finds what contradicts itself, and gives the options of a gateway of our
// own.
func (f *runFlags) check(cmd *cobra.Command) (gateway.Options, error) {
	if f.timeout < 0 {
		return gateway.Options{}, fmt.Errorf("--timeout %s: want a time that is not negative", f.timeout)
	}
	o, err := f.setup.beside(cmd, &f.remote)
	if err == nil && f.url == "" {
		if err = available(o, protocol.HarnessID(f.harness)); err != nil {
			err = fmt.Errorf("--harness %s: %w", f.harness, err)
		}
	}
	return o, err
}

// config is the turn's, from the flags. What was not given is left out: the harness
// has its own defaults, which are not ours to repeat.
func (f *runFlags) config() (protocol.RunConfig, error) {
	cfg := protocol.RunConfig{Harness: protocol.HarnessID(f.harness), PermissionMode: protocol.PermissionMode(f.mode)}
	if err := validMode(cfg.PermissionMode); err != nil {
		return cfg, fmt.Errorf("--permission-mode: %w", err)
	}
	// The gateway would refuse a bad directory as well, but only once a recording
	// has replaced the one before.
	cwd, err := filepath.Abs(f.cwd)
	if err != nil {
		return cfg, fmt.Errorf("--cwd: %w", err)
	}
	cfg.Cwd = cwd
	if f.url != "" { // which only that gateway can look for
		return f.optional(cfg), nil
	}
	if err := isDir(cwd); err != nil {
		return cfg, fmt.Errorf("--cwd %w", err)
	}
	return f.optional(cfg), nil
}

// optional adds what was given.
func (f *runFlags) optional(cfg protocol.RunConfig) protocol.RunConfig {
	if f.model != "" {
		cfg.Model = &f.model
	}
	if f.resume != "" {
		cfg.ResumeSessionID = &f.resume
	}
	return cfg
}

// promptText is the argument, or stdin without the newline at its end, which is the
// shell's and not the prompt's. Questions then find stdin at its end, and are
// refused.
func promptText(arg string, stdin io.Reader) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	b, err := io.ReadAll(io.LimitReader(stdin, maxPrompt+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxPrompt {
		return "", fmt.Errorf("it is longer than %d bytes", maxPrompt)
	}
	if len(bytes.TrimSpace(b)) == 0 { // what was to write it has failed, most likely
		return "", errors.New("stdin holds none")
	}
	return strings.TrimSuffix(string(b), "\n"), nil
}

// start opens a gateway, with a recorder if one is wanted, and plays the turn.
//
// Signals are heard from before the first process on until the last is gone; what
// is printed after that may be interrupted as in any command.
func (f *runFlags) start(ctx context.Context, o gateway.Options, p protocol.TurnStartParams) error {
	signals, usual := stopSignals()
	var rec *fixtures.Recorder
	if f.record != "" {
		var err error
		if rec, err = fixtures.NewRecorder(f.record); err != nil {
			return usage("--record: %w", err)
		}
		o.Observer = rec
	}
	t := f.newTurn(p)
	if err := f.open(ctx, t, o, signals); err != nil {
		return err
	}
	v := t.play(ctx, signals, f.timeout)
	usual()
	if rec != nil {
		v.recording = rec.Close()
	}
	return v.exit(f, os.Stderr)
}

// open gives a turn its gateway.
func (f *runFlags) open(ctx context.Context, t *turn, o gateway.Options, signals <-chan os.Signal) (err error) {
	if f.url == "" {
		adoptOrphans()
		if t.l, err = openLocal(ctx, o); err != nil {
			return usage("%w", err)
		}
		return nil
	}
	err = unlessSignalled(ctx, signals, func(ctx context.Context) error {
		t.l, err = f.remote.open(ctx, t.aside)
		return err
	})
	switch {
	case errors.Is(err, errInterrupted) && t.l != nil:
		return &exitError{exitInterrupted, t.l.close()}
	case errors.Is(err, errInterrupted):
		return &exitError{exitInterrupted, nil}
	case err == nil && !f.json:
		t.show.remark("session " + *t.p.SessionID + " at " + bare(f.url))
	}
	return err
}
