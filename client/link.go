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
	pending map[int64]chan answer
	// limit bounds a request in bytes; 0: the server names none.
	limit int64
}

// connect makes a link of a framing and starts its loops. It fails when the client
// is being closed.
func (c *Client) connect(f transport.Framing) (*link, error) {
	l := &link{c: c, framing: f, hangUp: sync.OnceValue(f.Close), outgoing: make(chan []byte), done: make(chan struct{}), born: time.Now(),
		early: map[string]int64{}, live: map[string]int64{}, pending: map[int64]chan answer{}}
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

// call sends one request on this link and waits for its answer. sent is whether the
// server may have been given it; a link that ends meanwhile is errDropped.
func (l *link) call(ctx context.Context, method string, params, result any) (sent bool, err error) {
	id, ch, err := l.expect()
	if err != nil {
		return false, err
	}
	defer l.abandon(id)
	line := request(id, method, params)
	if size := int64(len(line)) - 1; l.limit > 0 && size > l.limit {
		return false, fmt.Errorf("the request is more than the server takes: %w", &transport.OversizeError{Bytes: size, Limit: l.limit})
	}
	select {
	case l.outgoing <- line:
	case <-l.done:
		return false, errDropped
	case <-ctx.Done():
		return false, ctx.Err()
	}
	select {
	case a, ok := <-ch:
		return true, a.into(method, ok, result)
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// expect registers a call; while one is open the read loop does not wait for
// feeds.
func (l *link) expect() (int64, chan answer, error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.ended {
		return 0, nil, errDropped
	}
	l.next++
	ch := make(chan answer, 1) // the read loop does not wait for the caller
	l.pending[l.next] = ch
	l.c.room.Broadcast()
	return l.next, ch, nil
}

// abandon forgets a call, answered or not; an answer that comes later concerns
// nobody.
func (l *link) abandon(id int64) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	delete(l.pending, id)
}

// resolve hands an answer to its call.
func (l *link) resolve(id int64, a answer) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if ch := l.pending[id]; ch != nil {
		delete(l.pending, id)
		ch <- a
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
	for id, ch := range l.pending {
		delete(l.pending, id)
		close(ch)
	}
	if l.c.link == l {
		l.c.link = nil
		clear(l.c.held) // the log has it
		l.c.heldBytes = 0
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
