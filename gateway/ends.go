package gateway

import (
	"encoding/json"

	"agent-server/protocol"
	"agent-server/reducer"
)

// hostDeath marks what was ended for a machine that could not do it itself.
var hostDeath = protocol.Object(`{"` + protocol.MetaHostDeath + `":true}`)

// lost is why such a turn failed.
var lost = protocol.TurnError{Category: protocol.CategoryProcessExit, Message: "the gateway lost the turn before its end"}

// missingEnds are the ends of everything that a session has begun and not ended,
// in the order of a failing turn.
func missingEnds(c *reducer.Conversation, id string, now int64) []protocol.Event {
	var out []protocol.Event
	for _, t := range c.Turns() {
		if t.EndedAt == nil {
			e := ends{session: id, turn: t.TurnID, now: now}
			e.gather(c)
			out = append(out, e.events...)
		}
	}
	if tasksTold(c) > 0 {
		out = append(out, (&protocol.SessionUpdated{SessionID: id, BackgroundTasks: new(int64), Timestamp: now}).Unknown())
	}
	for _, q := range waiting(c) {
		out = append(out, unqueued(q, now))
	}
	return out
}

// tasksTold is how much was last said to run on beside the turns: it has gone with the
// process that ran it.
func tasksTold(c *reducer.Conversation) (n int64) {
	if told := reducer.SessionInfo(c).BackgroundTasks; told != nil && json.Unmarshal(told, &n) != nil {
		return 1 // whatever it is, it is not nothing
	}
	return n
}

// ends gathers those of one turn.
type ends struct {
	session, turn string
	now           int64
	events        []protocol.Event
}

// add appends one event.
func (e *ends) add(ev protocol.Event) { e.events = append(e.events, ev) }

// gather lists the error, closing snapshots, compactions, permissions, messages
// and the turn itself. Tools are left to the fold, which closes them in every
// reader alike. A cancel that was under way is none any more: nobody can say
// whether the harness had heard of it.
func (e *ends) gather(c *reducer.Conversation) {
	e.add(&protocol.ErrorEvent{SessionID: &e.session, TurnID: &e.turn, Category: lost.Category, Message: lost.Message, Timestamp: e.now})
	var open []string
	for _, entry := range c.Timeline() {
		switch entry := entry.(type) {
		case *reducer.Message:
			if entry.TurnID == e.turn {
				e.parts(entry)
			}
			if entry.TurnID == e.turn && entry.EndedAt == nil {
				open = append(open, entry.MessageID)
			}
		case *reducer.Compaction:
			e.compaction(entry)
		}
	}
	for _, p := range c.Permissions() {
		if p.TurnID == e.turn && p.Outcome == nil {
			e.add(&protocol.PermissionResolved{SessionID: e.session, TurnID: e.turn, RequestID: p.RequestID,
				Outcome: protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}, Timestamp: e.now})
		}
	}
	for _, id := range open {
		e.add(&protocol.MessageEnded{SessionID: e.session, TurnID: e.turn, MessageID: id, Timestamp: e.now})
	}
	e.add(&protocol.TurnEnded{SessionID: e.session, TurnID: e.turn, StopReason: protocol.StopError, Error: &lost, Timestamp: e.now, Meta: hostDeath})
}

// parts closes what still streams in a message, with what there is of it. Its place
// in the message is its partIndex: that counts first appearances, as the fold does.
func (e *ends) parts(m *reducer.Message) {
	for i, p := range m.Parts {
		if closed := done(p); closed != nil {
			e.add(&protocol.MessagePart{SessionID: e.session, TurnID: e.turn, MessageID: m.MessageID, OutputIndex: m.OutputIndex,
				PartIndex: protocol.Number(i), Part: closed, Timestamp: e.now})
		}
	}
}

// done is a streaming part's closing snapshot: what the deltas have built, marked,
// since more was perhaps on its way. nil for any other part.
func done(p protocol.Part) protocol.Part {
	switch p := p.(type) {
	case *protocol.TextPart:
		if p.State == protocol.StateStreaming {
			closed := *p
			closed.State, closed.Meta = protocol.StateDone, withMark(p.Meta)
			return &closed
		}
	case *protocol.ReasoningPart:
		if p.State == protocol.StateStreaming {
			closed := *p
			closed.State, closed.Meta = protocol.StateDone, withMark(p.Meta)
			return &closed
		}
	}
	return nil
}

// compaction ends one that goes on; the fold keeps all else that is known of it.
func (e *ends) compaction(k *reducer.Compaction) {
	if k.TurnID == e.turn && k.Status == "in_progress" {
		e.add(&protocol.SessionCompaction{SessionID: e.session, TurnID: e.turn, CompactionID: k.CompactionID,
			Status: "failed", Timestamp: e.now})
	}
}

// withMark adds the mark to a part's _meta.
func withMark(meta protocol.Object) protocol.Object {
	if len(meta) <= len("{}") {
		return hostDeath
	}
	b := append(protocol.Object(nil), hostDeath[:len(hostDeath)-1]...)
	return append(append(b, ','), meta[1:]...)
}
