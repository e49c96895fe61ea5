package client

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"agent-server/protocol"
	"agent-server/seqcursor"
)

// incoming is a line from the server: an event, or an answer. Events stand as
// values in it, so that they are decoded once, strictly, by the protocol's own
// decoder.
type incoming struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  *struct {
		Code    protocol.Code  `json:"code"`
		Message string         `json:"message"`
		Data    jsontext.Value `json:"data"`
	} `json:"error"`
}

// arrival is an envelope and what its line counted in bytes: that is what it is
// taken to hold in memory, to within a small factor.
type arrival struct {
	env  protocol.Envelope
	size int
	// anew: it came unasked, and its session's numbers begin again with it.
	anew bool
}

// overhead is what an envelope holds beside its line's content.
const overhead = 256

// weight is about what an arrival holds in memory. It need not be exact: it bounds
// what an unread feed costs to within a small factor.
func (a arrival) weight() int { return overhead + a.size }

// readLoop reads until the connection ends. A line that cannot be read ends it
// too: what it said would be missing, and nobody would know.
func (l *link) readLoop() {
	for {
		line, err := l.framing.Next()
		if err == nil {
			err = l.line(line)
		}
		switch {
		case errors.Is(err, io.EOF):
			l.fail(io.EOF)
			return
		case err != nil:
			l.fail(fmt.Errorf("reading from the server: %w", err))
			return
		}
	}
}

// line takes one line; what is kept of it is copied by its decoding.
func (l *link) line(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	var m incoming
	if err := protocol.Decode(line, &m); err != nil {
		return &UnreadableError{What: "a line that is no JSON-RPC message", Cause: err}
	}
	switch m.Method {
	case protocol.NotificationEvent:
	case protocol.NotificationSynced, protocol.NotificationLagged:
		return l.notice(m)
	default:
		l.answered(m) // or a notification that this version does not know
		return nil
	}
	env, err := protocol.DecodeEnvelope(m.Params)
	if err != nil {
		return &UnreadableError{What: "an event", Cause: err}
	}
	l.deliver(arrival{env: env, size: len(m.Params)})
	return nil
}

// notice tells the engines of a session what became of their subscription.
func (l *link) notice(m incoming) error {
	var p protocol.EventsSynced // whose members events/lagged has too
	if err := protocol.Decode(m.Params, &p); err != nil {
		return &UnreadableError{What: m.Method, Cause: err}
	}
	var in input = synced{p.Seq}
	if m.Method == protocol.NotificationLagged {
		in = lagged{}
	}
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.c.tellEngines(l, p.SessionID, letter{l: l, in: in})
	return nil
}

// tellEngines puts a letter into the inbox of each engine of a session, on the link
// that is the client's. Called under the lock.
func (c *Client) tellEngines(l *link, session string, m letter) {
	for e := range c.engines {
		if e.session == session && c.link == l {
			e.inbox.put(m)
		}
	}
}

// answered resolves a call; an answer to nothing of ours (id null: the server
// could not read a line) concerns nobody who waits.
func (l *link) answered(m incoming) {
	var id int64
	if m.ID.Kind() != '0' || protocol.Decode(m.ID, &id) != nil {
		return
	}
	a := answer{result: protocol.Object(m.Result)}
	if m.Error != nil {
		a.err = &protocol.Error{Code: m.Error.Code, Message: m.Error.Message, Data: protocol.Object(m.Error.Data)}
	}
	l.resolve(id, a)
}

// deliver passes an envelope on once, in order, and then waits for room: behind
// it, so that an event which wakes a consumer is not held back for it.
func (l *link) deliver(a arrival) {
	c, session, seq := l.c, a.env.SessionID, a.env.Seq
	c.mu.Lock()
	defer c.mu.Unlock()
	// A server with additions uses no number twice; but a subscribe repeats them.
	a.anew = seq == 1 && l.live[session] > 1 && l.limit == 0
	l.live[session] = seq
	switch first, noted := l.early[session]; {
	case l.greeted:
		c.tellEngines(l, session, letter{l: l, in: received{a.env}, weight: a.weight()})
		c.place(l, a)
	case !noted || seq < first:
		l.early[session] = seq
	}
	for c.full() && len(l.pending) == 0 && c.link == l && l.err == nil {
		c.room.Wait()
	}
}

// place takes an envelope that came unasked. While its session is being healed it
// is held back. Called under the lock, like all below.
func (c *Client) place(l *link, a arrival) {
	session := a.env.SessionID
	if c.link != l {
		return // the next link has it
	}
	if held, healing := c.held[session]; healing {
		c.held[session] = append(held, a)
		c.heldBytes += a.weight()
		return
	}
	if c.joins(a.env) {
		c.cursor.Seek(session, a.env.Seq-1)
	}
	c.judge(l, a)
}

// judge passes an envelope on if its seq is next. A gap leaves the cursor where it
// is: the envelope that showed it is judged again when it is healed.
func (c *Client) judge(l *link, a arrival) {
	session := a.env.SessionID
	if a.env.Seq == 1 && !a.anew && c.cursor.Last(session) > 1 {
		return // known from a replay: the numbers have not begun again
	}
	switch c.cursor.Advance(session, a.env.Seq) {
	case seqcursor.Deliver, seqcursor.Reset:
		c.pass(a)
	case seqcursor.Gap:
		if _, healing := c.held[session]; !healing {
			c.startHealing(l, session, []arrival{a})
		}
	}
}

// joins says whether a session that was never seen is taken up where it stands:
// the connection is sent events from its accept on, and what was before is
// nobody's hole. But who waits for a session's beginning, or for a turn's, may
// have missed it; the whole session is fetched then.
func (c *Client) joins(env protocol.Envelope) bool {
	if c.knows(env.SessionID) {
		return false
	}
	for f := range c.feeds {
		if f.session == env.SessionID && f.fromStart && !begins(env, f.turn) {
			return false
		}
	}
	return true
}

// begins says whether an event is the beginning of a turn.
func begins(env protocol.Envelope, turn string) bool {
	started, ok := env.Event.(*protocol.TurnStarted)
	return ok && started.TurnID == turn
}

// pass hands an envelope to everyone who follows its session. They share it: an
// event is never changed.
func (c *Client) pass(a arrival) {
	for f := range c.feeds {
		if f.follows(a.env.SessionID) {
			f.push(item{arrival: a})
		}
	}
}

// full says whether no more is to be read: somebody lags too far, or too much is
// held back. At the end of a client it never is: what is left is read out.
func (c *Client) full() bool {
	return !c.closing && (c.heldBytes > c.o.QueueBytes || c.lagging())
}

// lagging says whether somebody lags too far to be given more.
func (c *Client) lagging() bool {
	for f := range c.feeds {
		if f.bytes > c.o.QueueBytes {
			return true
		}
	}
	for e := range c.engines {
		if e.inbox.bytes > c.o.QueueBytes {
			return true
		}
	}
	return false
}
