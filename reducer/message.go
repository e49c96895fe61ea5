package reducer

import "agent-server/protocol"

// messageStarted opens a message; of a known one it changes nothing, also where a
// part came first and opened it as a shell.
func (c *Conversation) messageStarted(e *protocol.MessageStarted, r *recorder) *Conversation {
	if _, known := c.base().messages.get(e.MessageID); known {
		return c
	}
	d := c.draft()
	d.openMessage(Message{
		MessageID:        e.MessageID,
		SessionID:        e.SessionID,
		TurnID:           e.TurnID,
		OutputIndex:      e.OutputIndex,
		Role:             e.Role,
		ParentToolCallID: e.ParentToolCallID,
		Model:            e.Model,
		StartedAt:        e.Timestamp,
	}, r)
	return d.conversation()
}

// openMessage puts a new message at the end of the timeline: the order of first
// sight is the order for good.
func (d *state) openMessage(m Message, r *recorder) (place int) {
	place = d.timeline.size
	d.timeline = d.timeline.plus(item{message: &message{Message: m}})
	d.messages = d.messages.with(m.MessageID, place)
	r.add(Change{Kind: MessageUpserted, MessageID: m.MessageID, TurnID: m.TurnID})
	return place
}

// messageEnded closes a message; the first end stays. It closes no part: what a
// message leaves open, its turn closes.
func (c *Conversation) messageEnded(e *protocol.MessageEnded, r *recorder) *Conversation {
	if m := c.base().message(e.MessageID); m == nil || m.EndedAt != nil {
		return c
	}
	d := c.draft()
	place, _ := d.messages.get(e.MessageID)
	m := *d.timeline.at(place).message
	m.EndedAt = new(e.Timestamp)
	d.setMessage(place, &m)
	r.add(Change{Kind: MessageEnded, MessageID: e.MessageID})
	return d.conversation()
}

// part takes a snapshot, the whole of a part as it then was. A message never seen
// is opened first, as little as is known of it: a stream may be joined in the
// middle. Neither the message's end nor the turn's keeps a snapshot out, since an
// address outlives both.
func (c *Conversation) part(e *protocol.MessagePart, r *recorder) *Conversation {
	d := c.draft()
	place, known := d.messages.get(e.MessageID)
	if !known {
		place = d.openMessage(Message{
			MessageID:   e.MessageID,
			SessionID:   e.SessionID,
			TurnID:      e.TurnID,
			OutputIndex: e.OutputIndex,
			Role:        protocol.RoleAssistant,
			StartedAt:   e.Timestamp,
		}, r)
	}
	d.upsert(place, e.Part)
	r.part(e.MessageID, e.Part.Head().ID, e.OutputIndex, e.PartIndex)
	if tool, ok := e.Part.(*protocol.ToolPart); ok {
		d.toolShown(e.TurnID, tool, r)
	}
	return d.conversation()
}

// upsert puts a part in the place of its earlier self, or behind all others of the
// message. The same id in another message is another part.
func (d *state) upsert(entry int, part protocol.Part) {
	m := *d.timeline.at(entry).message
	place, known := m.slots.find(part.Head().ID)
	was := false
	if known {
		_, was = openTool(m.slots.list.at(place).part)
		m.slots = m.slots.with(place, slot{part: part})
	} else {
		place = m.slots.list.size
		m.slots = m.slots.plus(slot{part: part})
	}
	d.setMessage(entry, &m)
	_, is := openTool(part)
	// The message's turn counts, not the event's: a turn closes what stands in its
	// own messages.
	d.trackTool(m.TurnID, address{entry, place}, was, is)
}

// toolShown is what a snapshot of a tool brings with it: the input that deltas had
// built is superseded, and a turn that has ended leaves no tool open. The tool is
// closed by the turn that its event names, among all that are open in messages of
// that turn; in a message of another turn it is left to that turn.
func (d *state) toolShown(turnID string, tool *protocol.ToolPart, r *recorder) {
	if _, open := openTool(tool); open {
		if t, known := d.turns.get(turnID); known && t.EndedAt != nil {
			d.closeTools(turnID, *t.EndedAt, r)
		}
	}
	// Only now: closing has read it.
	d.inputs = d.inputs.without(tool.ID)
}
