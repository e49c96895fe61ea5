package client

import (
	"context"

	"agent-server/protocol"
)

// Feed is a stream of envelopes, of one session or of all, in order and without a
// hole that is not said. Next is called by one goroutine. A Feed that is neither
// read nor closed holds up its connection.
type Feed struct {
	c *Client
	// session is whom it follows; "": everyone.
	session string
	// fromStart: the session's first event counts, or turn's where there is one.
	fromStart bool
	turn      string
	// signal receives, coalesced, when there is something to pop.
	signal chan struct{}

	// Guarded by the client's lock. err is given once the queue is empty.
	queue []item
	bytes int
	err   error
}

// item is an envelope, or news: that some are lost, or their host. They share one
// queue: the news stands where the loss was, not where it was noticed.
type item struct {
	arrival
	news error
}

// follows says whether a session's envelopes are for this feed.
func (f *Feed) follows(session string) bool { return f.session == "" || f.session == session }

// Follow gives the envelopes of a session from now on; "" follows all. A session
// that this connection has not been sent anything of yet is joined where it
// stands. Close ends it. Where the client reconnects, now is when the server has
// said where the session stands; and who follows all meets a session that began
// while there was no connection, and that nobody here names, where it then stands.
func (c *Client) Follow(session string) *Feed { return c.follow(session, false, "") }

// FollowNew is Follow for a session that is about to begin: a first event other
// than seq 1 is a hole, and healed.
func (c *Client) FollowNew(session string) *Feed { return c.follow(session, true, "") }

// follow registers a feed; from the next line on it is given what it follows.
func (c *Client) follow(session string, fromStart bool, turn string) *Feed {
	f := &Feed{c: c, session: session, fromStart: fromStart, turn: turn, signal: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		f.err = c.closedError()
		return f
	}
	c.feeds[f] = struct{}{}
	if l := c.link; c.dial != nil && l != nil && session != "" && !fromStart && !c.knows(session) && !c.closing {
		c.wg.Go(func() { c.learnHead(l, session) })
	}
	return f
}

// Next waits for the next envelope, however long; ctx bounds that. A *GapError
// stands where events are lost, a *HostLostError where the numbers begin anew; the
// feed goes on behind them. ErrClosed: the connection has ended, and all that came
// before was given.
func (f *Feed) Next(ctx context.Context) (protocol.Envelope, error) {
	for {
		env, ok, err := f.pop()
		if ok || err != nil {
			return env, err
		}
		select {
		case <-f.signal:
		case <-ctx.Done():
			return protocol.Envelope{}, ctx.Err()
		}
	}
}

// pop takes what is next, without waiting.
func (f *Feed) pop() (env protocol.Envelope, ok bool, err error) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	if len(f.queue) == 0 {
		return env, false, f.err
	}
	next := f.queue[0]
	f.queue[0] = item{}
	f.queue = f.queue[1:]
	if next.news != nil {
		return env, false, next.news
	}
	f.bytes -= next.weight()
	f.c.room.Broadcast()
	return next.env, true, nil
}

// Close ends the feed; what it still holds is let go.
func (f *Feed) Close() {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	delete(f.c.feeds, f)
	f.queue, f.bytes = nil, 0
	if f.err == nil {
		f.err = ErrClosed
	}
	f.poke()
	f.c.room.Broadcast()
}

// push, end: called under the client's lock.
func (f *Feed) push(it item) {
	f.queue = append(f.queue, it)
	if it.news == nil {
		f.bytes += it.weight()
	}
	f.poke()
}

// end is what a feed finds behind its last envelope.
func (f *Feed) end(err error) {
	f.err = err
	f.poke()
}

// poke wakes Next; a wake that is not needed costs a look at the queue.
func (f *Feed) poke() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}
