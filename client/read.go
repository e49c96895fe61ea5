package client

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"agent-server/protocol"
	"agent-server/seqcursor"
	"agent-server/transport"
)

// incoming is a line from the server: an event, or an answer.
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

// readLoop reads until the connection ends.
func (c *Client) readLoop() {
	for {
		line, err := c.framing.Next()
		if err == nil {
			err = c.line(line)
		}
		var over *transport.OversizeError
		switch {
		case err == nil:
		case errors.As(err, &over):
			c.fail(fmt.Errorf("reading from the server: %w", err))
			return
		case errors.Is(err, io.EOF):
			c.fail(io.EOF)
			return
		default:
			c.fail(fmt.Errorf("reading from the server: %w", err))
			return
		}
	}
}

func (c *Client) line(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	var m incoming
	if err := json.Unmarshal(line, &m, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return fmt.Errorf("a line that is no JSON-RPC message: %w", err)
	}
	if m.Method == protocol.NotificationEvent {
		env, err := protocol.DecodeEnvelope(m.Params)
		if err != nil {
			return err
		}
		c.deliver(env)
		return nil
	}
	c.answered(m)
	return nil
}

// answered resolves a call; an answer to nothing of ours (id null: the server
// could not read a line) concerns nobody who waits.
func (c *Client) answered(m incoming) {
	var id int64
	if m.ID.Kind() != '0' || json.Unmarshal(m.ID, &id) != nil {
		return
	}
	a := answer{result: m.Result}
	if m.Error != nil {
		a.err = &protocol.Error{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data}
	}
	c.resolve(id, a)
}

// deliver passes an envelope on once, in order.
func (c *Client) deliver(env protocol.Envelope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held, healing := c.held[env.SessionID]; healing {
		c.held[env.SessionID] = append(held, env)
		return
	}
	c.place(env)
	c.waitForRoom()
}

// place judges an envelope by its seq. A session that was never seen is joined
// where it stands: the connection is sent events from its accept on.
func (c *Client) place(env protocol.Envelope) {
	if c.cursor.Last(env.SessionID) == 0 && !c.wanted(env.SessionID) {
		c.cursor.Seek(env.SessionID, env.Seq-1)
	}
	switch c.cursor.Advance(env.SessionID, env.Seq) {
	case seqcursor.Deliver, seqcursor.Reset:
		c.pass(env)
	case seqcursor.Gap:
		c.held[env.SessionID] = []protocol.Envelope{env}
		c.wg.Go(func() { c.heal(env.SessionID) })
	}
}

// wanted says whether somebody follows a session from its first event.
func (c *Client) wanted(session string) bool {
	for f := range c.feeds {
		if f.session == session && f.fromStart {
			return true
		}
	}
	return false
}

func (c *Client) pass(env protocol.Envelope) {
	for f := range c.feeds {
		if f.session == "" || f.session == env.SessionID {
			f.push(env)
		}
	}
}

// waitForRoom keeps the connection unread while a feed is full, unless a call
// waits: its answer stands behind what is unread.
func (c *Client) waitForRoom() {
	for c.full() && len(c.pending) == 0 {
		c.room.Wait()
	}
}

func (c *Client) full() bool {
	if c.closing {
		return false
	}
	for f := range c.feeds {
		if f.bytes > c.o.QueueBytes {
			return true
		}
	}
	return false
}
