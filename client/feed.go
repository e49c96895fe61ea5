package client

import (
	"context"

	"agent-server/protocol"
)

// Feed is a stream of envelopes, of one session or of all. Next is called by one
// goroutine.
type Feed struct {
	c         *Client
	session   string
	fromStart bool
	signal    chan struct{}

	// Guarded by the client's lock.
	queue []protocol.Envelope
	bytes int
	err   error
}

// Follow gives the envelopes of a session from now on; "" follows all. Close
// ends it.
func (c *Client) Follow(session string) *Feed { return c.follow(session, false) }

// FollowNew is Follow for a session that is about to begin: a first event other
// than seq 1 is a hole, and healed.
func (c *Client) FollowNew(session string) *Feed { return c.follow(session, true) }

func (c *Client) follow(session string, fromStart bool) *Feed {
	f := &Feed{c: c, session: session, fromStart: fromStart, signal: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
		f.err = ErrClosed
	default:
		c.feeds[f] = struct{}{}
	}
	return f
}

// Next waits for the next envelope. A *GapError says that events are lost; the
// feed goes on after it. ErrClosed: the connection has ended.
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

func (f *Feed) pop() (protocol.Envelope, bool, error) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	if len(f.queue) == 0 {
		err := f.err
		if _, gap := err.(*GapError); gap {
			f.err = nil
		}
		return protocol.Envelope{}, false, err
	}
	env := f.queue[0]
	f.queue = f.queue[1:]
	f.bytes -= weight(env)
	f.c.room.Broadcast()
	return env, true, nil
}

// Close ends the feed; what it still holds is let go.
func (f *Feed) Close() {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	delete(f.c.feeds, f)
	f.queue, f.bytes = nil, 0
	f.c.room.Broadcast()
}

// push, end: called under the client's lock.
func (f *Feed) push(env protocol.Envelope) {
	f.queue = append(f.queue, env)
	f.bytes += weight(env)
	f.poke()
}

func (f *Feed) end(err error) {
	f.err = err
	f.poke()
}

func (f *Feed) poke() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

// weight is about what an envelope holds in memory.
func weight(env protocol.Envelope) int {
	switch ev := env.Event.(type) {
	case *protocol.MessagePart:
		return 512 + partWeight(ev.Part)
	case *protocol.Raw:
		return 256 + len(ev.Data)
	case *protocol.UnknownEvent:
		return 256 + len(ev.Raw)
	}
	return 256
}

func partWeight(p protocol.Part) int {
	switch p := p.(type) {
	case *protocol.TextPart:
		return len(p.Text)
	case *protocol.ReasoningPart:
		return len(p.Text)
	case *protocol.ToolPart:
		if s, ok := p.State.(*protocol.CompletedState); ok {
			return len(s.Output) + len(s.Input)
		}
	case *protocol.UnknownPart:
		return len(p.Raw)
	}
	return 0
}
