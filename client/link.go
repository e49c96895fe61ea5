package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"agent-server/protocol"
	"agent-server/transport"
)

// errDropped is what a link's calls get when it ends before their answers came.
var errDropped = errors.New("the connection ended before the answer came")

// link is one connection. A client that reconnects has one after the other, each
// with its own request ids and its own place in what the server sends unasked.
type link struct {
	c       *Client
	framing transport.Framing
	// hangUp ends it, once.
	hangUp func() error
	// outgoing hands requests to the write loop; done is closed when the read
	// loop is through.
	outgoing chan []byte
	done     chan struct{}
	born     time.Time

	// The client's lock guards what follows. err is how it ended; io.EOF: in order.
	err   error
	ended bool
	// greeted: initialize was answered and the link is the client's. What was sent
	// before is not delivered, only noted: it was sent to a client of which nothing
	// was known. early is the lowest seq of each session then.
	greeted bool
	early   map[string]int64
	// live is the highest seq of each session that was sent unasked.
	live map[string]int64
	// next is the id of the last request; pending are the calls that wait.
	next    int64
	pending map[int64]waiter
	// limit bounds a request in bytes; 0: the server names none.
	limit int64
}

// connect makes a link of a framing and starts its loops. It fails when the client
// is being closed.
func (c *Client) connect(f transport.Framing) (*link, error) {
	l := &link{c: c, framing: f, hangUp: sync.OnceValue(f.Close), outgoing: make(chan []byte), done: make(chan struct{}), born: time.Now(),
		early: map[string]int64{}, live: map[string]int64{}, pending: map[int64]waiter{}}
	c.mu.Lock()
	if c.closing {
		defer c.mu.Unlock()
		return nil, errors.Join(c.closedError(), l.hangUp())
	}
	c.wire = l
	c.wg.Go(l.readLoop)
	c.wg.Go(l.writeLoop)
	c.mu.Unlock()
	return l, nil
}

// waiter is given the answer to a request, or ok false when the link has ended
// instead. It is called once, by the read loop, in the order in which answers and
// events came, under the client's lock: it does not wait.
type waiter func(a answer, ok bool)

// call sends one request on this link and waits for its answer. sent is whether the
// server may have been given it; a link that ends meanwhile is errDropped.
func (l *link) call(ctx context.Context, method string, params, result any) (sent bool, err error) {
	type reply struct {
		answer
		ok bool
	}
	ch := make(chan reply, 1)
	id, err := l.ask(ctx, method, params, func(a answer, ok bool) { ch <- reply{a, ok} })
	if err != nil {
		return false, err
	}
	select {
	case r := <-ch:
		return true, r.into(method, r.ok, result)
	case <-ctx.Done():
		l.abandon(id)
		return true, ctx.Err()
	}
}

// ask sends one request, whose answer w will be given. After an error it will not.
func (l *link) ask(ctx context.Context, method string, params any, w waiter) (id int64, err error) {
	if id, err = l.expect(w); err != nil {
		return 0, err
	}
	line := request(id, method, params)
	if size := int64(len(line)) - 1; l.limit > 0 && size > l.limit {
		err = fmt.Errorf("the request is more than the server takes: %w", &transport.OversizeError{Bytes: size, Limit: l.limit})
	} else {
		err = l.hand(ctx, line)
	}
	if err != nil {
		l.abandon(id)
	}
	return id, err
}

// hand gives a line to the write loop.
func (l *link) hand(ctx context.Context, line []byte) error {
	select {
	case l.outgoing <- line:
		return nil
	case <-l.done:
		return errDropped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// expect registers a request; while one is open the read loop does not wait for
// feeds.
func (l *link) expect(w waiter) (int64, error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.ended {
		return 0, errDropped
	}
	l.next++
	l.pending[l.next] = w
	l.c.room.Broadcast()
	return l.next, nil
}

// abandon forgets a request; an answer that comes later concerns nobody. false: it
// was answered.
func (l *link) abandon(id int64) bool {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	_, waits := l.pending[id]
	delete(l.pending, id)
	return waits
}

// resolve hands an answer to its call.
func (l *link) resolve(id int64, a answer) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if w := l.pending[id]; w != nil {
		delete(l.pending, id)
		w(a, true)
	}
}

// writeLoop writes requests, whole and in order; a call that gives up does not
// tear the line that it has begun. A write that fails ends the link.
func (l *link) writeLoop() {
	for {
		select {
		case line := <-l.outgoing:
			if err := l.framing.Write(line); err != nil {
				l.cut(fmt.Errorf("writing to the server: %w", err))
				return
			}
		case <-l.done:
			return
		}
	}
}

// cut ends a link that is of no more use: whoever waits for an answer would wait
// for ever.
func (l *link) cut(err error) {
	l.c.mu.Lock()
	l.blame(err)
	l.c.room.Broadcast()
	l.c.mu.Unlock()
	_ = l.hangUp() // the fault that counts is known
}

// blame notes the first fault. Called under the lock.
func (l *link) blame(err error) {
	if l.err == nil {
		l.err = err
	}
}

// fail ends everything that waits on the link; the read loop's last act. Where the
// client has no way to another one, it ends too.
func (l *link) fail(err error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.blame(err)
	l.ended = true
	for id, w := range l.pending {
		delete(l.pending, id)
		w(answer{}, false)
	}
	if l.c.link == l {
		l.c.link = nil
		clear(l.c.held) // the log has it
		l.c.heldBytes = 0
		for e := range l.c.engines {
			e.inbox.put(letter{l: l, in: disconnected{}})
		}
	}
	close(l.done)
	if l.c.dial == nil {
		l.c.end(l.err)
	}
	l.c.announce()
}

// greet introduces the client on a fresh link; a server of another version is an
// error, be it that the server says so or that it does not notice.
func (l *link) greet(ctx context.Context) (protocol.InitializeResult, error) {
	o := l.c.o
	p := protocol.InitializeParams{ProtocolVersion: protocol.Version, Client: &protocol.ClientInfo{Name: o.Name}}
	if o.Version != "" {
		p.Client.Version = &o.Version
	}
	if o.OpenHarnesses {
		p.Capabilities = &protocol.ClientCapabilities{OpenHarnesses: new(true)}
	}
	var r protocol.InitializeResult
	_, err := l.call(ctx, protocol.MethodInitialize, p, &r)
	if errors.Is(err, errDropped) {
		l.c.mu.Lock()
		defer l.c.mu.Unlock()
		return r, fmt.Errorf("%w: %w", ErrClosed, l.err)
	}
	if err == nil && r.ProtocolVersion != protocol.Version {
		err = &VersionError{Server: r.ProtocolVersion}
	}
	return r, err
}

// faulty says whether a link's end is a fault: an end in order is none.
func faulty(err error) bool { return err != nil && !errors.Is(err, io.EOF) }
