package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"agent-server/protocol"
)

// attachFlags are what attach was called with.
type attachFlags struct {
	remote
	// harness, cwd, model and mode are for turns that are typed here; "": as the
	// session has them.
	harness, cwd, model, mode string
	// json is what it is called on the command line.
	json bool
}

// newAttachCommand is a second terminal on a session.
func newAttachCommand() *cobra.Command {
	var f attachFlags
	cmd := &cobra.Command{
		Use:   "attach [SESSION] --connect URL",
		Short: "Watch a session of a running gateway, and take part in it",
		Long: `Watch a session of a gateway that runs already: what it holds of the session is shown
first, then what happens, as in run. Without SESSION it is the one that was active
last; a gateway that lists no sessions is listened to until one speaks. Where another
one speaks meanwhile, that is said once.

A line that is typed is an answer while a question stands, and else a prompt: a turn of
its own, with --harness, --cwd, --model and --permission-mode where they are given.
A gateway that queues lets it wait while another turn runs. Lines that begin with a
colon are for attach itself: ":cancel" ends the turn that runs; ":help" says what else
there is; "::…" is a prompt that begins with a colon.

Ctrl-C, and Ctrl-D on a terminal, leave: the session, its turn and its questions go on
without us. A lost connection is made again, and nothing is missed.

Exit codes: 0 left; 2 usage, also a session that is not there; 3 no connection, or
stdout took no more.`,
		Example: `  agent-server attach --connect ws://127.0.0.1:7777/ --token-file ~/.local/state/agent-server/token
  agent-server attach my-session --connect wss://box.example/ --token-file box-token
  echo "and now the tests" | agent-server attach my-session --connect ws://127.0.0.1:7777/
  agent-server attach my-session --connect ws://127.0.0.1:7777/ --json | tee events.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.attach(cmd.Context(), append(args, "")[0]) },
	}
	f.remote.flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.harness, "harness", "", "which harness runs typed turns (default: the session's)")
	fl.StringVar(&f.cwd, "cwd", "", "the directory that they work in (default: the session's, where the gateway tells it, else here)")
	fl.StringVar(&f.model, "model", "", "the harness's own name of a model (default: the session's)")
	fl.StringVar(&f.mode, "permission-mode", "", "how much they may do unasked: "+modeList())
	fl.BoolVar(&f.json, "json", false, "print the envelopes as on the wire, one a line")
	return cmd
}

// check finds what is wrong with the flags.
func (f *attachFlags) check() error {
	if f.url == "" {
		return errors.New("--connect URL is needed: which gateway?")
	}
	if err := f.remote.check(); err != nil {
		return err
	}
	if err := validMode(protocol.PermissionMode(f.mode)); err != nil {
		return fmt.Errorf("--permission-mode: %w", err)
	}
	if f.cwd == "" {
		return nil
	}
	cwd, err := filepath.Abs(f.cwd)
	if err != nil {
		return fmt.Errorf("--cwd: %w", err)
	}
	f.cwd = cwd
	return nil
}

// attach connects, finds the session and watches it until somebody leaves.
func (f *attachFlags) attach(ctx context.Context, session string) error {
	if err := f.check(); err != nil {
		return usage("%w", err)
	}
	signals, usual := stopSignals()
	defer usual()
	s := newScreen(os.Stdout, os.Stderr)
	a := newAttached(f, s, newAsker(os.Stdin, s))
	a.named = session != ""
	err := unlessSignalled(ctx, signals, func(ctx context.Context) (err error) {
		if a.l, err = f.open(ctx, a.aside); err != nil {
			return err
		}
		a.seat, err = f.choose(ctx, a.l.Client, session, a.remark)
		return err
	})
	if err == nil {
		err = a.watch(ctx, signals)
	}
	if a.l != nil {
		err = errors.Join(err, a.l.close())
	}
	if errors.Is(err, errInterrupted) { // it left, before there was anything to see
		return nil
	}
	return err
}
