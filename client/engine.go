package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"agent-server/protocol"
	"agent-server/reducer"
)

// Engine keeps one session in sync: it folds what the server says, holds what the
// user has submitted until the server shows it, and renders both together. It is
// the one who sends turns to that session for its user; a retry after a lost
// answer, a reconnect and a snapshot are its own affair.
//
// Its conversation is the fold of all events up to a seq, deltas too: a delta stands
// until the snapshot that contains it replaces it. An Engine has one goroutine, and
// one for each request under way. All methods are safe for concurrent use.
type Engine struct {
	c       *Client
	session string
	inbox   *inbox
	wg      sync.WaitGroup
	// stop ends what is under way; stopping is done then.
	stopping context.Context
	stop     context.CancelFunc

	// mu guards everything below. changed is closed and made anew with each change.
	mu      sync.Mutex
	core    *core
	wire    *link // the core's, while it is up
	changed chan struct{}
	// seen is the View of this moment; nil: it was not rendered yet.
	seen *View
	err  error
}

// Open begins to keep a session in sync, be it one that is to begin. Close ends it.
func (c *Client) Open(session string) *Engine {
	e := &Engine{c: c, session: session, core: newCore(session), changed: make(chan struct{}), inbox: &inbox{wake: make(chan struct{}, 1)}}
	e.stopping, e.stop = context.WithCancel(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.closing {
		e.err = c.closedError()
		e.stop()
		return e
	}
	c.engines[e] = struct{}{}
	if l := c.link; l != nil {
		e.inbox.put(letter{l: l, in: c.offer(nil)})
	}
	e.wg.Go(e.run)
	return e
}

// offer is what the present server serves. Called under the lock.
func (c *Client) offer(lost *HostLostError) connected {
	in := connected{base: c.server.Capabilities == nil, lost: lost}
	if caps := c.server.Capabilities; caps != nil {
		in.subscribe = slices.Contains(caps.Methods, protocol.MethodSessionSubscribe)
		in.snapshot = slices.Contains(caps.Methods, protocol.MethodSessionSnapshot)
	}
	return in
}

// Submit puts a turn at the end of the outbox and gives its id. It waits for nobody;
// the turn is sent when those before it were taken, and stays in the View until the
// server shows it or one of the Failures says why it will not run. On an Engine that
// is closed it does nothing, and gives "".
func (e *Engine) Submit(input protocol.Input, config protocol.RunConfig) (turn string) {
	turn = NewID()
	p := protocol.TurnStartParams{SessionID: &e.session, TurnID: &turn, Input: input, Config: config}
	if !e.step(nil, submitted{p}) {
		return ""
	}
	return turn
}

// View is what there is to show now.
func (e *Engine) View() *View {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen == nil {
		e.seen = e.core.view()
	}
	return e.seen
}

// Failures are all that there were, oldest first.
func (e *Engine) Failures() []Failure {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.core.failures)
}

// Changes is a subscription to an Engine's Views.
type Changes struct {
	e    *Engine
	last *View
}

// Subscribe gives every View from now on, the present one first; who is slow is
// given the latest. What has not changed between two Views is the same Item.
func (e *Engine) Subscribe() *Changes { return &Changes{e: e} }

// Next waits for a View other than the last one. ErrClosed: the Engine was closed,
// or its client has ended, and the last View was given.
func (w *Changes) Next(ctx context.Context) (*View, error) {
	v, err := w.e.await(ctx, func(c *core) bool { return w.last != w.e.seen || w.last == nil })
	if err != nil {
		return nil, err
	}
	w.last = v
	return v, nil
}

// Ready waits until the log's head was reached once.
func (e *Engine) Ready(ctx context.Context) error {
	_, err := e.await(ctx, func(c *core) bool { return c.ready })
	return err
}

// Settled waits until everything submitted has its echo or failed, no turn runs, and
// all of that is what the log says.
func (e *Engine) Settled(ctx context.Context) error {
	_, err := e.await(ctx, func(c *core) bool { return c.settled() })
	return err
}

// settled says whether nothing is to be expected.
func (c *core) settled() bool {
	return c.phase == current && len(c.outbox) == 0 &&
		!slices.ContainsFunc(c.folded.Conversation.Turns(), func(t reducer.Turn) bool { return t.Status == reducer.TurnActive })
}

// await waits until something holds, and gives the View of that moment.
func (e *Engine) await(ctx context.Context, holds func(*core) bool) (*View, error) {
	for {
		e.mu.Lock()
		ok, err, changed := holds(e.core), e.err, e.changed
		if ok && e.seen == nil {
			e.seen = e.core.view()
		}
		v := e.seen
		e.mu.Unlock()
		switch {
		case ok:
			return v, nil
		case err != nil:
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close ends the engine; what is in the outbox is let go, sent or not. The session
// goes on.
func (e *Engine) Close() {
	e.c.mu.Lock()
	delete(e.c.engines, e)
	e.c.room.Broadcast()
	e.c.mu.Unlock()
	e.end(ErrClosed)
	e.wg.Wait()
}

// end is the last change.
func (e *Engine) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = err
		close(e.changed)
		e.changed = make(chan struct{})
	}
	e.stop()
}

// run takes letters until the end.
func (e *Engine) run() {
	for {
		select {
		case <-e.inbox.wake:
		case <-e.stopping.Done():
			return
		}
		for _, m := range e.inbox.take(e.c) {
			if m.read != nil {
				m.in = m.read()
			}
			e.step(m.l, m.in)
		}
	}
}

// step is the way into the core, and performs what comes out: in order, each on the
// link that it is meant for.
func (e *Engine) step(l *link, in input) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return false
	}
	if _, ok := in.(connected); ok {
		e.wire = l
	}
	for _, a := range e.core.step(time.Now().UnixMilli(), in) {
		on := e.wire
		e.wg.Go(func() { e.perform(on, a) })
	}
	e.seen = nil
	close(e.changed)
	e.changed = make(chan struct{})
	return true
}

// perform does one action; how it went is told to the core.
func (e *Engine) perform(l *link, a action) {
	switch a := a.(type) {
	case subscribe:
		e.ask(l, protocol.MethodSessionSubscribe, a.params, func(got answer, err error) input {
			s := subscribed{epoch: a.epoch, err: err}
			if err == nil {
				s.err = got.into(protocol.MethodSessionSubscribe, true, &s.result)
			}
			return s
		})
	case replay:
		e.ask(l, protocol.MethodEventsReplay, l.replayParams(e.session, a.from, healPage), func(got answer, err error) input {
			p, err := pageOf(e.session, got, err)
			return replayed{a.epoch, p, err}
		})
	case snapshot:
		e.ask(l, protocol.MethodSessionSnapshot, protocol.SessionSnapshotParams{SessionID: e.session}, func(got answer, err error) input {
			s := snapshotted{epoch: a.epoch, err: err}
			if err == nil {
				s.err = got.into(protocol.MethodSessionSnapshot, true, &s.result)
			}
			return s
		})
	case start:
		e.ask(l, protocol.MethodTurnStart, a.params, func(got answer, err error) input {
			var r protocol.TurnStartResult
			if err == nil {
				err = got.into(protocol.MethodTurnStart, true, &r)
			}
			return started{a.epoch, *a.params.TurnID, err}
		})
	case wait:
		e.sleep(l, a)
	}
}

// ask sends a request; what read makes of its answer is put among the events where
// the answer stood among them. An answer that the link's end has eaten is none: the
// end is told in its place.
func (e *Engine) ask(l *link, method string, params any, read func(answer, error) input) {
	ctx, cancel := context.WithTimeout(e.stopping, healBound)
	defer cancel()
	answered := make(chan struct{})
	id, err := l.ask(ctx, method, params, func(a answer, ok bool) {
		if ok {
			e.inbox.put(letter{l: l, read: func() input { return read(a, nil) }})
		}
		close(answered)
	})
	if err == nil {
		select {
		case <-answered:
			return
		case <-ctx.Done():
			if !l.abandon(id) {
				return
			}
			err = ctx.Err()
		}
	}
	if !errors.Is(err, errDropped) {
		e.post(letter{l: l, in: read(answer{}, err)})
	}
}

// sleep waits, or is woken by the end.
func (e *Engine) sleep(l *link, a wait) {
	select {
	case <-time.After(time.Duration(a.after) * time.Millisecond):
		e.post(letter{l: l, in: due{a.epoch, a.what}})
	case <-l.done: // the next link begins anew
	case <-e.stopping.Done():
	}
}

// post puts a letter into the inbox.
func (e *Engine) post(m letter) {
	e.c.mu.Lock()
	defer e.c.mu.Unlock()
	e.inbox.put(m)
}

// letter is an input and the link that it came from.
type letter struct {
	l *link
	// in is the input, or read makes it.
	in     input
	read   func() input
	weight int
}

// inbox are an engine's letters in order; the client's lock guards them.
type inbox struct {
	letters []letter
	bytes   int
	wake    chan struct{}
}

// put adds a letter. Called under the client's lock.
func (b *inbox) put(m letter) {
	b.letters = append(b.letters, m)
	b.bytes += m.weight
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take takes all letters, and makes room for more.
func (b *inbox) take(c *Client) []letter {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := b.letters
	b.letters, b.bytes = nil, 0
	c.room.Broadcast()
	return got
}
