package verify

import (
	"fmt"

	"agent-server/protocol"
)

// messageStarted notes a message of a started turn. One of an unknown turn
// opens nothing, is no first message and has no role.
func (s *story) messageStarted(ev *protocol.MessageStarted) {
	t := s.turns[ev.TurnID]
	if t == nil {
		return
	}
	t.begun, t.last = true, ev.OutputIndex
	t.open[ev.MessageID] = true
	s.roles[ev.MessageID] = ev.Role
}

// messageEnded closes a message, also one that was never opened: from then on a
// further end of it is a second one.
func (s *story) messageEnded(ev *protocol.MessageEnded) {
	if t := s.turns[ev.TurnID]; t != nil {
		delete(t.open, ev.MessageID)
		t.closed[ev.MessageID] = true
	}
}

// messageInTurn is MessageInTurn; the rules below leave such a message to it.
func messageInTurn(s *story, ev *protocol.MessageStarted) string {
	if s.turns[ev.TurnID] == nil {
		return fmt.Sprintf("message %s starts in turn %s, which was not started", ev.MessageID, ev.TurnID)
	}
	return ""
}

// noMessagesAfterTurnEnd is NoMessagesAfterTurnEnd. The message opens all the
// same: its end is then no second breach.
func noMessagesAfterTurnEnd(s *story, ev *protocol.MessageStarted) string {
	if s.ended(ev.TurnID) != nil {
		return fmt.Sprintf("message %s starts in turn %s, which has ended", ev.MessageID, ev.TurnID)
	}
	return ""
}

// echoFirst is EchoFirst; only the first message of a turn is looked at.
func echoFirst(s *story, ev *protocol.MessageStarted) string {
	t := s.turns[ev.TurnID]
	if t == nil || t.begun || ev.Role == protocol.RoleUser && ev.OutputIndex == 0 {
		return ""
	}
	return fmt.Sprintf("turn %s begins with a message of the %s at outputIndex %v", ev.TurnID, ev.Role, ev.OutputIndex)
}

// outputIndexIncreases is OutputIndexIncreases. Places may be left out: what was
// planned and never came has no message.
func outputIndexIncreases(s *story, ev *protocol.MessageStarted) string {
	if t := s.turns[ev.TurnID]; t != nil && t.begun && ev.OutputIndex <= t.last {
		return fmt.Sprintf("outputIndex %v follows %v in turn %s", ev.OutputIndex, t.last, ev.TurnID)
	}
	return ""
}

// bracketPairing is BracketPairing. It lets a second end pass: to the base what is
// delivered twice is no harm.
func bracketPairing(s *story, ev *protocol.MessageEnded) string {
	t := s.turns[ev.TurnID]
	if t == nil || t.open[ev.MessageID] || t.closed[ev.MessageID] {
		return ""
	}
	return fmt.Sprintf("message %s ends in turn %s and was not started there", ev.MessageID, ev.TurnID)
}

// messageEndedOnce is MessageEndedOnce; here a second end is a fault of ours.
func messageEndedOnce(s *story, ev *protocol.MessageEnded) string {
	if t := s.turns[ev.TurnID]; t != nil && t.closed[ev.MessageID] && !t.open[ev.MessageID] {
		return fmt.Sprintf("message %s has ended before", ev.MessageID)
	}
	return ""
}
