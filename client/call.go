package client

import (
	"context"
	"fmt"
	"strconv"

	"agent-server/protocol"
)

// answer is what came back for a call.
type answer struct {
	result protocol.Object
	err    *protocol.Error
}

// call sends a request and waits for its answer, decoded into result. An error
// that the server answers comes back as the *protocol.Error that it is; anything
// else says what was being called. A call that gives up has perhaps been served:
// that is why ids are the client's, and a retry the same turn.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	id, ch, err := c.expect()
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, err)
	}
	defer c.abandon(id)
	select {
	case c.outgoing <- request(id, method, params):
	case <-c.done: // ch is closed
	case <-ctx.Done():
		return fmt.Errorf("calling %s: %w", method, ctx.Err())
	}
	select {
	case a, ok := <-ch:
		return c.finish(method, a, ok, result)
	case <-ctx.Done():
		return fmt.Errorf("calling %s: %w", method, ctx.Err())
	}
}

// request is the line of a request. Params are encoded before anything is waited
// for: they are the caller's.
func request(id int64, method string, params any) []byte {
	b := []byte(`{"jsonrpc":"2.0","id":`)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":`...)
	b = protocol.AppendString(b, method)
	if params != nil {
		b = append(b, `,"params":`...)
		b = append(b, protocol.Encode(params)...)
	}
	return append(b, "}\n"...)
}

// finish makes of an answer what call returns; ok is false where the connection has
// ended instead.
func (c *Client) finish(method string, a answer, ok bool, result any) error {
	switch {
	case !ok:
		c.mu.Lock()
		defer c.mu.Unlock()
		return fmt.Errorf("calling %s: %w", method, c.closedError())
	case a.err != nil:
		return a.err
	}
	if err := protocol.Decode(a.result, result); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", method, err)
	}
	return nil
}

// expect registers a call; while one is open the read loop does not wait for
// feeds.
func (c *Client) expect() (int64, chan answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return 0, nil, c.closedError()
	}
	c.next++
	ch := make(chan answer, 1) // the read loop does not wait for the caller
	c.pending[c.next] = ch
	c.room.Broadcast()
	return c.next, ch, nil
}

// abandon forgets a call, answered or not; an answer that comes later concerns
// nobody.
func (c *Client) abandon(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// resolve hands an answer to its call.
func (c *Client) resolve(id int64, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.pending[id]; ch != nil {
		delete(c.pending, id)
		ch <- a
	}
}

// writeLoop writes requests, whole and in order; a call that gives up does not
// tear the line that it has begun. A write that fails ends the connection.
func (c *Client) writeLoop() {
	for {
		select {
		case line := <-c.outgoing:
			if err := c.framing.Write(line); err != nil {
				c.cut(fmt.Errorf("writing to the server: %w", err))
				return
			}
		case <-c.done:
			return
		}
	}
}

// cut ends a connection that takes no more: whoever waits for an answer would
// wait for ever.
func (c *Client) cut(err error) {
	c.mu.Lock()
	c.blame(err)
	c.room.Broadcast()
	c.mu.Unlock()
	_ = c.hangUp() // the fault that counts is known
}
