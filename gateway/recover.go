package gateway

import (
	"crypto/rand"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/harness/process"
	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/session"
)

// recoverPage is how many sessions are listed at once.
const recoverPage = 500

// recover ends what the gateway before this one has begun in a durable log and did
// not live to end, before anybody is connected. A session that cannot be ended now
// takes nothing until it can; the others are none the worse for it.
func (g *Gateway) recover() error {
	catalog, lists := g.log.(eventlog.Catalog)
	if !g.durable() || !lists {
		return nil
	}
	// Nothing may work on in a directory whose turn is about to be told as over.
	found, err := process.Sweep(g.logID + ".")
	if err != nil {
		return fmt.Errorf("ending what the last gateway has left running: %w", err)
	}
	if found > 0 {
		g.zap.Warn("ended processes that the last gateway has left running", zap.Int("count", found))
	}
	for cursor := ""; ; {
		page, next, err := catalog.Sessions(cursor, recoverPage)
		if err != nil {
			return fmt.Errorf("listing the sessions of the log: %w", err)
		}
		for _, sum := range page {
			if !g.settled(sum) {
				g.recoverSession(sum.Session)
			}
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}

// marker is what marks one child and its descendants: with the log's id, by which the
// next gateway on that log finds those that this one does not live to end.
func (g *Gateway) marker() string { return g.logID + "." + g.instance + "." + rand.Text() }

// durable says whether the log outlives the process.
func (g *Gateway) durable() bool {
	ident, is := g.log.(eventlog.Identity)
	return is && ident.Durable()
}

// recoverSession appends a session's missing ends, like those of one whose step went
// wrong.
func (g *Gateway) recoverSession(id string) {
	s, err := g.obtain(id)
	if err != nil {
		g.zap.Error("session log cannot be opened", zap.String("session", id), zap.Error(err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setBroken(true)
	if s.usable() {
		g.zap.Info("session recovered", zap.String("session", id))
	}
}

// settled says whether a session's log shows that nothing of it was going on: it was
// told so or, where it was told nothing, its last event is an end behind which nothing
// waits. (A queued turn starts in the step in which the one before it ends.)
func (g *Gateway) settled(sum eventlog.Summary) bool {
	if sum.State != eventlog.StateUnknown {
		return sum.State != eventlog.StateBusy
	}
	switch g.lastEvent(sum.Session, sum.Latest) {
	case protocol.TypeTurnEnded, protocol.TypeSessionEnded:
		return true
	}
	return false
}

// lastEvent is the type of a session's last event; "" where it cannot be seen.
func (g *Gateway) lastEvent(id string, latest int64) protocol.EventType {
	first, _, ok := g.log.Range(id)
	if !ok {
		return ""
	}
	// A crash may have skipped numbers behind it, at most a block of them.
	var last eventlog.Record
	for after := max(latest-skipped-1, first-1); after < latest; after = last.Seq {
		records, err := g.log.Read(id, after, replayChunk)
		if err != nil || len(records) == 0 {
			break
		}
		last = records[len(records)-1]
	}
	if last.Line == nil {
		return ""
	}
	env, err := protocol.DecodeEnvelope(last.Envelope())
	if err != nil {
		return ""
	}
	return env.Event.Type()
}

// skipped is how many numbers a log may reserve ahead, and lose in a crash.
const skipped = 1024

// origin is what a session goes on from, where its machine is new but its life is
// not: after a restart, or after a step that went wrong.
type origin struct {
	// reg is the harness that the session is bound to; nil: none.
	reg *Registration
	// native is the conversation that the next process goes on with; "": none.
	native string
	// rules are the standing rules that hold.
	rules []session.Rule
}

// origin is what the log says of a session that was not closed. One that was begins
// anew: of its former life only the admissions stay.
func (s *Session) origin(info eventlog.Info) (o origin) {
	head := info.NextSeq - 1
	if head <= 0 || !s.gw.openIn(s.id, info.State, head) {
		return o
	}
	l, err := s.gw.lifeOf(s.id, head)
	if err != nil {
		// Pruned, or unreadable: it goes on without its context.
		s.gw.zap.Warn("a session's life cannot be read", s.about(zap.Error(err))...)
	}
	// Which one it was given is in the log before the harness has said anything.
	id := l.harness
	if id == "" {
		id = protocol.HarnessID(info.Facts.Harness)
	}
	if o.reg = s.gw.registry.find(id); o.reg == nil {
		return o // another harness would not know its conversation, nor the tools
	}
	o.native, o.rules = l.native, l.rules
	return o
}

// waiting are the turns that a session's log shows as queued, and as nothing since.
func waiting(c *reducer.Conversation) []protocol.TurnQueued {
	var queued []protocol.TurnQueued
	for _, u := range c.UnknownEvents() {
		if q, is := protocol.ReadTurnQueued(u); is {
			queued = append(queued, q)
		}
		if gone, is := protocol.ReadTurnUnqueued(u); is {
			queued = slices.DeleteFunc(queued, func(q protocol.TurnQueued) bool { return q.TurnID == gone.TurnID })
		}
	}
	return slices.DeleteFunc(queued, func(q protocol.TurnQueued) bool {
		return slices.ContainsFunc(c.Turns(), func(t reducer.Turn) bool { return t.TurnID == q.TurnID })
	})
}

// unqueued gives a queued turn's input back: the log holds it for that.
func unqueued(q protocol.TurnQueued, now int64) protocol.Event {
	return (&protocol.TurnUnqueued{SessionID: q.SessionID, TurnID: q.TurnID, Reason: protocol.UnqueuedHostDeath,
		Input: q.Input(), Timestamp: now}).Unknown()
}
