package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"agent-server/protocol"
	"agent-server/seqcursor"
	"agent-server/transport"
)

// DefaultMaxLineBytes bounds a line from the server: an event may be longer than
// what a client may send.
const DefaultMaxLineBytes = 256 << 20

// Options say who the client is and how it connects. The zero value is useful.
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

	// What follows is Dial's and Keep's; Attach and Spawn have one connection.

	// Connect is how Dial connects: token, TLS, bounds. Its lines from the server
	// are bounded by DefaultMaxLineBytes unless it says otherwise.
	Connect transport.ClientOptions
	// MinBackoff is the wait between the first two tries, from which it doubles;
	// each is between half of it and all; 0: 0.5 s.
	MinBackoff time.Duration
	// MaxBackoff is where the wait stops growing; 0: 30 s.
	MaxBackoff time.Duration
	// AwaitServer: the first connection is tried again too, for as long as the
	// context lives; without it its failure is Dial's.
	AwaitServer bool
	// OnDown is told that there is no connection, why, and in how long the next
	// try is. The goroutine that reconnects calls it, and waits; nil: nobody is told.
	OnDown func(err error, retryIn time.Duration)
	// OnUp is told that there is a connection, the first one too, and who answered;
	// as OnDown.
	OnUp func(protocol.InitializeResult)
}

// withDefaults is the one place where Options are completed.
func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "agent-server-client"
	}
	if o.QueueBytes == 0 {
		o.QueueBytes = 16 << 20
	}
	if o.MinBackoff == 0 {
		o.MinBackoff = 500 * time.Millisecond
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = 30 * time.Second
	}
	if o.Connect.Socket.MaxMessageBytes == 0 {
		o.Connect.Socket.MaxMessageBytes = DefaultMaxLineBytes
	}
	if o.OnDown == nil {
		o.OnDown = func(error, time.Duration) {}
	}
	if o.OnUp == nil {
		o.OnUp = func(protocol.InitializeResult) {}
	}
	return o
}

// Client speaks to a gateway, over one connection or one after the other. Attach,
// Spawn, Dial and Keep make one.
type Client struct {
	o Options
	// dial makes the next connection; nil: there is none.
	dial DialFunc
	// stop ends the dialling; release lets go what belongs to the client, a child
	// process for instance, once.
	stop    context.CancelFunc
	release func() error

	// done is closed when the client has ended.
	done chan struct{}
	wg   sync.WaitGroup

	// mu guards everything below; room is signalled when reading may go on.
	mu   sync.Mutex
	room *sync.Cond
	// closing: Close was called, what fails from here on is no fault; ended: there
	// is no connection, nor will there be; err: the fault that ended it.
	closing bool
	ended   bool
	err     error
	// wire is the newest link; link is it, once it was greeted and while it lives.
	// changed is closed, and made anew, when link or ended changes.
	wire, link *link
	changed    chan struct{}
	// server is who answered last. era counts the hosts that were lost, lost says
	// how the last one was.
	server protocol.InitializeResult
	era    int
	lost   error
	// cursor is what was delivered of each session; anchored are those whose
	// cursor counts at 0 too: their beginning is wanted. heads are where sessions
	// stood that are followed and of which nothing was delivered.
	cursor   seqcursor.Cursor
	anchored map[string]struct{}
	heads    map[string]int64
	feeds    map[*Feed]struct{}
	engines  map[*Engine]struct{}
	// held are the live envelopes of sessions that are being healed, heldBytes
	// what they weigh; a session that is not has no entry.
	held      map[string][]arrival
	heldBytes int
}

// newClient makes a client without a connection.
func newClient(o Options, dial DialFunc, release func() error) *Client {
	c := &Client{o: o.withDefaults(), dial: dial, stop: func() {}, release: sync.OnceValue(release), done: make(chan struct{}), changed: make(chan struct{}),
		anchored: map[string]struct{}{}, heads: map[string]int64{}, feeds: map[*Feed]struct{}{}, engines: map[*Engine]struct{}{}, held: map[string][]arrival{}}
	c.room = sync.NewCond(&c.mu)
	return c
}

// Attach speaks to a gateway over a stream that is already there, and initializes:
// a pipe, stdio, or a socket that a gateway dialled and transport.Upgrade accepted.
// The stream is the client's from then on, also where it fails.
func Attach(ctx context.Context, f transport.Framing, o Options) (*Client, error) {
	return attach(ctx, f, o, func() error { return nil })
}

// attach is Attach with something to be let go at the end.
func attach(ctx context.Context, f transport.Framing, o Options, release func() error) (*Client, error) {
	c := newClient(o, nil, release)
	if _, err := c.establish(ctx, f); err != nil {
		return nil, errors.Join(fmt.Errorf("initializing: %w", err), c.Close())
	}
	return c, nil
}

// establish makes a framing the client's link.
func (c *Client) establish(ctx context.Context, f transport.Framing) (*link, error) {
	l, err := c.connect(f)
	if err != nil {
		return nil, err
	}
	server, err := l.greet(ctx)
	if err == nil {
		err = c.install(l, server)
	}
	if err != nil {
		l.cut(err)
		return nil, err
	}
	return l, nil
}

// Server is what initialize answered, on the connection made last.
func (c *Client) Server() protocol.InitializeResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server
}

// Connected says whether there is a connection now.
func (c *Client) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link != nil
}

// Done is closed when the connection has ended, for good; Err then says why.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is the fault that ended the connection; nil while it lives, after Close,
// and where the server has ended it in order and it is not made again.
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
	wire := c.wire
	c.room.Broadcast()
	c.mu.Unlock()
	c.stop()
	var err error
	if wire != nil {
		err = wire.hangUp()
	}
	c.wg.Wait()
	c.mu.Lock()
	engines := slices.Collect(maps.Keys(c.engines))
	c.mu.Unlock()
	for _, e := range engines {
		e.Close()
	}
	return errors.Join(err, c.release())
}

// end is the end for good: of everyone who follows something, and of all waiting.
// Called under the lock, once.
func (c *Client) end(err error) {
	if !c.closing && faulty(err) {
		c.err = err
	}
	c.ended = true
	for f := range c.feeds {
		f.end(c.closedError())
	}
	for e := range c.engines {
		e.end(c.closedError())
	}
	close(c.done)
	c.announce()
}

// announce wakes whoever waits for a link or for room. Called under the lock.
func (c *Client) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
	c.room.Broadcast()
}

// closedError is what a call on an ended connection gets. Called under the lock.
func (c *Client) closedError() error {
	if c.err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, c.err)
	}
	return ErrClosed
}
