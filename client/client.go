package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"agent-server/protocol"
	"agent-server/seqcursor"
	"agent-server/transport"
)

// DefaultMaxLineBytes bounds a line from the server: an event may be longer than
// what a client may send.
const DefaultMaxLineBytes = 256 << 20

// Options say who the client is. The zero value is useful.
type Options struct {
	// Name is what initialize tells; "" is "agent-server-client".
	Name string
	// Version is what initialize tells; "" leaves it out.
	Version string
	// OpenHarnesses asks for harness ids beyond the base's four in events.
	OpenHarnesses bool
	// QueueBytes bounds what an unread Feed holds, about, before no more is read
	// from the connection; 0: 16 MiB. While a call waits for its answer it may
	// be more: the answer stands behind the events.
	QueueBytes int
}

// withDefaults is the one place where Options are completed.
func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "agent-server-client"
	}
	if o.QueueBytes == 0 {
		o.QueueBytes = 16 << 20
	}
	return o
}

// Client is one connection to a gateway. Attach and Spawn make one.
type Client struct {
	o Options
	// framing is read by the read loop alone, and written by the write loop.
	framing transport.Framing
	server  protocol.InitializeResult
	// hangUp ends the connection, once; release lets go what belongs to it, a
	// child process for instance, once.
	hangUp, release func() error

	// done is closed when the connection has ended.
	done chan struct{}
	wg   sync.WaitGroup
	// outgoing hands requests to the write loop.
	outgoing chan []byte

	// mu guards everything below; room is signalled when reading may go on.
	mu   sync.Mutex
	room *sync.Cond
	// closing: Close was called, what fails from here on is no fault; ended: the
	// read loop is through; err: the fault that ended the connection.
	closing bool
	ended   bool
	err     error
	// next is the id of the last request; pending are the calls that wait.
	next    int64
	pending map[int64]chan answer
	// cursor is what was delivered of each session.
	cursor seqcursor.Cursor
	feeds  map[*Feed]struct{}
	// held are the live envelopes of sessions that are being healed; a session
	// that is not has no entry.
	held map[string][]arrival
}

// Attach speaks to a gateway over a stream that is already there, and initializes.
// The stream is the client's from then on, also where it fails.
func Attach(ctx context.Context, f transport.Framing, o Options) (*Client, error) {
	return attach(ctx, f, o, func() error { return nil })
}

// attach is Attach with something to be let go at the end.
func attach(ctx context.Context, f transport.Framing, o Options, release func() error) (*Client, error) {
	c := &Client{o: o.withDefaults(), framing: f, hangUp: sync.OnceValue(f.Close), release: sync.OnceValue(release), done: make(chan struct{}), outgoing: make(chan []byte),
		pending: map[int64]chan answer{}, feeds: map[*Feed]struct{}{}, held: map[string][]arrival{}}
	c.room = sync.NewCond(&c.mu)
	c.wg.Go(c.readLoop)
	c.wg.Go(c.writeLoop)
	if err := c.initialize(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("initializing: %w", err), c.Close())
	}
	return c, nil
}

// initialize introduces the client; a server of another version is an error, be
// it that the server says so or that it does not notice.
func (c *Client) initialize(ctx context.Context) error {
	p := protocol.InitializeParams{ProtocolVersion: protocol.Version, Client: &protocol.ClientInfo{Name: c.o.Name}}
	if c.o.Version != "" {
		p.Client.Version = &c.o.Version
	}
	if c.o.OpenHarnesses {
		p.Capabilities = &protocol.ClientCapabilities{OpenHarnesses: new(true)}
	}
	if err := c.call(ctx, protocol.MethodInitialize, p, &c.server); err != nil {
		return err
	}
	if c.server.ProtocolVersion != protocol.Version {
		return fmt.Errorf("the server speaks protocol %d, this client %d", c.server.ProtocolVersion, protocol.Version)
	}
	return nil
}

// Server is what initialize answered.
func (c *Client) Server() protocol.InitializeResult { return c.server }

// Done is closed when the connection has ended; Err then says why.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is the fault that ended the connection; nil while it lives, after Close,
// and where the server has ended it in order.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and waits for what the client has started; of a
// spawned gateway, for its process. It may be called again.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closing = true
	c.room.Broadcast()
	c.mu.Unlock()
	err := c.hangUp()
	c.wg.Wait()
	return errors.Join(err, c.release())
}

// fail ends everything that waits on the connection; the read loop's last act.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blame(err)
	c.ended = true
	for id, ch := range c.pending {
		delete(c.pending, id)
		close(ch)
	}
	for f := range c.feeds {
		f.end(c.closedError())
	}
	close(c.done)
	c.room.Broadcast()
}

// blame notes the first fault; an end in order is none. Called under the lock.
func (c *Client) blame(err error) {
	if c.err == nil && !c.closing && !errors.Is(err, io.EOF) {
		c.err = err
	}
}

// closedError is what a call on an ended connection gets. Called under the lock.
func (c *Client) closedError() error {
	if c.err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, c.err)
	}
	return ErrClosed
}
