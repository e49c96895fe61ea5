package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"agent-server/protocol"
)

// stuckAfter is how long a connection that is behind may make no progress before the
// log no longer spares what it has yet to read.
const stuckAfter = 10 * time.Second

// cursor is how far one connection has read one session's log.
type cursor struct {
	s   *Session
	sub *Subscriber
	// seq is the last seq passed; the writer goroutine moves it.
	seq atomic.Int64
	// sent counts the bytes passed, against Session.published: a lag in bytes can
	// be known without a look at the log.
	sent atomic.Int64
	// dirty: it stands in the subscriber's dirty list, once.
	dirty atomic.Bool
	// moved is when it last made progress, or fell behind, in ns since the epoch.
	moved atomic.Int64
	// caughtUp receives, coalesced, when the cursor has moved.
	caughtUp chan struct{}

	// asked: by session/subscribe, and not as one of all sessions; sparse: without
	// deltas, nil where the connection's word counts. Neither changes.
	asked  bool
	sparse *bool

	// What follows is the writer goroutine's alone, once the cursor is handed over.

	// active: the connection is sent the session by this cursor. One that was asked
	// for is not before its answer has its place.
	active bool
	// due: it stands in the subscriber's due list. mark is the head of this round,
	// and markSent what sent is there.
	due      bool
	mark     int64
	markSent int64
	// prev is the seq of the last line sent; what the first follows before that.
	prev int64
	// syncing: events/synced is owed once goal is passed.
	syncing bool
	goal    int64
}

// newCursor is a cursor of a connection at a session's head.
func newCursor(s *Session, sub *Subscriber) *cursor {
	c := &cursor{s: s, sub: sub, caughtUp: make(chan struct{}, 1)}
	c.look()
	c.goal, c.prev = c.mark, c.mark
	c.sent.Store(c.markSent)
	c.seq.Store(c.mark)
	c.moved.Store(time.Now().UnixNano())
	return c
}

// startAt moves a cursor that nobody has seen yet. What lies between there and the
// head is not counted as lag: nobody knows its bytes without a look at the log, and
// it is the log's, whoever reads it.
func (c *cursor) startAt(seq int64) {
	c.prev = seq
	c.seq.Store(seq)
}

// advance notes what was passed. At the mark the bytes are known, whatever holes were
// crossed on the way; what is read up to a cursor's first mark is not counted.
func (c *cursor) advance(seq int64, bytes int) {
	c.seq.Store(seq)
	switch {
	case seq == c.mark:
		c.sent.Store(c.markSent)
	case seq > c.goal:
		c.sent.Add(int64(bytes))
	}
	c.moved.Store(time.Now().UnixNano())
	select {
	case c.caughtUp <- struct{}{}:
	default:
	}
}

// look notes what is visible now. Bytes before the head: publish goes the same way,
// so that a lag is never found too small.
func (c *cursor) look() {
	c.markSent = c.s.published.Load()
	c.mark = c.s.head.Load()
}

// lag counts the visible bytes that were not sent. A cursor at the head has none,
// whatever was counted while it was made.
func (c *cursor) lag() int64 {
	if c.seq.Load() >= c.s.head.Load() {
		return 0
	}
	return c.s.published.Load() - c.sent.Load()
}

// spared says whether the log is to keep what this connection has yet to read. It is
// not where it makes no progress, or is too far behind: what may be lost then is its
// own. One that may not lose anything holds its harness instead.
func (c *cursor) spared(now time.Time) bool {
	if c.sub.o.Pause {
		return true
	}
	return now.UnixNano()-c.moved.Load() < int64(stuckAfter) && c.lag() <= c.s.gw.o.MaxLagBytes
}

// cursors are those of one session. Their lock is their own: connections come
// and go without waiting for a step.
type cursors struct {
	mu   sync.RWMutex
	list []*cursor
}

// subscribe gives a connection a cursor at the session's head, unless it wants none
// unasked: the past is for those who ask for it.
func (s *Session) subscribe(sub *Subscriber) {
	s.cursors.mu.Lock()
	defer s.cursors.mu.Unlock()
	if sub.picky.Load() {
		return
	}
	c := newCursor(s, sub)
	c.active = true
	s.cursors.list = append(s.cursors.list, c)
	sub.hold(s.id, c)
}

// unsubscribe takes a connection's cursors away, those not yet active too.
func (s *Session) unsubscribe(sub *Subscriber) {
	s.cursors.leave(func(c *cursor) bool { return c.sub == sub })
	sub.drop(s)
	s.dropIdleFold()
	s.missed()
}

// remove takes one cursor away.
func (s *Session) remove(gone *cursor) {
	s.cursors.leave(func(c *cursor) bool { return c == gone })
	s.dropIdleFold()
	s.missed()
}

// leave takes cursors off the list. The list is copied, not changed: wake may be going
// through it.
func (cs *cursors) leave(who func(*cursor) bool) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	var left []*cursor
	for _, c := range cs.list {
		if !who(c) {
			left = append(left, c)
		}
	}
	cs.list = left
}

// none says whether nobody reads the session.
func (cs *cursors) none() bool {
	cs.mu.RLock()
	defer cs.mu.RUnlock()
	return len(cs.list) == 0
}

// wake tells every connection that the head has moved. One that was told and has
// not looked yet is not told again: a flood costs a sleeping writer one wake. Who has
// looked has written all that came before: it falls behind only now.
func (cs *cursors) wake() {
	cs.mu.RLock()
	defer cs.mu.RUnlock()
	now := int64(0)
	for _, c := range cs.list {
		if c.dirty.CompareAndSwap(false, true) {
			if now == 0 {
				now = time.Now().UnixNano()
			}
			c.moved.Store(now)
			c.sub.push(c)
		}
	}
}

// unread gives the lowest seq that a connection has yet to be sent and the log is to
// spare: what comes first for those who read, the fold among them.
func (s *Session) unread() int64 {
	s.cursors.mu.RLock()
	defer s.cursors.mu.RUnlock()
	lowest, now := s.head.Load()+1, time.Now()
	if seq, following := s.unfolded(); following {
		lowest = min(lowest, seq)
	}
	for _, c := range s.cursors.list {
		if c.spared(now) {
			lowest = min(lowest, c.seq.Load()+1)
		}
	}
	return lowest
}

// throttle waits while a connection that may not lose anything lags by more than
// maxLag, until it has read half of that: a brake that is let go at once would be put
// on again with the next line. It ends with that connection, or when over is closed.
// It holds no lock: requests, and the connection's own reading, go on meanwhile.
func (cs *cursors) throttle(maxLag int64, over <-chan struct{}) {
	for c := cs.behind(maxLag / 2); c != nil; c = cs.behind(maxLag / 2) {
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

// view is how the connection is shown this session.
func (c *cursor) view() view {
	v := c.sub.view
	if c.sparse != nil {
		v.sparse = *c.sparse
	}
	return v
}

// sync appends events/synced if it is owed and what it waits for is passed.
func (c *cursor) sync(dst []byte) []byte {
	if !c.syncing || c.seq.Load() < c.goal {
		return dst
	}
	c.syncing = false
	return appendNotification(dst, protocol.NotificationSynced, protocol.EventsSynced{SessionID: c.s.id, Seq: c.goal})
}
