package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"agent-server/client"
	"agent-server/fixtures"
	"agent-server/protocol"
	"agent-server/verify"
)

// endBound is how long the end of a run may take before what is left is killed.
const endBound = 45 * time.Second

type runFlags struct {
	setup
	harness, cwd, model, mode, resume, record string
	timeout                                   time.Duration
	json, verify                              bool
}

func newRunCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run PROMPT",
		Short: "Run one turn and show it",
		Long: `Run one turn on a harness, in a gateway of its own, and show it as it comes: the
answer on stdout; reasoning, tools and questions on stderr. A permission is asked
for at the terminal; where stdin ends before it is answered, it is refused.

Exit codes: 0 the turn ended cleanly, 1 --verify found a violation, 2 usage,
3 the turn failed or timed out, 130 interrupted. Ctrl-C cancels the turn and
waits for its end; twice, it quits.`,
		Example: `  agent-server run "hello" --harness demo --verify
  agent-server run "ask" --harness demo            # a tool that needs consent
  agent-server run "what does main.go do?" --harness claude-code --cwd ~/project
  agent-server run "hello" --json | agent-server verify -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), args[0]) },
	}
	f.flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.harness, "harness", "demo", "which harness runs the turn")
	fl.StringVar(&f.cwd, "cwd", ".", "the directory it works in")
	fl.StringVar(&f.model, "model", "", "the harness's own name of a model")
	fl.StringVar(&f.mode, "permission-mode", "", "default, plan, accept_edits, dont_ask or bypass_permissions")
	fl.StringVar(&f.resume, "resume", "", "native session id to go on with")
	fl.StringVar(&f.record, "record", "", "write a recording of the run into this directory")
	fl.DurationVar(&f.timeout, "timeout", 0, "cancel the turn after this long; 0: never")
	fl.BoolVar(&f.json, "json", false, "print the envelopes as on the wire, one a line")
	fl.BoolVar(&f.verify, "verify", false, "check the stream against the protocol's laws")
	return cmd
}

// params are the turn's, from the flags.
func (f *runFlags) params(prompt string) (protocol.TurnStartParams, error) {
	cwd, err := filepath.Abs(f.cwd)
	if err != nil {
		return protocol.TurnStartParams{}, fmt.Errorf("--cwd: %w", err)
	}
	cfg := protocol.RunConfig{Harness: protocol.HarnessID(f.harness), Cwd: cwd, PermissionMode: protocol.PermissionMode(f.mode)}
	if f.model != "" {
		cfg.Model = &f.model
	}
	if f.resume != "" {
		cfg.ResumeSessionID = &f.resume
	}
	return protocol.TurnStartParams{SessionID: new(client.NewID()), TurnID: new(client.NewID()),
		Input: protocol.TextInput(prompt), Config: cfg}, nil
}

func (f *runFlags) run(ctx context.Context, prompt string) error {
	p, err := f.params(prompt)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	o, err := f.options()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	var rec *fixtures.Recorder
	if f.record != "" {
		if rec, err = fixtures.NewRecorder(f.record); err != nil {
			return &exitError{exitUsage, err}
		}
		o.Observer = rec
	}
	l, err := openLocal(ctx, o)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	t := &oneTurn{f: f, l: l, p: p, show: newRenderer(f.json), ask: newAsker(os.Stdin, os.Stderr)}
	if f.verify {
		t.verifier = verify.New(verify.Options{})
	}
	err = t.play(ctx)
	if rec != nil {
		err = errors.Join(err, rec.Close())
	}
	return err
}

// oneTurn is a run in progress.
type oneTurn struct {
	f        *runFlags
	l        *local
	p        protocol.TurnStartParams
	show     *renderer
	ask      *asker
	verifier *verify.Verifier

	found       []verify.Violation
	ended       *protocol.TurnEnded
	interrupted bool
	timedOut    bool
}

// play runs the turn, closes the session, and ends the gateway.
func (t *oneTurn) play(ctx context.Context) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	quit, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	turnOver := make(chan struct{})
	go func() {
		defer close(watched)
		t.watch(quit, cancel, signals, turnOver)
	}()
	err := t.follow(quit, turnOver)
	<-watched
	bound := endBound
	if quit.Err() != nil {
		bound = time.Second
	}
	if eerr := t.l.end(bound); eerr != nil && err == nil && quit.Err() == nil {
		err = &exitError{exitTurnFailed, eerr}
	}
	return t.verdict(err)
}

// follow shows the session's events until the turn, and then the session, has
// ended.
func (t *oneTurn) follow(ctx context.Context, turnOver chan<- struct{}) error {
	defer close(turnOver)
	feed := t.l.FollowNew(*t.p.SessionID)
	defer feed.Close()
	turn, err := t.l.StartTurn(ctx, t.p)
	if err != nil {
		return refusal(err)
	}
	turn.Close()
	for t.ended == nil {
		env, err := feed.Next(ctx)
		if err != nil {
			return fmt.Errorf("following the turn: %w", err)
		}
		t.take(ctx, env)
	}
	return t.closeSession(ctx, feed)
}

// closeSession ends the session and takes its last events: they precede the
// answer.
func (t *oneTurn) closeSession(ctx context.Context, feed *client.Feed) error {
	if _, err := t.l.CloseSession(ctx, *t.p.SessionID); err != nil {
		return fmt.Errorf("closing the session: %w", err)
	}
	for {
		env, err := feed.Next(ctx)
		if err != nil {
			return fmt.Errorf("following the session's end: %w", err)
		}
		t.take(ctx, env)
		if env.Event.Type() == protocol.TypeSessionEnded {
			return nil
		}
	}
}

func (t *oneTurn) take(ctx context.Context, env protocol.Envelope) {
	t.show.envelope(env)
	if t.verifier != nil {
		t.found = append(t.found, t.verifier.Add(env)...)
	}
	switch ev := env.Event.(type) {
	case *protocol.PermissionRequested:
		t.answer(ctx, ev)
	case *protocol.PermissionResolved:
		t.ask.withdraw(ev.RequestID)
	case *protocol.TurnEnded:
		t.ended = ev
	}
}

// answer asks at the terminal; events go on being shown meanwhile.
func (t *oneTurn) answer(ctx context.Context, ev *protocol.PermissionRequested) {
	t.show.fresh()
	t.ask.put(ev, func(optionID string) {
		outcome := protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: optionID}
		if _, err := t.l.Respond(ctx, ev.SessionID, ev.RequestID, outcome); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "agent-server: answering the permission request:", err)
		}
	})
}

// watch turns Ctrl-C and the timeout into a cancel; a second Ctrl-C quits.
func (t *oneTurn) watch(ctx context.Context, quit context.CancelFunc, signals <-chan os.Signal, turnOver <-chan struct{}) {
	var timeout <-chan time.Time
	if t.f.timeout > 0 {
		timer := time.NewTimer(t.f.timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	for {
		select {
		case <-turnOver:
			return
		case <-timeout:
			t.timedOut = true
			t.cancel(ctx, fmt.Sprintf("timed out after %s, cancelling", t.f.timeout))
		case <-signals:
			if t.interrupted {
				quit()
				continue
			}
			t.interrupted = true
			t.cancel(ctx, "cancelling the turn; Ctrl-C again quits")
		}
	}
}

// cancel asks for the turn's end without waiting for the answer: the turn's end
// is the truth.
func (t *oneTurn) cancel(ctx context.Context, why string) {
	t.show.remark(why)
	t.ask.stop()
	go func() {
		ctx, cancel := context.WithTimeout(ctx, endBound)
		defer cancel()
		_, _ = t.l.Cancel(ctx, *t.p.SessionID, *t.p.TurnID)
	}()
}

// verdict gives the exit code: a violation wins over a failed turn.
func (t *oneTurn) verdict(err error) error {
	t.show.end()
	if t.verifier != nil {
		t.found = append(t.found, t.verifier.Finish()...)
		for _, v := range t.found {
			fmt.Fprintf(os.Stderr, "violation: %s at event %d: %s\n", v.Rule, v.Index, v.Message)
		}
		if len(t.found) > 0 {
			return &exitError{code: exitViolation}
		}
		if err == nil {
			t.show.remark(fmt.Sprintf("verified: %d events, no violation", t.show.count))
		}
	}
	var exit *exitError
	switch {
	case t.interrupted:
		return &exitError{exitInterrupted, nil}
	case errors.As(err, &exit):
		return err
	case err != nil:
		return &exitError{exitTurnFailed, err}
	case t.timedOut:
		return &exitError{exitTurnFailed, fmt.Errorf("the turn did not end within %s", t.f.timeout)}
	case !t.ended.StopReason.Clean():
		return &exitError{code: exitTurnFailed}
	}
	return nil
}

// refusal words what turn/start was refused with; wrong params are usage.
func refusal(err error) error {
	var wire *protocol.Error
	if !errors.As(err, &wire) {
		return err
	}
	text := wire.Message
	if wire.Data != nil {
		text += " " + string(wire.Data)
	}
	return &exitError{exitUsage, errors.New(text)}
}
