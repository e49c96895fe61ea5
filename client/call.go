package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"agent-server/protocol"
)

// answer is what came back for a call.
type answer struct {
	result protocol.Object
	err    *protocol.Error
}

// into makes of an answer what a call returns; ok is false where the link has
// ended instead.
func (a answer) into(method string, ok bool, result any) error {
	switch {
	case !ok:
		return errDropped
	case a.err != nil:
		return a.err
	}
	if err := protocol.Decode(a.result, result); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", method, err)
	}
	return nil
}

// fate says what becomes of a request whose connection ends before its answer.
type fate bool

const (
	// repeat: to do it twice is to do it once; it is sent again.
	repeat fate = true
	// unknown: it may have been done, and doing it again may do something else;
	// its caller is told.
	unknown fate = false
)

// call sends a request and waits for its answer, decoded into result. An error
// that the server answers comes back as the *protocol.Error that it is; anything
// else says what was being called. Where the client reconnects, a request that was
// not sent yet waits for the next connection, and one that was sent meets its
// fate. A call that gives up has perhaps been served: that is why ids are the
// client's, and a retry the same turn.
func (c *Client) call(ctx context.Context, method string, f fate, params, result any) error {
	err := c.try(ctx, method, f, params, result)
	var wire *protocol.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wire) && error(wire) == err:
		return err
	}
	return fmt.Errorf("calling %s: %w", method, err)
}

// try sends it on one link after the other until it is answered.
func (c *Client) try(ctx context.Context, method string, f fate, params, result any) error {
	era := c.hostEra()
	for {
		l, err := c.await(ctx, era)
		if err != nil {
			return err
		}
		sent, err := l.call(ctx, method, params, result)
		switch {
		case !errors.Is(err, errDropped):
			return err
		case sent && f == unknown && c.dial != nil:
			return &FateError{Method: method}
		}
	}
}

// hostEra counts the hosts that this client has lost.
func (c *Client) hostEra() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.era
}

// await waits for a link to the host of an era: what was meant for one that died is
// not sent to another.
func (c *Client) await(ctx context.Context, era int) (*link, error) {
	for {
		c.mu.Lock()
		l, changed, err := c.link, c.changed, error(nil)
		switch {
		case c.ended:
			err = c.closedError()
		case c.era != era:
			err = c.lost
		}
		c.mu.Unlock()
		if err != nil || l != nil {
			return l, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
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
