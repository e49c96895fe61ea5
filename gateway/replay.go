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

// eventsReplay answers from the log, up to the head of this moment. It may be
// long, and holds up the connection's next request so long: what a client asks
// for in answers is bounded by its own reading.
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
	r, err := g.replay(p.SessionID, p.FromSeq, head, c.sub.open.Load())
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
// it is ErrPruned.
func (g *Gateway) replay(id string, from, head int64, open bool) (protocol.EventsReplayResult, error) {
	r := protocol.EventsReplayResult{Events: []protocol.Object{}}
	if head == 0 {
		return r, nil // the session's first step is being taken
	}
	first, _, ok := g.log.Range(id)
	if !ok || head < first {
		return r, eventlog.ErrPruned
	}
	r.FirstAvailableSeq, r.LatestSeq = &first, &head
	for after := max(from, first) - 1; after < head; {
		records, err := g.log.Read(id, after, replayChunk)
		switch {
		case errors.Is(err, eventlog.ErrGone):
			return g.replay(id, from, head, open) // pruned while we read: it begins later now
		case err != nil:
			return r, err
		case len(records) == 0:
			return r, nil
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
