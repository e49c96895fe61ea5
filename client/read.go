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
}

// readLoop reads until the connection ends. A line that cannot be read ends it
// too: what it said would be missing, and nobody would know.
func (c *Client) readLoop() {
	for {
		line, err := c.framing.Next()
		if err == nil {
			err = c.line(line)
		}
		switch {
		case errors.Is(err, io.EOF):
			c.fail(io.EOF)
			return
		case err != nil:
			c.fail(fmt.Errorf("reading from the server: %w", err))
			return
		}
	}
}

// line takes one line; what is kept of it is copied by its decoding.
func (c *Client) line(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	var m incoming
	if err := protocol.Decode(line, &m); err != nil {
		return fmt.Errorf("a line that is no JSON-RPC message: %w", err)
	}
	if m.Method != protocol.NotificationEvent {
		c.answered(m) // or a notification that this version does not know
		return nil
	}
	env, err := protocol.DecodeEnvelope(m.Params)
	if err != nil {
		return err
	}
	c.deliver(arrival{env, len(m.Params)})
	return nil
}

// answered resolves a call; an answer to nothing of ours (id null: the server
// could not read a line) concerns nobody who waits.
func (c *Client) answered(m incoming) {
	var id int64
	if m.ID.Kind() != '0' || protocol.Decode(m.ID, &id) != nil {
		return
	}
	a := answer{result: protocol.Object(m.Result)}
	if m.Error != nil {
		a.err = &protocol.Error{Code: m.Error.Code, Message: m.Error.Message, Data: protocol.Object(m.Error.Data)}
	}
	c.resolve(id, a)
}

// deliver passes an envelope on once, in order, and then waits for room: behind
// it, so that an event which wakes a consumer is not held back for it.
func (c *Client) deliver(a arrival) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.place(a)
	for c.full() && len(c.pending) == 0 {
		c.room.Wait()
	}
}

// place judges an envelope by its seq. While its session is being healed it is
// held back. A gap leaves the cursor where it is: the envelope that showed it is
// judged again when it is healed.
func (c *Client) place(a arrival) {
	env := a.env
	if held, healing := c.held[env.SessionID]; healing {
		c.held[env.SessionID] = append(held, a)
		return
	}
	if c.joins(env) {
		c.cursor.Seek(env.SessionID, env.Seq-1)
	}
	switch c.cursor.Advance(env.SessionID, env.Seq) {
	case seqcursor.Deliver, seqcursor.Reset:
		c.pass(a)
	case seqcursor.Gap:
		c.held[env.SessionID] = []arrival{a}
		c.wg.Go(func() { c.heal(env.SessionID) })
	}
}

// joins says whether a session that was never seen is taken up where it stands:
// the connection is sent events from its accept on, and what was before is
// nobody's hole. But who waits for a session's beginning, or for a turn's, may
// have missed it; the whole session is fetched then.
func (c *Client) joins(env protocol.Envelope) bool {
	if c.cursor.Last(env.SessionID) != 0 {
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
		if f.session == "" || f.session == a.env.SessionID {
			f.push(item{arrival: a})
		}
	}
}

// full says whether somebody lags too far to go on reading. At the end of a
// connection nobody does: what is left is read out.
func (c *Client) full() bool {
	if c.closing || c.err != nil {
		return false
	}
	for f := range c.feeds {
		if f.bytes > c.o.QueueBytes {
			return true
		}
	}
	return false
}
