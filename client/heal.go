package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent-server/protocol"
)

const (
	// healBound is how long one page of a healing may take: a server answers
	// everything within 25 s.
	healBound = 25 * time.Second
	// healPage is how many events one page has, where the server pages: what a
	// connection that is cut had to give again is no more than that.
	healPage = 256
)

// startHealing holds a session's live envelopes back from now on, those given
// first, and fetches what is before them. There is one healing at a time a session:
// while it has an entry in held none is begun. Called under the lock.
func (c *Client) startHealing(l *link, session string, first []arrival) {
	c.held[session] = first
	for _, a := range first {
		c.heldBytes += a.weight()
	}
	c.wg.Go(func() { c.heal(l, session) })
}

// heal fills a hole from the server's log, page by page, and then lets what was
// held back follow. What the log gives overlaps what was held: whatever comes twice
// is delivered once. The link's end ends it: the next link begins it again.
func (c *Client) heal(l *link, session string) {
	c.mu.Lock()
	from := c.cursor.Last(session) + 1
	c.mu.Unlock()
	for from > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), healBound)
		p, err := l.replay(ctx, session, from, healPage)
		cancel()
		if c.dial != nil && errors.Is(err, context.DeadlineExceeded) {
			l.cut(fmt.Errorf("replaying session %s: %w", session, err))
		}
		from = c.fill(l, session, p, err)
	}
}

// fill takes one page, and says where the next begins; 0: there is none.
func (c *Client) fill(l *link, session string, p page, err error) (next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != l || errors.Is(err, errDropped) {
		return 0 // what was held is let go: another link's replay has it
	}
	last := c.cursor.Last(session)
	switch {
	case err != nil:
		c.miss(session, last, p, err)
	case c.begunAnew(last, p):
		c.lose(&GapError{SessionID: session, AfterSeq: last, FirstAvailableSeq: p.first})
		c.anchor(session, 0)
		return 1
	case len(p.events) > 0 && p.events[0].env.Seq != last+1:
		c.skip(session, p.events[0].env.Seq, p)
	case len(p.events) == 0 && p.latest > last:
		c.skip(session, p.latest+1, p)
	}
	for _, a := range p.events {
		c.judge(l, a)
	}
	if p.next > 0 && c.cursor.Last(session) > last {
		c.roomFor(l)
		return p.next
	}
	c.drain(l, session, p)
	return 0
}

// miss says that the log could not be asked, and what is missing for it: what lies
// before the first envelope that was held back. Where none is, the log knows of more
// than was delivered; but a session that was never seen, and that the server does not
// know, has not begun. It may begin before its answer is looked at: what is held back
// then is all there is.
func (c *Client) miss(session string, last int64, p page, err error) {
	var wire *protocol.Error
	unknown := errors.As(err, &wire) && wire.Code == protocol.CodeUnknownSession
	next := last + 1
	held := c.held[session]
	if len(held) > 0 {
		next = held[0].env.Seq
	}
	if next == last+1 && (len(held) > 0 || unknown && last == 0) {
		return
	}
	p.cause = err
	c.skip(session, next, p)
}

// begunAnew says whether a base server has dropped a session's log and begun it
// anew: its head is below what was delivered. A server with a log id uses no
// number twice; its head may lag behind deltas that no log keeps.
func (c *Client) begunAnew(last int64, p page) bool {
	return c.server.Capabilities == nil && p.latest > 0 && p.latest < last
}

// skip says what is lost, and goes on at a seq.
func (c *Client) skip(session string, to int64, p page) {
	c.lose(&GapError{SessionID: session, AfterSeq: c.cursor.Last(session), FirstAvailableSeq: p.first, Cause: p.cause})
	c.anchor(session, to-1)
}

// drain lets what was held back follow, in order; which may find the next hole, and
// hold the rest back again.
func (c *Client) drain(l *link, session string, p page) {
	held := c.held[session]
	delete(c.held, session)
	for _, a := range held {
		c.heldBytes -= a.weight()
	}
	if last := c.cursor.Last(session); len(p.events) == 0 && len(held) > 0 && held[0].env.Seq > last+1 {
		// The log does not give what it was asked for, and will not.
		c.skip(session, held[0].env.Seq, p)
	}
	for _, a := range held {
		c.place(l, a)
	}
	c.room.Broadcast()
}

// roomFor waits until who consumes has room for another page. Called under the
// lock, which it lets go meanwhile.
func (c *Client) roomFor(l *link) {
	for c.lagging() && !c.closing && c.link == l {
		c.room.Wait()
	}
}

// lose tells everyone who follows the session, where it happened.
func (c *Client) lose(gap *GapError) {
	for f := range c.feeds {
		if f.follows(gap.SessionID) {
			f.push(item{news: gap})
		}
	}
}

// page is what one events/replay gave.
type page struct {
	events []arrival
	// first and latest are what the log holds; 0: nothing. next is where the next
	// page begins; 0: there is none.
	first, latest, next int64
	// cause is why the log could not be asked.
	cause error
}

// replay asks the server's log on this link.
func (l *link) replay(ctx context.Context, session string, from, limit int64) (page, error) {
	var r protocol.EventsReplayResult
	if _, err := l.call(ctx, protocol.MethodEventsReplay, l.replayParams(session, from, limit), &r); err != nil {
		return page{}, err
	}
	return readPage(session, r)
}

// replayParams ask for a page, where the server has additions: a base server knows
// none.
func (l *link) replayParams(session string, from, limit int64) protocol.EventsReplayParams {
	p := protocol.EventsReplayParams{SessionID: session, FromSeq: from}
	if l.limit > 0 {
		p.Limit = &limit
	}
	return p
}

// pageOf is an answer to events/replay as a page.
func pageOf(session string, a answer, err error) (page, error) {
	var r protocol.EventsReplayResult
	if err == nil {
		err = a.into(protocol.MethodEventsReplay, true, &r)
	}
	if err != nil {
		return page{}, err
	}
	return readPage(session, r)
}

// readPage decodes an answer to events/replay; where an event cannot be read, what
// stands before it is given too.
func readPage(session string, r protocol.EventsReplayResult) (p page, err error) {
	for to, from := range map[*int64]*int64{&p.first: r.FirstAvailableSeq, &p.latest: r.LatestSeq, &p.next: r.NextSeq} {
		if from != nil {
			*to = *from
		}
	}
	for _, raw := range r.Events {
		env, err := protocol.DecodeEnvelope(raw)
		if err != nil {
			return p, fmt.Errorf("replaying session %s: %w", session, err)
		}
		p.events = append(p.events, arrival{env: env, size: len(raw)})
	}
	return p, nil
}

// Replay asks the server's log for a session's events from a seq on, up to its head
// of that moment. first is the lowest seq it holds; 0: none. It is a read of its
// own, and changes nothing of what is delivered to feeds.
func (c *Client) Replay(ctx context.Context, session string, from int64) (envs []protocol.Envelope, first int64, err error) {
	for from > 0 {
		p, err := c.page(ctx, session, from)
		if first = max(first, p.first); err != nil {
			return nil, first, err
		}
		for _, a := range p.events {
			envs = append(envs, a.env)
		}
		from = p.next
	}
	return envs, first, nil
}

// page asks for one page on whichever link there is: what came before a cut need not
// come again.
func (c *Client) page(ctx context.Context, session string, from int64) (page, error) {
	p := protocol.EventsReplayParams{SessionID: session, FromSeq: from}
	if c.Server().Capabilities != nil {
		p.Limit = new(int64(healPage))
	}
	var r protocol.EventsReplayResult
	if err := c.call(ctx, protocol.MethodEventsReplay, repeat, p, &r); err != nil {
		return page{}, err
	}
	return readPage(session, r)
}

// learnHead asks where a session stands that somebody follows from now on. Should
// the connection end before anything of it was delivered, the next one goes on
// there.
func (c *Client) learnHead(l *link, session string) {
	ctx, cancel := context.WithTimeout(context.Background(), healBound)
	defer cancel()
	p, err := l.replay(ctx, session, protocol.MaxSafeInteger, 1)
	var wire *protocol.Error
	if err != nil && (!errors.As(err, &wire) || wire.Code != protocol.CodeUnknownSession) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == l {
		c.heads[session] = p.latest
	}
}
