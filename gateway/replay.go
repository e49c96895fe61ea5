package gateway

import (
	"errors"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/protocol"
)

// replayChunk is what one read of a replay asks the log for.
const replayChunk = 1 << 20

func (g *Gateway) eventsReplay(c *call, params []byte) {
	p, faults := protocol.DecodeEventsReplay(params)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	s := g.lookup(p.SessionID)
	if s == nil {
		c.fail(protocol.ErrUnknownSession(p.SessionID))
		return
	}
	r, err := g.replay(s, p.FromSeq, c.sub.open.Load())
	if err != nil {
		g.zap.Error("replay failed", zap.String("session", s.id), zap.Error(err))
		c.fail(protocol.ErrInternal("the log of session " + s.id + " cannot be read"))
		return
	}
	c.result(r)
}

// replay reads everything from a seq up to the head of this moment. Where the
// front was pruned it begins at the first that is held, and the numbers say so.
func (g *Gateway) replay(s *Session, from int64, open bool) (protocol.EventsReplayResult, error) {
	r := protocol.EventsReplayResult{Events: []protocol.Object{}}
	head := s.head.Load()
	first, _, ok := g.log.Range(s.id)
	if !ok || head < first {
		return r, nil
	}
	r.FirstAvailableSeq, r.LatestSeq = &first, &head
	for after := max(from, first) - 1; after < head; {
		records, err := g.log.Read(s.id, after, replayChunk)
		if errors.Is(err, eventlog.ErrGone) {
			// Pruned while we read: what is left begins later.
			return g.replay(s, from, open)
		}
		if err != nil {
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

func shown(r eventlog.Record, open bool) protocol.Object {
	if open {
		return r.Envelope()
	}
	return r.BaseEnvelope()
}
