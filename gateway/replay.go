package gateway

import (
	"errors"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/protocol"
)

// replayChunk is what one read of a replay asks the log for: enough to be quick,
// little enough not to hold up an engine that reads under a lock.
const replayChunk = 1 << 20

// replays is how many replays are under way at once; others wait for a place. How
// many may wait, the connections' bounds on open requests say.
const replays = 4

// eventsReplay answers from the log, up to the head of this moment. It may be
// long, and is answered from a goroutine of its own: the connection's next request
// does not wait for it.
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
	open := c.sub.open.Load()
	g.wg.Go(func() {
		select {
		case g.replaying <- struct{}{}:
		case <-c.sub.done:
			return // nobody is there to be answered
		}
		defer func() { <-g.replaying }()
		defer g.caught(c, protocol.MethodEventsReplay)
		g.answerReplay(c, p, head, open)
	})
}

// answerReplay reads what was asked for, and answers once.
func (g *Gateway) answerReplay(c *call, p protocol.EventsReplayParams, head int64, open bool) {
	r, err := g.replay(c.sub.done, p, head, open)
	switch {
	case errors.Is(err, eventlog.ErrPruned):
		c.fail(protocol.ErrUnknownSession(p.SessionID))
	case err != nil:
		g.zap.Error("replay failed", zap.String("session", p.SessionID), zap.Error(err))
		c.fail(protocol.ErrInternal("the log of session " + p.SessionID + " cannot be read"))
	default:
		c.result(r)
	}
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

// replay reads everything from a seq up to head. Where the front was pruned it
// begins at the first that is held, and the numbers say so; where all was pruned
// it is ErrPruned. gone ends it early.
func (g *Gateway) replay(gone <-chan struct{}, p protocol.EventsReplayParams, head int64, open bool) (protocol.EventsReplayResult, error) {
	if head == 0 { // the session's first step is being taken
		return protocol.EventsReplayResult{Events: []protocol.Object{}}, nil
	}
	for tried := int64(-1); ; {
		first, _, ok := g.log.Range(p.SessionID)
		if !ok || head < first {
			return protocol.EventsReplayResult{}, eventlog.ErrPruned
		}
		r, err := g.readUpTo(gone, p.SessionID, max(p.FromSeq, first), head, open)
		// Pruned while we read: it begins later now. A log that says so of a front
		// which has not moved would say so for ever.
		if errors.Is(err, eventlog.ErrGone) && first != tried {
			tried = first
			continue
		}
		r.FirstAvailableSeq, r.LatestSeq = &first, &head
		return r, err
	}
}

// readUpTo reads a session's events from a seq up to head, as far as they are
// held.
func (g *Gateway) readUpTo(gone <-chan struct{}, id string, from, head int64, open bool) (protocol.EventsReplayResult, error) {
	r := protocol.EventsReplayResult{Events: []protocol.Object{}}
	for after := from - 1; after < head; {
		select {
		case <-gone:
			return r, nil
		default:
		}
		records, err := g.log.Read(id, after, replayChunk)
		if err != nil || len(records) == 0 {
			return r, err
		}
		for _, rec := range records {
			if rec.Seq <= head {
				r.Events = append(r.Events, shown(rec, open))
			}
			after = rec.Seq
		}
	}
	return r, nil
}

// shown is a record's envelope as a connection sees it.
func shown(r eventlog.Record, open bool) protocol.Object {
	if open {
		return r.Envelope()
	}
	return r.BaseEnvelope()
}
