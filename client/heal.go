package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent-server/protocol"
)

// healBound is how long one healing may take: a server answers everything within
// 25 s.
const healBound = 25 * time.Second

// heal fills a hole from the server's log. Live envelopes of the session are
// held back meanwhile and then drained in order; one healing at a time. What the
// log gives overlaps what was held: whatever comes twice is delivered once.
func (c *Client) heal(session string) {
	// The connection's end ends it too: Replay then gives ErrClosed.
	ctx, cancel := context.WithTimeout(context.Background(), healBound)
	defer cancel()
	c.mu.Lock()
	last := c.cursor.Last(session)
	c.mu.Unlock()
	missing, first, err := c.replay(ctx, session, last+1)
	c.mu.Lock()
	defer c.mu.Unlock()
	all := append(missing, c.held[session]...)
	delete(c.held, session)
	if errors.Is(err, ErrClosed) {
		return // nothing more is delivered to anybody
	}
	// There is always one: the envelope that showed the gap.
	if err != nil || all[0].env.Seq != last+1 {
		// What is lost is said; what there is goes on behind it.
		c.lose(&GapError{SessionID: session, AfterSeq: last, FirstAvailableSeq: first, Cause: err})
		c.cursor.Seek(session, all[0].env.Seq-1)
	}
	for _, a := range all {
		c.place(a) // which may find the next hole, and hold the rest back again
	}
}

// lose tells everyone who follows the session, where it happened.
func (c *Client) lose(gap *GapError) {
	for f := range c.feeds {
		if f.session == "" || f.session == gap.SessionID {
			f.push(item{gap: gap})
		}
	}
}

// Replay asks the server's log for a session's events from a seq on, up to its head
// of that moment. first is the lowest seq it holds; 0: none. It is a read of its
// own, and changes nothing of what is delivered to feeds.
func (c *Client) Replay(ctx context.Context, session string, from int64) (envs []protocol.Envelope, first int64, err error) {
	arrivals, first, err := c.replay(ctx, session, from)
	if err != nil {
		return nil, first, err
	}
	for _, a := range arrivals {
		envs = append(envs, a.env)
	}
	return envs, first, nil
}

// replay is Replay, with each envelope's size.
func (c *Client) replay(ctx context.Context, session string, from int64) (got []arrival, first int64, err error) {
	var r protocol.EventsReplayResult
	p := protocol.EventsReplayParams{SessionID: session, FromSeq: from}
	if err := c.call(ctx, protocol.MethodEventsReplay, p, &r); err != nil {
		return nil, 0, err
	}
	if r.FirstAvailableSeq != nil {
		first = *r.FirstAvailableSeq
	}
	for _, raw := range r.Events {
		env, err := protocol.DecodeEnvelope(raw)
		if err != nil {
			return nil, first, fmt.Errorf("replaying session %s: %w", session, err)
		}
		got = append(got, arrival{env, len(raw)})
	}
	return got, first, nil
}
