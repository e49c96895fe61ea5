package verify

import (
	"fmt"

	"agent-server/protocol"
)

// turn is what the stream has told of a turn that was started.
type turn struct {
	id string
	// start is the index of its first turn.started.
	start int
	// over: it has ended.
	over bool
	// begun: a message was started in it, the latest at outputIndex last.
	begun bool
	last  protocol.Number
	// open messages, and those that have ended; opened again they are open.
	open, closed map[string]bool
	// faults are the errors reported in its name.
	faults map[protocol.TurnError]fault
	// asks is what its permissions tell of a cancel.
	asks asks
}

// turnStarted notes a turn. To start it again makes no new one.
func (s *story) turnStarted(ev *protocol.TurnStarted, at int) {
	s.created = false
	s.unfinished.started(ev.TurnID)
	if s.turns[ev.TurnID] != nil {
		return
	}
	t := &turn{id: ev.TurnID, start: at, open: map[string]bool{}, closed: map[string]bool{}, faults: map[protocol.TurnError]fault{}}
	s.turns[ev.TurnID] = t
	s.order = append(s.order, t)
}

// turnEnded notes the end of a turn; that of an unknown one is noted nowhere.
func (s *story) turnEnded(ev *protocol.TurnEnded) {
	if t := s.turns[ev.TurnID]; t != nil {
		t.over = true
	}
}

// sessionCreatedOnce is SessionCreatedOnce. A session may be created in every
// turn anew: each may run in another process.
func sessionCreatedOnce(s *story, _ *protocol.SessionCreated) string {
	if s.created {
		return "a second session.created since the last turn.started"
	}
	return ""
}

// turnStartedOnce is TurnStartedOnce.
func turnStartedOnce(s *story, ev *protocol.TurnStarted) string {
	if s.turns[ev.TurnID] != nil {
		return fmt.Sprintf("turn %s was started before", ev.TurnID)
	}
	return ""
}

// turnEndKnown is the first half of TurnEndedPairs.
func turnEndKnown(s *story, ev *protocol.TurnEnded) string {
	if s.turns[ev.TurnID] == nil {
		return fmt.Sprintf("turn %s was never started", ev.TurnID)
	}
	return ""
}

// turnsEnd is its second half: the start is blamed, there is nothing else.
func turnsEnd(s *story) []blame {
	var found []blame
	for _, t := range s.order {
		if !t.over {
			found = append(found, blame{t.start, fmt.Sprintf("turn %s never ends", t.id)})
		}
	}
	return found
}

// turnEndedOnce is TurnEndedOnce.
func turnEndedOnce(s *story, ev *protocol.TurnEnded) string {
	if s.ended(ev.TurnID) != nil {
		return fmt.Sprintf("turn %s has ended before", ev.TurnID)
	}
	return ""
}

// messagesClosedByTurnEnd is MessagesClosedByTurnEnd, at the first end alone: a
// second one is another rule's.
func messagesClosedByTurnEnd(s *story, ev *protocol.TurnEnded) string {
	if t := s.ending(ev.TurnID); t != nil && len(t.open) > 0 {
		return fmt.Sprintf("%d messages of turn %s are still open", len(t.open), ev.TurnID)
	}
	return ""
}

// errorCarriesInfo is ErrorCarriesInfo; as in the base, a failure by an unknown
// word is not held to it.
func errorCarriesInfo(s *story, ev *protocol.TurnEnded) string {
	if s.ending(ev.TurnID) != nil && ev.StopReason == protocol.StopError && ev.Error == nil {
		return fmt.Sprintf("turn %s ends in an error and does not say which", ev.TurnID)
	}
	return ""
}
