package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"agent-server/protocol"
	"agent-server/transport"
)

// DialFunc makes the next connection, or waits for one: of a gateway that dials
// out. It returns soon after ctx has ended. A *transport.HandshakeError that is not
// retryable ends the client.
type DialFunc func(ctx context.Context) (transport.Framing, error)

const (
	// stableAfter is how long a connection must have lived for the waits to begin
	// again at MinBackoff.
	stableAfter = 10 * time.Second
	// greetBound bounds the handshake on a connection: a server answers everything
	// within 25 s.
	greetBound = 25 * time.Second
)

// Dial connects to a gateway that listens, and again whenever the connection ends,
// until Close or a failure that another try cannot mend: another protocol version,
// a refused token, a server that does not speak the protocol. ctx bounds the first
// connection alone.
//
// Feeds and turns go on over all connections: on each one, what was missed is
// fetched before what is new is delivered. Calls wait for a connection, as long
// as their context lets them; what becomes of one whose connection ended before
// its answer, FateError says.
func Dial(ctx context.Context, url string, o Options) (*Client, error) {
	o = o.withDefaults()
	return Keep(ctx, func(ctx context.Context) (transport.Framing, error) {
		return transport.DialClient(ctx, url, o.Connect)
	}, o)
}

// Keep is Dial over connections of any kind: each is what dial gives, used until it
// ends.
func Keep(ctx context.Context, dial DialFunc, o Options) (*Client, error) {
	c := newClient(o, dial, func() error { return nil })
	b := backoff{min: c.o.MinBackoff, max: c.o.MaxBackoff}
	l, err := c.first(ctx, &b)
	if err != nil {
		c.mu.Lock()
		c.end(err)
		c.mu.Unlock()
		return nil, errors.Join(err, c.Close()) // it says itself what failed: to dial, the handshake, to initialize
	}
	keeping, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.wg.Go(func() { c.keep(keeping, l, &b) })
	return c, nil
}

// first makes the first connection.
func (c *Client) first(ctx context.Context, b *backoff) (*link, error) {
	if c.o.AwaitServer {
		return c.redial(ctx, b, nil)
	}
	return c.once(ctx)
}

// keep is the reconnect loop: it outlives one link after the other.
func (c *Client) keep(ctx context.Context, l *link, b *backoff) {
	var err error
	for err == nil {
		c.o.OnUp(c.Server())
		<-l.done
		_ = l.hangUp() // how it ended is known
		if time.Since(l.born) >= stableAfter {
			b.reset()
		}
		c.mu.Lock()
		err = l.err
		c.mu.Unlock()
		if !final(err) {
			l, err = c.redial(ctx, b, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(err)
}

// redial tries until there is a connection, ctx ends, or trying is of no use. why
// is what ended the last one; nil: there was none, the first try is at once.
func (c *Client) redial(ctx context.Context, b *backoff, why error) (*link, error) {
	for {
		if why != nil {
			wait := b.wait(why, rand.Float64())
			c.o.OnDown(why, wait)
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil, fmt.Errorf("%w (%w)", ctx.Err(), why)
			}
		}
		l, err := c.once(ctx)
		if err == nil || final(err) {
			return l, err
		}
		why = err
	}
}

// once makes one connection and greets.
func (c *Client) once(ctx context.Context) (*link, error) {
	f, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, greetBound)
	defer cancel()
	l, err := c.establish(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("initializing: %w", err)
	}
	return l, nil
}

// final says whether another try would meet the same end.
func final(err error) bool {
	var (
		version *VersionError
		refusal *transport.HandshakeError
		closed  *transport.CloseError
		long    *transport.OversizeError
		garbled *UnreadableError
		wire    *protocol.Error
	)
	switch {
	case errors.As(err, &version), errors.As(err, &long), errors.As(err, &garbled):
		return true
	case errors.As(err, &refusal):
		return !refusal.Retryable()
	case errors.As(err, &closed):
		// A token that holds no more may have been replaced: the next handshake
		// finds out, and its refusal is final.
		return !closed.Resumable() && closed.Code != transport.ClosePolicy
	case errors.As(err, &wire): // of initialize
		return wire.Code != protocol.CodeInternalError && wire.Code != protocol.CodeShuttingDown && wire.Code != protocol.CodeOverloaded
	}
	return false
}

// backoff says how long to wait before the next try.
type backoff struct {
	min, max time.Duration
	// next is the wait to come; 0: min.
	next time.Duration
}

// reset begins again at min.
func (b *backoff) reset() { b.next = 0 }

// wait gives the time to wait after err and doubles the next one. random, in
// [0, 1), spreads what many try at once over the upper half.
func (b *backoff) wait(err error, random float64) time.Duration {
	d := max(b.next, b.min)
	b.next = min(2*d, b.max)
	var h *transport.HandshakeError
	if errors.As(err, &h) {
		d = max(d, min(h.RetryAfter, b.max))
	}
	return d/2 + time.Duration(random*float64(d/2))
}
