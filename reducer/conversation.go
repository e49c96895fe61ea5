package reducer

import "agent-server/protocol"

// Conversation is what a sequence of events adds up to. It never changes: folding
// gives another one. The nil pointer is the empty conversation, and every method
// and function of this package takes it as such.
type Conversation struct {
	state *state // never nil; all but the text that grows right now
	live  live   // that text; it belongs on top of state
}

// state is a conversation but for its live text. A fold works on a copy, the
// draft, until it hands the copy on; from then on nobody changes it.
type state struct {
	session *session // nil until the first session.created
	model   *string
	resumed *bool

	timeline    vector[item]
	messages    table[int] // message id → place in the timeline
	compactions table[int] // compaction id → place in the timeline

	turns       roll[*turn]
	permissions roll[*Permission]
	open        table[*unfinished] // turn id → what its end will close

	usage     *Usage
	totals    Totals
	totalCost *protocol.Number
	errors    vector[ErrorEntry]
	ended     *Ended
	unknown   vector[*protocol.UnknownEvent]
	inputs    table[grown] // part id → the tool input that deltas have built
}

// session is what session.created alone sets, all of it each time.
type session struct {
	id, nativeID string
	harness      protocol.HarnessID
}

// item is an entry of the timeline as it is held: one of the two.
type item struct {
	message    *message
	compaction *Compaction
}

// message is a message as it is held. Its Parts are nil: they stand in slots.
type message struct {
	Message
	slots roll[slot]
}

// slot is a part as it is held: its last snapshot, and what deltas have added to
// that snapshot's text since; nil when nothing.
type slot struct {
	part  protocol.Part
	grown *grown
}

// turn is a turn as it is held. Its Errors are nil: they stand in errors.
type turn struct {
	Turn
	errors vector[ErrorEntry]
}

// nothing is the state of the empty conversation.
var nothing state

func (s slot) key() string        { return s.part.Head().ID }
func (t *turn) key() string       { return t.TurnID }
func (p *Permission) key() string { return p.RequestID }

// base is the state without the live text. Every id and every address is found
// in it: live text adds none.
func (c *Conversation) base() *state {
	if c == nil {
		return &nothing
	}
	return c.state
}

// whole is the state with the live text in its place, for readers of all of it.
func (c *Conversation) whole() *state {
	if c == nil || c.live.of == liveNone {
		return c.base()
	}
	return c.draft()
}

// draft is a copy of the state, for a fold to change, with the live text in place.
func (c *Conversation) draft() *state {
	d := *c.base()
	if c != nil {
		c.live.settle(&d)
	}
	return &d
}

// conversation ends the drafting: nobody may change the state from here on.
func (d *state) conversation() *Conversation { return &Conversation{state: d} }

// message is the message with this id; nil when there is none.
func (d *state) message(id string) *message {
	if i, ok := d.messages.get(id); ok {
		return d.timeline.at(i).message
	}
	return nil
}

// The setters below change a draft, and only by putting new values in the place of
// old ones: what an old value points to may belong to any number of states.

// setMessage puts m in the place of its earlier self.
func (d *state) setMessage(place int, m *message) {
	d.timeline = d.timeline.with(place, item{message: m})
}

// slot finds a part by the message and the part id; the address is where.
func (d *state) slot(messageID, partID string) (slot, address, bool) {
	entry, ok := d.messages.get(messageID)
	if !ok {
		return slot{}, address{}, false
	}
	slots := d.timeline.at(entry).message.slots
	place, ok := slots.find(partID)
	if !ok {
		return slot{}, address{}, false
	}
	return slots.list.at(place), address{entry, place}, true
}

// setSlot puts s in the place of its earlier self.
func (d *state) setSlot(at address, s slot) {
	m := *d.timeline.at(at.entry).message
	m.slots = m.slots.with(at.place, s)
	d.setMessage(at.entry, &m)
}

// read is the part as it now is. A part that no delta has touched since its
// snapshot is that snapshot, the same pointer each time.
func (s slot) read() protocol.Part {
	if s.grown == nil || s.grown.empty() {
		return s.part
	}
	switch p := s.part.(type) {
	case *protocol.TextPart:
		c := *p
		c.Text = s.grown.after(p.Text)
		return &c
	case *protocol.ReasoningPart:
		c := *p
		c.Text = s.grown.after(p.Text)
		return &c
	}
	return s.part
}

// growable says whether deltas extend the part.
func (s slot) growable() bool {
	switch s.part.(type) {
	case *protocol.TextPart, *protocol.ReasoningPart:
		return true
	}
	return false
}
