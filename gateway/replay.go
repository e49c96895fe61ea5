package gateway

import (
	"errors"
	"math"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/protocol"
)

// replayChunk is what one read of a replay asks the log for: enough to be quick,
// little enough not to hold up an engine that reads under a lock.
const replayChunk = 1 << 20

// replayPage bounds a page in bytes, where pages were asked for.
const replayPage = 4 << 20

// replays is how many replays are under way at once; others wait for a place. How
// many may wait, the connections' bounds on open requests say.
const replays = 4

// eventsReplay answers from the log, up to the head of this moment, as the connection
// is shown it.
func (g *Gateway) eventsReplay(c *call, params []byte) {
	p, faults := protocol.DecodeEventsReplay(params)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	head, known := g.headOf(p.SessionID)
	if !known {
		c.fail(protocol.ErrUnknownSession(p.SessionID))
		return
	}
	v := *c.sub.asked.Load()
	g.aside(c, protocol.MethodEventsReplay, func() { g.answerReplay(c, p, head, v) })
}

// aside serves a request that may read much of a log from a goroutine of its own: the
// connection's next request does not wait for it.
func (g *Gateway) aside(c *call, method string, serve func()) {
	g.asideIn(c, g.replaying, method, serve)
}

// asideIn is aside with places of its own: what waits for something else than a log
// must hold up nobody who reads one.
func (g *Gateway) asideIn(c *call, places chan struct{}, method string, serve func()) {
	g.wg.Go(func() {
		select {
		case places <- struct{}{}:
		case <-c.sub.done:
			return // nobody is there to be answered
		}
		defer func() { <-places }()
		defer g.caught(c, method)
		serve()
	})
}

// answerReplay reads what was asked for, and answers once.
func (g *Gateway) answerReplay(c *call, p protocol.EventsReplayParams, head int64, v view) {
	r, err := g.replay(c.sub.done, p, head, v)
	if err != nil {
		c.fail(g.unread(p.SessionID, "replay", err))
		return
	}
	c.result(r)
}

// unread is what a request is answered whose session cannot be read.
func (g *Gateway) unread(session, what string, err error) *protocol.Error {
	if errors.Is(err, eventlog.ErrPruned) {
		return protocol.ErrUnknownSession(session)
	}
	g.zap.Error(what+" failed", zap.String("session", session), zap.Error(err))
	return protocol.ErrInternal("the log of session " + session + " cannot be read")
}

// headOf is a session's last visible seq; known is false of one that was never
// seen. Of one that this process has not met yet, all that the log holds is
// visible.
func (g *Gateway) headOf(id string) (head int64, known bool) {
	if s := g.lookup(id); s != nil {
		return s.head.Load(), true
	}
	_, last, ok := g.log.Range(id)
	return last, ok
}

// replay reads everything from a seq up to head, or a page of it. Where the front was
// pruned it begins at the first that is held, and the numbers say so; where all was
// pruned it is ErrPruned. gone ends it early.
func (g *Gateway) replay(gone <-chan struct{}, p protocol.EventsReplayParams, head int64, v view) (protocol.EventsReplayResult, error) {
	if head == 0 { // the session's first step is being taken
		return protocol.EventsReplayResult{Events: []protocol.Object{}}, nil
	}
	for tried := int64(-1); ; {
		first, _, ok := g.log.Range(p.SessionID)
		if !ok || head < first {
			return protocol.EventsReplayResult{}, eventlog.ErrPruned
		}
		from := max(p.FromSeq, first)
		r := recital{limit: math.MaxInt32, bytes: math.MaxInt32, whole: true, events: []protocol.Object{},
			way: passage{gw: g, session: p.SessionID, view: v, at: from - 1, prev: from - 1, upto: head}}
		if p.Limit != nil {
			r.limit, r.bytes, r.whole = int(min(*p.Limit, math.MaxInt32)), replayPage, false
		}
		err := r.read(gone)
		// Pruned while we read: it begins later now. A log that says so of a front
		// which has not moved would say so for ever.
		if errors.Is(err, eventlog.ErrGone) && first != tried {
			tried = first
			continue
		}
		return protocol.EventsReplayResult{Events: r.events, FirstAvailableSeq: &first, LatestSeq: &head, NextSeq: r.nextSeq}, err
	}
}

// recital is a replay under way.
type recital struct {
	way passage
	// limit and bytes are what may still be said, unless the whole is asked for.
	limit, bytes int
	whole        bool
	events       []protocol.Object
	// nextSeq is where the next page begins; nil: there is none.
	nextSeq *int64
}

// full says whether a page has no room left. One event is said in any case.
func (r *recital) full() bool {
	return !r.whole && len(r.events) > 0 && (r.limit <= 0 || r.bytes <= 0)
}

// read reads a session's events up to the head, or as many as make a page. What would
// come behind a page is looked for, not promised: there may be nothing but deltas that
// this connection is not shown.
func (r *recital) read(gone <-chan struct{}) error {
	w := &r.way
	for w.at < w.upto {
		select {
		case <-gone:
			return nil
		default:
		}
		records, err := w.gw.log.Read(w.session, w.at, max(1, min(replayChunk, r.bytes)))
		if err != nil {
			return err
		}
		w.records, w.next = records, 0
		for last := w.prev; w.step(); last = w.prev {
			if r.full() {
				// Behind the last that was said: the next page's chain begins there.
				next := last + 1
				r.nextSeq = &next
				return nil
			}
			env := w.envelope()
			r.events, r.limit, r.bytes = append(r.events, env), r.limit-1, r.bytes-len(env)
		}
	}
	return nil
}
