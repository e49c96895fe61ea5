package echo

import "agent-server/protocol"

// Spec is what an echo is derived from.
type Spec struct {
	// SessionID is the logical session.
	SessionID string
	// TurnID is the turn.
	TurnID string
	// Model is config.model; nil and "" both leave it out.
	Model *string
	// Input is what the turn was started with, already checked.
	Input protocol.Input
	// Timestamp is in epoch milliseconds; every event of the echo has it.
	Timestamp int64
}

// Events is the echo: message.started, one message.part for each item of the
// input, message.ended. A string is one text item, "" too; an empty array gives
// a message without parts. The events share the input's strings, not its slices.
func Events(s Spec) []protocol.Event {
	items := itemsOf(s.Input)
	events := make([]protocol.Event, 0, len(items)+2)
	events = append(events, s.started())
	for i, item := range items {
		events = append(events, s.part(i, item))
	}
	return append(events, s.ended())
}

// itemsOf lists the input's items; a plain string counts as one text item.
func itemsOf(in protocol.Input) []protocol.InputItem {
	if in.IsText {
		return []protocol.InputItem{{Type: protocol.InputText, Text: in.Text}}
	}
	return in.Items
}

// started opens the echo: it is the turn's message 0.
func (s Spec) started() *protocol.MessageStarted {
	e := &protocol.MessageStarted{
		SessionID: s.SessionID,
		TurnID:    s.TurnID,
		MessageID: MessageID(s.TurnID),
		Role:      protocol.RoleUser,
		Timestamp: s.Timestamp,
	}
	if s.Model != nil && *s.Model != "" {
		e.Model = s.Model
	}
	return e
}

// part shows the i-th item, whole at once: an echo never streams.
func (s Spec) part(i int, item protocol.InputItem) *protocol.MessagePart {
	return &protocol.MessagePart{
		SessionID: s.SessionID,
		TurnID:    s.TurnID,
		MessageID: MessageID(s.TurnID),
		PartIndex: protocol.Number(i),
		Part:      partOf(s.head(i), item),
		Timestamp: s.Timestamp,
	}
}

// ended closes the echo.
func (s Spec) ended() *protocol.MessageEnded {
	return &protocol.MessageEnded{
		SessionID: s.SessionID,
		TurnID:    s.TurnID,
		MessageID: MessageID(s.TurnID),
		Timestamp: s.Timestamp,
	}
}

// head is what every part of the echo has. The item's own id is not used: ids
// within a session are the server's to give.
func (s Spec) head(i int) protocol.PartHead {
	return protocol.PartHead{
		ID:        PartID(s.TurnID, i),
		SessionID: s.SessionID,
		MessageID: MessageID(s.TurnID),
	}
}
