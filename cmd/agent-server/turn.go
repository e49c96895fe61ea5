package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/verify"
)

// turn is one turn being run. Its follower takes the events, in order; its
// watcher hears signals and clocks.
type turn struct {
	// l is the gateway; set before the turn is played.
	l *host
	// p has both ids: the events are followed before the turn is started.
	p    protocol.TurnStartParams
	show *renderer
	ask  *asker
	// verifier is the follower's; nil: nothing is verified.
	verifier *verify.Verifier

	// admitted is closed when there is a turn to cancel; over when it has ended,
	// or will not be followed to its end. The follower closes both.
	admitted, over chan struct{}
	// beside counts what was set off beside the follower: cancels and remarks.
	beside sync.WaitGroup
}

// story is what the follower has to tell, once, at its end.
type story struct {
	// err is why it ended early; nil: it saw the session end.
	err error
	// ended is the turn's end; nil where it was not seen.
	ended *protocol.TurnEnded
	// events counts what was shown; seq is the last one's.
	events int
	seq    int64
	// judged: the verifier has seen all there was, and found these.
	judged bool
	found  []verify.Violation
}

// newTurn makes one that shows itself on stdout and stderr and asks on stdin.
func (f *runFlags) newTurn(p protocol.TurnStartParams) *turn {
	s := newScreen(os.Stdout, os.Stderr)
	t := &turn{p: p, show: newRenderer(s, f.json, f.resume != ""), ask: newAsker(os.Stdin, s),
		admitted: make(chan struct{}), over: make(chan struct{})}
	if f.verify {
		t.verifier = verify.New(verify.Options{})
	}
	return t
}

// follow runs the turn, closes the session, and ends the gateway politely. ctx
// ends it early. It is the follower's goroutine, and hands over what it has seen
// at its end: nothing of the story is shared before.
func (t *turn) follow(ctx context.Context) (s story) {
	s.err = t.session(ctx, &s)
	if t.verifier != nil && ctx.Err() == nil {
		// A stream that we cut ourselves is not blamed for its missing end.
		s.judged, s.found = true, append(s.found, t.verifier.Finish()...)
	}
	if err := t.l.shutdown(ctx); s.err == nil {
		s.err = err
	}
	return s
}

// session takes the session's events from its first to its last. The feed stands
// before the turn is asked for, so that not even the first event can pass by.
func (t *turn) session(ctx context.Context, s *story) error {
	feed := t.l.FollowNew(*t.p.SessionID)
	defer feed.Close()
	err := t.untilEnded(ctx, feed, s)
	close(t.over)
	if err != nil {
		return err
	}
	return t.closeSession(ctx, feed, s)
}

// untilEnded starts the turn and takes events until it has ended. The ids were
// chosen here: nothing in the answer is news, but that there is one.
func (t *turn) untilEnded(ctx context.Context, feed *client.Feed, s *story) error {
	started, err := t.l.StartTurn(ctx, t.p)
	if err != nil {
		return refusal(err)
	}
	started.Close() // the feed has the events of the session's end too
	close(t.admitted)
	for s.ended == nil {
		if _, err := t.next(ctx, feed, s); err != nil {
			return fmt.Errorf("following the turn: %w", err)
		}
	}
	return nil
}

// closeSession ends the session and takes its last events, which precede the
// answer. A turn alone would do for showing; the session's end is what a verifier
// needs to say that everything ended.
func (t *turn) closeSession(ctx context.Context, feed *client.Feed, s *story) error {
	open := true
	err := untilAnswered(func() (err error) {
		open, err = t.l.CloseSession(ctx, *t.p.SessionID)
		return err
	})
	if err != nil {
		return fmt.Errorf("closing the session: %w", err)
	}
	if !open {
		return t.untilHead(ctx, feed, s)
	}
	for open {
		ev, err := t.next(ctx, feed, s)
		if err != nil {
			return fmt.Errorf("following the session's end: %w", err)
		}
		open = ev.Type() != protocol.TypeSessionEnded
	}
	return nil
}

// untilHead takes what the log holds of a session that is not open any more: its end,
// where the gateway that had it ended in order, or the answer to a close was lost; no
// end, where it was killed.
func (t *turn) untilHead(ctx context.Context, feed *client.Feed, s *story) error {
	rest, _, err := t.l.Replay(ctx, *t.p.SessionID, s.seq+1)
	if ctx.Err() != nil {
		return fmt.Errorf("following the session's end: %w", err)
	}
	if err != nil || len(rest) == 0 {
		return nil // a server may forget what is closed: nothing more will come
	}
	for s.seq < rest[len(rest)-1].Seq {
		if _, err := t.next(ctx, feed, s); err != nil {
			return fmt.Errorf("following the session's end: %w", err)
		}
	}
	return nil
}

// next takes one event: it is shown, judged, and acted on. A hole in the stream
// is an error here: the client has tried to heal it, and a run that misses events
// has nothing to show for itself.
func (t *turn) next(ctx context.Context, feed *client.Feed, s *story) (protocol.Event, error) {
	env, err := feed.Next(ctx)
	if err != nil {
		return nil, err
	}
	s.events++
	s.seq = env.Seq
	t.show.envelope(env)
	if t.verifier != nil {
		s.found = append(s.found, t.verifier.Add(env)...)
	}
	switch ev := env.Event.(type) {
	case *protocol.PermissionRequested:
		t.ask.question(ctx, t.l.Client, ev)
	case *protocol.PermissionResolved:
		t.ask.withdraw(ev.RequestID)
	case *protocol.TurnEnded:
		s.ended = ev
	}
	return env.Event, nil
}

// untilAnswered asks again where the line was lost before the answer came. For what
// has the same effect twice as once: a close, an answer of which the first counts.
func untilAnswered(ask func() error) error {
	err := ask()
	for errors.As(err, new(*client.FateError)) {
		err = ask()
	}
	return err
}

// aside shows a remark without waiting for who reads it.
func (t *turn) aside(text string) { t.beside.Go(func() { t.show.remark(text) }) }

// cancel asks for the turn's end. The answer is no news but where it leaves the
// end open: the turn's own end is the truth. A connection that is gone has told
// the follower already.
func (t *turn) cancel(ctx context.Context) {
	r, err := t.l.Cancel(ctx, *t.p.SessionID, *t.p.TurnID)
	switch {
	case ctx.Err() != nil || errors.Is(err, client.ErrClosed):
	case err != nil:
		t.show.line("", "agent-server: cancelling: "+err.Error())
	case r.Outcome == protocol.CancelUnconfirmed && !t.isOver():
		t.show.remark("the harness has not confirmed the cancel; waiting for the turn's end")
	}
}

// isOver says whether the follower has seen the turn's end, or given it up.
func (t *turn) isOver() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}
