package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"agent-server/client"
	"agent-server/protocol"
)

// attached is a terminal on a session. Its follower takes the events, in order, and
// alone writes to stdout; the asker's reader takes lines; main's goroutine hears
// signals.
type attached struct {
	f *attachFlags
	l *host
	// show is the follower's; the screen below it everybody's.
	show *renderer
	*screen
	ask *asker
	// beside counts remarks on their way.
	beside sync.WaitGroup
	// named: the session was asked for, and what others say is of no interest.
	named bool
	// last is the seq of the last event shown; caughtUp: what was held has been
	// shown; open are the questions that were met before. The follower's.
	last     int64
	caughtUp bool
	open     []*protocol.PermissionRequested

	mu sync.Mutex
	// seat is where it sits; active is the turn that runs there; "": none. own are
	// the turns that were typed here.
	seat   seat
	active string
	own    map[string]bool
}

// newAttached shows itself on a screen and asks there.
func newAttached(f *attachFlags, s *screen, ask *asker) *attached {
	a := &attached{f: f, show: newRenderer(s, f.json, false), screen: s, ask: ask, own: map[string]bool{}}
	a.show.prompts, a.show.ours = true, a.isOwn
	return a
}

// aside shows a remark without waiting for who reads it.
func (a *attached) aside(text string) { a.beside.Go(func() { a.remark(text) }) }

func (a *attached) isOwn(turn string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.own[turn]
}

// watch follows the session until a signal, the end of a terminal's input, or a
// fault. What is left behind when nobody reads stdout is a goroutine, as in run.
func (a *attached) watch(ctx context.Context, signals <-chan os.Signal) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	told := make(chan error, 1)
	go func() { told <- a.follow(ctx, leave) }()
	var late <-chan time.Time
	for {
		select {
		case err := <-told:
			a.ask.close()
			a.end()
			if fault := a.out.fault(); fault != nil {
				return &exitError{exitFailed, fmt.Errorf("showing the session: %w", fault)}
			}
			return err
		case <-a.out.failed:
			leave()
		case <-signals:
			leave()
			late = time.After(quitBound)
		case <-late:
			return nil
		}
	}
}

// follow shows what the gateway holds of the session, then what happens. Leaving is
// no fault. The feed stands before the log is asked, so that nothing falls between.
func (a *attached) follow(ctx context.Context, leave func()) error {
	feed := a.l.Follow(a.seat.session)
	defer feed.Close()
	if !a.named {
		others := a.l.Follow("")
		defer others.Close()
		a.beside.Go(func() { a.overhear(ctx, others, a.seat.session) })
	}
	err := a.catchUp(ctx)
	if err == nil {
		a.ask.converse(func(line string) { a.take(ctx, line) }, func() {
			if a.ask.terminal != nil {
				leave()
			}
		})
	}
	for err == nil {
		err = a.next(ctx, feed)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// catchUp shows the past. Questions of the past that nobody has answered are asked
// once it has been shown: they may have been answered further on.
func (a *attached) catchUp(ctx context.Context) error {
	envs, first, err := a.l.Replay(ctx, a.seat.session, 1)
	var wire *protocol.Error
	switch {
	case errors.As(err, &wire) && wire.Code == protocol.CodeUnknownSession:
		return usage("there is no session %q at %s", a.seat.session, bare(a.f.url))
	case err != nil:
		return fmt.Errorf("asking for the session's past: %w", err)
	}
	if first > 1 {
		a.remark(fmt.Sprintf("what was before event %d is no longer held", first))
	}
	for _, env := range envs {
		a.event(ctx, env)
	}
	a.caughtUp = true
	a.told(fmt.Sprintf("session %s at %s, up to event %d; Ctrl-C leaves, :help says more", a.seat.session, bare(a.f.url), a.last))
	for _, ev := range a.open {
		a.ask.question(ctx, a.l.Client, ev)
	}
	a.open = nil
	return nil
}

// next takes one event of the present. What is lost is said, and what follows is
// shown all the same: whoever watches is better off than with nothing.
func (a *attached) next(ctx context.Context, feed *client.Feed) error {
	env, err := feed.Next(ctx)
	switch {
	case errors.As(err, new(*client.GapError)):
		a.line(a.style.red, "! "+err.Error())
		return nil
	case errors.As(err, new(*client.HostLostError)):
		a.anew(err)
		return nil
	case err != nil:
		return &exitError{exitFailed, fmt.Errorf("following the session: %w", err)}
	case env.Seq > a.last:
		a.event(ctx, env)
	}
	return nil
}

// anew begins at seq 1: the gateway was started again, and has forgotten the session.
func (a *attached) anew(lost error) {
	a.line(a.style.red, "! "+lost.Error())
	fresh := newRenderer(a.screen, a.f.json, false)
	fresh.prompts, fresh.ours = true, a.isOwn
	a.show, a.last = fresh, 0
	a.run("")
}

// event shows one, and notes what later lines need to know.
func (a *attached) event(ctx context.Context, env protocol.Envelope) {
	a.last = env.Seq
	a.show.envelope(env)
	switch ev := env.Event.(type) {
	case *protocol.PermissionRequested:
		a.asked(ctx, ev)
	case *protocol.PermissionResolved:
		a.open = slices.DeleteFunc(a.open, func(q *protocol.PermissionRequested) bool { return q.RequestID == ev.RequestID })
		a.ask.withdraw(ev.RequestID)
	case *protocol.TurnStarted:
		a.run(ev.TurnID)
	case *protocol.TurnEnded:
		a.run("")
	case *protocol.SessionCreated:
		a.learn(ev)
	case *protocol.SessionEnded:
		a.told("session ended: " + ev.Reason)
	case *protocol.UnknownEvent:
		a.added(ev)
	}
}

// added shows what the fold keeps as unknown, and who watches wants to know.
func (a *attached) added(ev protocol.Event) {
	if q, ok := protocol.ReadTurnQueued(ev); ok {
		a.told(fmt.Sprintf("a turn is queued, at place %d", q.Position))
	}
	if u, ok := protocol.ReadTurnUnqueued(ev); ok {
		a.told("a queued turn will not run: " + u.Reason)
	}
}

// overhear says of each other session, once, that it speaks: who named none may sit at
// the wrong one. That a session is closed is no talk.
func (a *attached) overhear(ctx context.Context, all *client.Feed, own string) {
	heard := map[string]bool{own: true}
	for {
		env, err := all.Next(ctx)
		switch {
		case errors.As(err, new(*client.GapError)), errors.As(err, new(*client.HostLostError)):
			continue // the follower says so where it concerns us
		case err != nil:
			return
		}
		if _, over := env.Event.(*protocol.SessionEnded); over || heard[env.SessionID] {
			continue
		}
		heard[env.SessionID] = true
		a.aside(fmt.Sprintf("another session speaks: %s", env.SessionID))
	}
}

// told is a remark on an event, which speaks for itself where events are printed.
func (a *attached) told(text string) {
	if !a.f.json {
		a.remark(text)
	}
}

// asked asks a question, or keeps it until the past has been shown.
func (a *attached) asked(ctx context.Context, ev *protocol.PermissionRequested) {
	if !a.caughtUp {
		a.open = append(a.open, ev)
		return
	}
	a.ask.question(ctx, a.l.Client, ev)
}

// run notes which turn runs; "": none.
func (a *attached) run(turn string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active = turn
}

func (a *attached) learn(ev *protocol.SessionCreated) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seat.learn(ev, a.f)
}
