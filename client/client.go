package client

import (
	"context"
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

// Client is one connection to a gateway.
type Client struct {
	o       Options
	framing transport.Framing
	server  protocol.InitializeResult
	// onClose lets go what belongs to the connection, a child process for instance.
	onClose func() error

	done chan struct{}
	wg   sync.WaitGroup

	writing sync.Mutex

	mu      sync.Mutex
	room    *sync.Cond
	closing bool
	err     error
	next    int64
	pending map[int64]chan answer
	cursor  seqcursor.Cursor
	feeds   map[*Feed]struct{}
	held    map[string][]protocol.Envelope
}

// Attach speaks to a gateway over a stream that is already there, and initializes.
func Attach(ctx context.Context, f transport.Framing, o Options) (*Client, error) {
	return attach(ctx, f, o, func() error { return nil })
}

func attach(ctx context.Context, f transport.Framing, o Options, onClose func() error) (*Client, error) {
	if o.Name == "" {
		o.Name = "agent-server-client"
	}
	if o.QueueBytes == 0 {
		o.QueueBytes = 16 << 20
	}
	c := &Client{o: o, framing: f, onClose: onClose, done: make(chan struct{}), pending: map[int64]chan answer{},
		feeds: map[*Feed]struct{}{}, held: map[string][]protocol.Envelope{}}
	c.room = sync.NewCond(&c.mu)
	c.wg.Go(c.readLoop)
	if err := c.initialize(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) initialize(ctx context.Context) error {
	p := protocol.InitializeParams{ProtocolVersion: protocol.Version, Client: &protocol.ClientInfo{Name: c.o.Name}}
	if c.o.Version != "" {
		p.Client.Version = &c.o.Version
	}
	if c.o.OpenHarnesses {
		p.Capabilities = &protocol.ClientCapabilities{OpenHarnesses: new(true)}
	}
	if err := c.call(ctx, protocol.MethodInitialize, p, &c.server); err != nil {
		return fmt.Errorf("initializing: %w", err)
	}
	if c.server.ProtocolVersion != protocol.Version {
		return fmt.Errorf("initializing: the server speaks protocol %d, this client %d", c.server.ProtocolVersion, protocol.Version)
	}
	return nil
}

// Server is what initialize answered.
func (c *Client) Server() protocol.InitializeResult { return c.server }

// Done is closed when the connection has ended; Err then says why.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is why the connection has ended; nil while it lives and after Close.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and waits for what the client has started.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closing = true
	c.room.Broadcast()
	c.mu.Unlock()
	err := c.framing.Close()
	c.wg.Wait()
	if cerr := c.onClose(); err == nil {
		err = cerr
	}
	return err
}

// fail ends everything that waits on the connection.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != io.EOF && !c.closing {
		c.err = err
	}
	for id, ch := range c.pending {
		delete(c.pending, id)
		close(ch)
	}
	for f := range c.feeds {
		f.end(ErrClosed)
	}
	close(c.done)
	c.room.Broadcast()
}
