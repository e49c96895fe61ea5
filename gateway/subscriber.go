package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"agent-server/eventlog"
	"agent-server/protocol"
)

// ConnectOptions say what kind of connection it is.
type ConnectOptions struct {
	// Pause: the connection is the only consumer (stdio), so that harnesses
	// wait when it falls behind MaxLagBytes instead of losing it.
	Pause bool
	// Name tells connections apart in the log.
	Name string
	// Reach says how the client gets here; zero: it started us.
	Reach Reach
}

// Reach says how a client gets here, and so what it may ask for.
type Reach int

const (
	// ReachHost: it has started us, and could start anything else.
	ReachHost Reach = iota
	// ReachLoopback: a process of this machine, over a socket.
	ReachLoopback
	// ReachNetwork: any other, also one that nobody can place.
	ReachNetwork
)

// Subscriber is one connection's view of the gateway: what it calls (it is a
// jsonrpc2.Handler) and what it pulls from (it is a transport.Source, and a
// transport.Effector). A cursor a session, no queue: a slow consumer holds no memory
// of its own, and live and replay are one code path. Its writer alone calls Mark,
// Read and Effect.
type Subscriber struct {
	gw *Gateway
	o  ConnectOptions
	// wake receives, coalesced, when a head has moved; done is closed when the
	// connection is gone, left is set before.
	wake  chan struct{}
	done  chan struct{}
	close sync.Once
	left  atomic.Bool
	// asked is the view that the last initialize has asked for: what its requests go
	// by. picky is whether new sessions are not for it.
	asked atomic.Pointer[view]
	picky atomic.Bool

	mu sync.Mutex
	// dirty are cursors whose session's head has moved since the last Mark.
	dirty []*cursor
	// byID are all cursors by which it is sent events.
	byID map[string]*cursor
	// wishes are the latest requests to be sent a session, or no longer, that have not
	// taken effect.
	wishes map[string]*wish
	// effects wait for their answers' places; lastEffect is the latest one's number.
	effects    map[int64]func()
	lastEffect int64

	// What follows is the writer goroutine's alone. view is what it writes by: that
	// of the last initialize whose answer has its place. due are the cursors of this
	// round; way is where it reads.
	view view
	due  []*cursor
	way  passage
}

// newSubscriber is a connection that holds no cursor yet.
func newSubscriber(g *Gateway, o ConnectOptions) *Subscriber {
	sub := &Subscriber{gw: g, o: o, wake: make(chan struct{}, 1), done: make(chan struct{}),
		byID: map[string]*cursor{}, wishes: map[string]*wish{}, effects: map[int64]func(){}}
	sub.asked.Store(&view{})
	return sub
}

// Handle serves one request; it does not block. It is the library's handler.
func (sub *Subscriber) Handle(_ context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if req.Notif {
		return
	}
	sub.gw.serve(&call{sub: sub, conn: conn, id: req.ID}, req)
}

// Wake implements transport.Source.
func (sub *Subscriber) Wake() <-chan struct{} { return sub.wake }

// Close implements transport.Source: the connection is gone.
func (sub *Subscriber) Close() {
	sub.close.Do(func() {
		// In this order: who gives it a cursor meanwhile takes that back, and who waits
		// for the connection finds it gone.
		sub.left.Store(true)
		sub.gw.disconnect(sub)
		close(sub.done)
	})
}

// Mark implements transport.Source: what is visible now is this round's.
func (sub *Subscriber) Mark() {
	sub.mu.Lock()
	fresh := sub.dirty
	sub.dirty = nil
	sub.mu.Unlock()
	// First the flag, then the head: a head that moves in between marks the
	// cursor dirty again, and costs one round for nothing. The other way round it
	// could be missed.
	for _, c := range fresh {
		c.dirty.Store(false)
	}
	for _, c := range fresh {
		sub.enlist(c)
	}
	for _, c := range sub.due {
		c.look()
	}
}

// enlist puts a cursor into the round's list, once. One that has yet to take effect
// waits for that.
func (sub *Subscriber) enlist(c *cursor) {
	if c.active && !c.due {
		c.due = true
		sub.due = append(sub.due, c)
	}
}

// Read implements transport.Source. A session's own lines up to a seq are read
// also beyond the mark: they are stored, and the answer that waits for them says
// that they may be seen.
func (sub *Subscriber) Read(dst []byte, session string, seq int64, budget int) ([]byte, bool, error) {
	if session != "" {
		c := sub.cursor(session)
		if c == nil {
			return dst, false, nil
		}
		return sub.read(dst, c, seq, budget)
	}
	limit := len(dst) + budget
	for len(sub.due) > 0 && len(dst) < limit {
		// Who is not done goes to the end of the line: a session that floods
		// holds up no other.
		c := sub.due[0]
		sub.due = sub.due[1:]
		c.due = false
		if !c.active {
			continue // another has taken its place
		}
		var more bool
		var err error
		if dst, more, err = sub.read(dst, c, c.mark, limit-len(dst)); err != nil {
			return dst, false, err
		}
		if more {
			sub.enlist(c)
		}
	}
	return dst, len(sub.due) > 0, nil
}

// read appends one session's lines after its cursor, up to a seq, and says
// whether more of them are due. A log that has let go what is due to a connection
// ends that connection, or, where it has a chain, the session's events on it: to skip
// them would be a silent loss.
func (sub *Subscriber) read(dst []byte, c *cursor, upto int64, budget int) ([]byte, bool, error) {
	after := c.seq.Load()
	if after >= upto {
		return c.sync(dst), false, nil
	}
	records, err := sub.gw.log.Read(c.s.id, after, max(budget, 1))
	if errors.Is(err, eventlog.ErrGone) {
		return sub.lose(dst, c)
	}
	if err != nil {
		return dst, false, fmt.Errorf("reading session %s after seq %d: %w", c.s.id, after, err)
	}
	// The whole of it is set anew, so that nothing of the last reading is kept.
	way := &sub.way
	*way = passage{gw: sub.gw, session: c.s.id, view: c.view(), records: records, at: after, upto: upto, prev: c.prev}
	for limit := len(dst) + budget; len(dst) < limit && way.step(); {
		dst = way.append(dst)
		if c.syncing && way.at >= c.goal {
			c.seq.Store(way.at)
			dst = c.sync(dst)
		}
	}
	after, c.prev = way.at, way.prev
	c.advance(after, way.passed)
	*way = passage{}
	return c.sync(dst), after < upto, nil
}

// lose gives up what the log no longer holds. A connection with a chain is told so,
// and is sent nothing more of the session until it subscribes again; any other ends.
func (sub *Subscriber) lose(dst []byte, c *cursor) ([]byte, bool, error) {
	if !c.view().chained {
		return dst, false, &LagError{Session: c.s.id, After: c.seq.Load()}
	}
	first, last, ok := sub.gw.log.Range(c.s.id)
	if !ok {
		first = last + 1
	}
	sub.deactivate(c)
	return appendNotification(dst, protocol.NotificationLagged,
		protocol.EventsLagged{SessionID: c.s.id, LastSeq: c.prev, FirstAvailableSeq: first}), false, nil
}

// closeTryAgain is the code of a WebSocket whose peer fell too far behind. It is
// transport.CloseTryAgain, spelled here so that this package needs no transport.
const closeTryAgain = 1013

// LagError reports that a connection fell so far behind that the log has let go
// what was due to it. It is the peer's lag, no fault of ours: connected anew, a
// replay brings what is still held.
type LagError struct {
	// Session is the session concerned.
	Session string
	// After is the last seq that the connection was sent.
	After int64
}

// Error names the session and the seq.
func (e *LagError) Error() string {
	return fmt.Sprintf("session %s is no longer held from behind seq %d on: the connection is too far behind", e.Session, e.After)
}

// Is makes it eventlog.ErrGone.
func (e *LagError) Is(target error) bool { return target == eventlog.ErrGone }

// CloseCode is the code to close a WebSocket with: try again.
func (e *LagError) CloseCode() int { return closeTryAgain }

// cursor is the connection's cursor on a session; nil: it is sent nothing of it.
func (sub *Subscriber) cursor(session string) *cursor {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.byID[session]
}

// hold makes a cursor the one by which a session is sent; it gives the one whose place
// that takes.
func (sub *Subscriber) hold(session string, c *cursor) (before *cursor) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	before = sub.byID[session]
	sub.byID[session] = c
	return before
}

// drop lets a session's cursor go, unless that of another session by its name has
// taken its place.
func (sub *Subscriber) drop(s *Session) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if c := sub.byID[s.id]; c != nil && c.s == s {
		delete(sub.byID, s.id)
	}
}

// push notes that a session's head has moved, and wakes the writer.
func (sub *Subscriber) push(c *cursor) {
	sub.mu.Lock()
	sub.dirty = append(sub.dirty, c)
	sub.mu.Unlock()
	select {
	case sub.wake <- struct{}{}:
	default:
	}
}
