package verify

import "agent-server/protocol"

// story is what the stream has told so far: the one memory that the rules of
// the book read. Only tell changes it, after an event was judged.
type story struct {
	// turns are those that were started, by id; order is theirs.
	turns map[string]*turn
	order []*turn
	// created: a session.created came since the last turn.started.
	created bool
	// roles are those of the messages that were started in a turn.
	roles map[string]protocol.Role
	// addresses are those at which parts were first shown, by part id.
	addresses map[string]address

	// permissions are the requests and their answers.
	permissions permissions
	// streams are the fields that grow at the moment.
	streams streams
	// unfinished is what has begun and not ended, but for the above.
	unfinished unfinished
}

// newStory is the story of which nothing has been told.
func newStory() *story {
	return &story{
		turns:       map[string]*turn{},
		roles:       map[string]protocol.Role{},
		addresses:   map[string]address{},
		permissions: newPermissions(),
		streams:     newStreams(),
		unfinished:  newUnfinished(),
	}
}

// tell adds an event, at its index, to the story.
func (s *story) tell(ev protocol.Event, at int) {
	switch ev := ev.(type) {
	case *protocol.SessionCreated:
		s.created = true
	case *protocol.SessionCompaction:
		s.unfinished.compacted(ev, at)
	case *protocol.TurnStarted:
		s.turnStarted(ev, at)
	case *protocol.TurnEnded:
		s.turnEnded(ev)
	case *protocol.MessageStarted:
		s.messageStarted(ev)
	case *protocol.MessagePart:
		s.partShown(ev, at)
	case *protocol.MessagePartDelta:
		s.streams.grow(ev)
	case *protocol.MessageEnded:
		s.messageEnded(ev)
	case *protocol.PermissionRequested:
		s.permissions.asked(s.turns[ev.TurnID], ev, at)
	case *protocol.PermissionResolved:
		s.permissions.answered(s.turns[ev.TurnID], ev)
	case *protocol.ErrorEvent:
		s.failed(ev, at)
	case *protocol.Raw:
		s.streams.raw(ev)
	case *protocol.UnknownEvent:
		s.unfinished.queued(ev, at)
	}
}

// ended is the turn with this id where it was started and has ended; else nil.
func (s *story) ended(turnID string) *turn {
	if t := s.turns[turnID]; t != nil && t.over {
		return t
	}
	return nil
}

// ending is the turn that a turn.ended would end for the first time; else nil.
func (s *story) ending(turnID string) *turn {
	if t := s.turns[turnID]; t != nil && !t.over {
		return t
	}
	return nil
}
