package reducer

import "agent-server/protocol"

// Reduce folds one event into a conversation. c stays valid as it is; a fold that
// changes nothing returns c itself.
func Reduce(c *Conversation, ev protocol.Event) *Conversation { return fold(c, ev, nil) }

// ReduceWithChanges is Reduce that also tells what has changed, in the order of
// the protocol. There are no changes exactly when c itself is returned.
func ReduceWithChanges(c *Conversation, ev protocol.Event) (*Conversation, []Change) {
	var r recorder
	next := fold(c, ev, &r)
	return next, r.changes
}

// Folded is a conversation with the place in the log up to which it is folded.
// The zero value is the empty conversation before the first event.
type Folded struct {
	// Conversation is the fold of every event up to Seq.
	Conversation *Conversation
	// Seq is the watermark: the highest seq folded; 0 before the first.
	Seq int64
}

// FoldEnvelope folds an event that is newer than the watermark, and moves that.
// Any other envelope was folded before, in itself or in a snapshot, and changes
// nothing: deliveries may overlap as they like.
func FoldEnvelope(f Folded, env protocol.Envelope) (Folded, []Change) {
	if env.Seq <= f.Seq {
		return f, nil
	}
	next, changes := ReduceWithChanges(f.Conversation, env.Event)
	return Folded{next, env.Seq}, changes
}

// Join is the newer of two folds of the same session; a where they are equally new.
// A snapshot is taken with it: one that is stale never moves a fold backwards.
func Join(a, b Folded) Folded {
	if b.Seq > a.Seq {
		return b
	}
	return a
}

// fold is the one implementation, for every caller and both entrances: what the
// gateway tells and what a client makes of it cannot differ. The arms for raw and for a nil event change
// nothing.
func fold(c *Conversation, ev protocol.Event, r *recorder) *Conversation {
	switch e := ev.(type) {
	case *protocol.MessagePartDelta:
		return c.delta(e, r)
	case *protocol.MessagePart:
		return c.part(e, r)
	case *protocol.MessageStarted:
		return c.messageStarted(e, r)
	case *protocol.MessageEnded:
		return c.messageEnded(e, r)
	case *protocol.TurnStarted:
		return c.turnStarted(e, r)
	case *protocol.TurnEnded:
		return c.turnEnded(e, r)
	case *protocol.PermissionRequested:
		return c.permissionRequested(e, r)
	case *protocol.PermissionResolved:
		return c.permissionResolved(e, r)
	case *protocol.SessionCreated:
		return c.sessionCreated(e, r)
	case *protocol.SessionEnded:
		return c.sessionEnded(e, r)
	case *protocol.SessionUsage:
		return c.usage(e, r)
	case *protocol.SessionCompaction:
		return c.compaction(e, r)
	case *protocol.ErrorEvent:
		return c.failure(e, r)
	case *protocol.UnknownEvent:
		return c.unknownEvent(e, r)
	}
	return c
}
