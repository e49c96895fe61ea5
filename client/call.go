package client

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"agent-server/protocol"
)

// answer is what came back for a call.
type answer struct {
	result protocol.Object
	err    *protocol.Error
}

// call sends a request and waits for its answer, decoded into result.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	id, ch, err := c.expect()
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, err)
	}
	if err := c.send(id, method, params); err != nil {
		c.abandon(id)
		return fmt.Errorf("calling %s: %w", method, err)
	}
	select {
	case a, ok := <-ch:
		return finish(method, a, ok, result)
	case <-ctx.Done():
		c.abandon(id)
		return fmt.Errorf("calling %s: %w", method, ctx.Err())
	}
}

func finish(method string, a answer, ok bool, result any) error {
	switch {
	case !ok:
		return fmt.Errorf("calling %s: %w", method, ErrClosed)
	case a.err != nil:
		return a.err
	}
	if err := json.Unmarshal(a.result, result); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", method, err)
	}
	return nil
}

// expect registers a call; while one is open the read loop does not wait for
// feeds.
func (c *Client) expect() (int64, chan answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
		return 0, nil, ErrClosed
	default:
	}
	c.next++
	ch := make(chan answer, 1)
	c.pending[c.next] = ch
	c.room.Broadcast()
	return c.next, ch, nil
}

func (c *Client) abandon(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

func (c *Client) send(id int64, method string, params any) error {
	b := []byte(`{"jsonrpc":"2.0","id":`)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":`...)
	b = protocol.AppendString(b, method)
	if params != nil {
		b = append(b, `,"params":`...)
		b = append(b, protocol.Encode(params)...)
	}
	b = append(b, "}\n"...)
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.framing.Write(b)
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
