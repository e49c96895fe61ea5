package gateway

import (
	"sync"
	"sync/atomic"
)

// cursor is how far one connection has read one session's log.
type cursor struct {
	s   *Session
	sub *Subscriber
	// seq is the last seq sent; the writer goroutine moves it.
	seq atomic.Int64
	// sent counts the bytes sent, against Session.published: a lag in bytes can
	// be known without a look at the log.
	sent atomic.Int64
	// dirty: it stands in the subscriber's dirty list, once.
	dirty atomic.Bool
	// caughtUp receives, coalesced, when the cursor has moved.
	caughtUp chan struct{}

	// due and mark are the writer goroutine's alone.
	due  bool
	mark int64
}

// advance notes what was sent.
func (c *cursor) advance(seq int64, bytes int) {
	c.seq.Store(seq)
	c.sent.Add(int64(bytes))
	select {
	case c.caughtUp <- struct{}{}:
	default:
	}
}

// lag counts the visible bytes that were not sent. A cursor at the head has none,
// whatever was counted while it was made.
func (c *cursor) lag() int64 {
	if c.seq.Load() >= c.s.head.Load() {
		return 0
	}
	return c.s.published.Load() - c.sent.Load()
}

// cursors are those of one session. Their lock is their own: connections come
// and go without waiting for a step.
type cursors struct {
	mu   sync.RWMutex
	list []*cursor
}

// subscribe gives a connection a cursor at the session's head: the past is for
// those who ask for it.
func (s *Session) subscribe(sub *Subscriber) {
	s.cursors.mu.Lock()
	defer s.cursors.mu.Unlock()
	c := &cursor{s: s, sub: sub, caughtUp: make(chan struct{}, 1)}
	// Bytes before the seq: publish goes the other way round, so that the lag
	// is never counted too small.
	c.sent.Store(s.published.Load())
	c.seq.Store(s.head.Load())
	s.cursors.list = append(s.cursors.list, c)
	sub.hold(s.id, c)
}

// unsubscribe takes a connection's cursor away. The list is copied, not changed:
// wake may be going through it.
func (s *Session) unsubscribe(sub *Subscriber) {
	s.cursors.mu.Lock()
	defer s.cursors.mu.Unlock()
	for i, c := range s.cursors.list {
		if c.sub == sub {
			s.cursors.list = append(append([]*cursor(nil), s.cursors.list[:i]...), s.cursors.list[i+1:]...)
			sub.drop(s.id, c)
			return
		}
	}
}

// wake tells every connection that the head has moved. One that was told and has
// not looked yet is not told again: a flood costs a sleeping writer one wake.
func (cs *cursors) wake() {
	cs.mu.RLock()
	defer cs.mu.RUnlock()
	for _, c := range cs.list {
		if c.dirty.CompareAndSwap(false, true) {
			c.sub.push(c)
		}
	}
}

// unread gives the lowest seq that a connection has yet to be sent: the log does
// not prune it away under a reader. One that may be lost, and is too far behind,
// does not count.
func (s *Session) unread() int64 {
	s.cursors.mu.RLock()
	defer s.cursors.mu.RUnlock()
	lowest := s.head.Load() + 1
	for _, c := range s.cursors.list {
		if c.sub.o.Pause || c.lag() <= s.gw.o.MaxLagBytes {
			lowest = min(lowest, c.seq.Load()+1)
		}
	}
	return lowest
}

// throttle waits while a connection that may not lose anything lags by more than
// maxLag; it ends with that connection, or when over is closed. It holds no lock:
// requests, and the connection's own reading, go on meanwhile.
func (cs *cursors) throttle(maxLag int64, over <-chan struct{}) {
	for c := cs.behind(maxLag); c != nil; c = cs.behind(maxLag) {
		select {
		case <-c.caughtUp:
		case <-c.sub.done:
		case <-over:
			return
		}
	}
}

// behind gives a connection that lags too far; nil: none does. Only one that
// pauses counts: the others lose their connection, not their harness.
func (cs *cursors) behind(maxLag int64) *cursor {
	cs.mu.RLock()
	defer cs.mu.RUnlock()
	for _, c := range cs.list {
		if c.sub.o.Pause && c.lag() > maxLag {
			return c
		}
	}
	return nil
}
