package reducer

import "agent-server/protocol"

// live is the one text that is growing: a streamed answer is thousands of deltas
// for the same part, and keeping its text beside the state makes each of them
// two small allocations, however long the transcript is. It is put in its place
// (settled) by the first event that is about anything else.
type live struct {
	of        liveKind
	messageID string  // of the part; "" for a tool's input
	partID    string  // of the part
	at        address // of the part; unset for a tool's input
	grown     grown   // all that deltas have added, before it was live as well
}

// liveKind says what a live text extends.
type liveKind uint8

const (
	liveNone  liveKind = iota // nothing is live
	livePart                  // a text or reasoning part
	liveInput                 // toolInputJson of a part id
)

// settle puts the text where it belongs.
func (l *live) settle(d *state) {
	grown := l.grown
	switch l.of {
	case livePart:
		s := d.timeline.at(l.at.entry).message.slots.list.at(l.at.place)
		s.grown = &grown
		d.setSlot(l.at, s)
	case liveInput:
		d.inputs = d.inputs.with(l.partID, grown)
	}
}

// delta appends to a part or to a tool's input. What kind of text delta it is
// does not matter: what the part is does.
func (c *Conversation) delta(e *protocol.MessagePartDelta, r *recorder) *Conversation {
	switch d := e.Delta.(type) {
	case *protocol.TextDelta:
		return c.growPart(e, d.Text, r)
	case *protocol.ReasoningDelta:
		return c.growPart(e, d.Text, r)
	case *protocol.ToolInputDelta:
		return c.growInput(e.PartID, d.Input, r)
	}
	return c
}

// growPart extends a text or reasoning part; a part that is neither, or was never
// shown, stays as it is.
func (c *Conversation) growPart(e *protocol.MessagePartDelta, text string, r *recorder) *Conversation {
	if c == nil {
		return nil
	}
	next := *c
	// The usual delta extends what is live already: nothing is looked up for it.
	if c.live.of != livePart || c.live.partID != e.PartID || c.live.messageID != e.MessageID {
		s, at, ok := c.state.slot(e.MessageID, e.PartID)
		if !ok || !s.growable() {
			return c
		}
		next = c.goLive(live{of: livePart, messageID: e.MessageID, partID: e.PartID, at: at})
		if s.grown != nil { // it was live before
			next.live.grown = *s.grown
		}
	}
	next.live.grown = next.live.grown.plus(text)
	r.part(e.MessageID, e.PartID, e.OutputIndex, e.PartIndex)
	return &next
}

// growInput extends the input that is kept for a part id, known or not, also
// after the part's end.
func (c *Conversation) growInput(partID, text string, r *recorder) *Conversation {
	var next Conversation
	if c != nil && c.live.of == liveInput && c.live.partID == partID {
		next = *c
	} else {
		next = c.goLive(live{of: liveInput, partID: partID})
		next.live.grown, _ = c.base().inputs.get(partID)
	}
	next.live.grown = next.live.grown.plus(text)
	r.buffered(partID)
	return &next
}

// goLive settles what was live and makes l live. Where texts grow in turns, as those
// of sub-agents that speak at once, each turn costs the copying of one path.
func (c *Conversation) goLive(l live) Conversation { return Conversation{c.whole(), l} }
