package verify

import (
	"fmt"

	"agent-server/protocol"
)

// address is where a part stands.
type address struct {
	messageID string
	partIndex protocol.Number
}

// String is the address in words.
func (a address) String() string {
	return fmt.Sprintf("part %v of message %s", a.partIndex, a.messageID)
}

// partShown notes a snapshot: its first address counts.
func (s *story) partShown(ev *protocol.MessagePart, at int) {
	id := ev.Part.Head().ID
	if _, shown := s.addresses[id]; !shown {
		s.addresses[id] = address{ev.MessageID, ev.PartIndex}
	}
	s.streams.show(ev)
	s.unfinished.shown(ev, at)
}

// partAddressStable is PartAddressStable. outputIndex is left out: it follows from
// the message.
func partAddressStable(s *story, ev *protocol.MessagePart) string {
	id, now := ev.Part.Head().ID, address{ev.MessageID, ev.PartIndex}
	if was, shown := s.addresses[id]; shown && was != now {
		return fmt.Sprintf("part id %q was %v and is now %v", id, was, now)
	}
	return ""
}

// partSelfDescribing is PartSelfDescribing: a part is kept without its event.
func partSelfDescribing(_ *story, ev *protocol.MessagePart) string {
	head := ev.Part.Head()
	switch {
	case head.ID == "":
		return "the part's id is empty"
	case head.MessageID != ev.MessageID:
		return fmt.Sprintf("the part says message %s, its event %s", head.MessageID, ev.MessageID)
	}
	return ""
}

// latePartsAreTerminalTools is LatePartsAreTerminalTools. Of an unknown type
// nobody can say whether it is over.
func latePartsAreTerminalTools(s *story, ev *protocol.MessagePart) string {
	if s.ended(ev.TurnID) == nil {
		return ""
	}
	switch p := ev.Part.(type) {
	case *protocol.UnknownPart:
		return ""
	case *protocol.ToolPart:
		if p.State.Status().Terminal() {
			return ""
		}
	}
	return fmt.Sprintf("a %s part that is not over comes after the end of turn %s", ev.Part.Type(), ev.TurnID)
}

// echoPartsDone is EchoPartsDone: an echo is whole at once. A message that was
// started in no turn has no role, so it is nobody's echo.
func echoPartsDone(s *story, ev *protocol.MessagePart) string {
	state, written := stateOf(ev.Part)
	if s.roles[ev.MessageID] != protocol.RoleUser || !written || state == protocol.StateDone {
		return ""
	}
	return fmt.Sprintf("part %s of the user's message %s is not done", ev.Part.Head().ID, ev.MessageID)
}

// deltaFollowsSnapshot is DeltaFollowsSnapshot; the snapshot may stand in any
// message, and the delta may be of input.
func deltaFollowsSnapshot(s *story, ev *protocol.MessagePartDelta) string {
	if _, shown := s.addresses[ev.PartID]; !shown {
		return fmt.Sprintf("part %s grows before it was shown", ev.PartID)
	}
	return ""
}

// stateOf is the state of a part that is written: text and reasoning.
func stateOf(p protocol.Part) (state protocol.PartState, written bool) {
	switch p := p.(type) {
	case *protocol.TextPart:
		return p.State, true
	case *protocol.ReasoningPart:
		return p.State, true
	}
	return "", false
}
