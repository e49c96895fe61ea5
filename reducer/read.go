package reducer

import "agent-server/protocol"

// What the readers below return is the caller's: fresh slices, fresh structs. What
// those point to (strings, parts, raw values, optional figures) is shared with
// every state that has it, and with the events it came from: it is read, never
// written. A reader costs what it returns, and where it says nothing else no more.

// SessionID is the logical session; "" before the first session.created.
func (c *Conversation) SessionID() string {
	if s := c.base().session; s != nil {
		return s.id
	}
	return ""
}

// NativeSessionID is the harness's own id of the conversation; "" before the first
// session.created.
func (c *Conversation) NativeSessionID() string {
	if s := c.base().session; s != nil {
		return s.nativeID
	}
	return ""
}

// Harness is what runs the session; "" before the first session.created.
func (c *Conversation) Harness() protocol.HarnessID {
	if s := c.base().session; s != nil {
		return s.harness
	}
	return ""
}

// Model is the model last named by session.created; false when none ever was.
func (c *Conversation) Model() (string, bool) { return valueOf(c.base().model) }

// Resumed says whether the native session still had its context when it was last
// to be resumed; the second result is false when it never was.
func (c *Conversation) Resumed() (resumed, known bool) { return valueOf(c.base().resumed) }

// Usage is the context-window gauge; false before its first reading.
func (c *Conversation) Usage() (Usage, bool) { return valueOf(c.base().usage) }

// Totals is what all ended turns cost together.
func (c *Conversation) Totals() Totals { return c.base().totals }

// TotalCost is in US dollars; false when no ended turn told its cost.
func (c *Conversation) TotalCost() (protocol.Number, bool) { return valueOf(c.base().totalCost) }

// Errors are the faults that belong to no known turn, in order.
func (c *Conversation) Errors() []ErrorEntry { return c.base().errors.slice() }

// Ended is the last end of the session; false when it never ended. It stays when
// the session goes on.
func (c *Conversation) Ended() (Ended, bool) { return valueOf(c.base().ended) }

// UnknownEvents are the events of types this version does not know, in order.
func (c *Conversation) UnknownEvents() []*protocol.UnknownEvent { return c.base().unknown.slice() }

// ToolInputJSON is the JSON text of a tool's input as far as deltas have built it;
// false when there were none since its last snapshot.
func (c *Conversation) ToolInputJSON(partID string) (string, bool) {
	input, ok := c.base().inputs.get(partID)
	if c != nil && c.live.of == liveInput && c.live.partID == partID {
		input, ok = c.live.grown, true
	}
	return input.after(""), ok
}

// Turns are all turns, in order of first sight.
func (c *Conversation) Turns() []Turn {
	turns := make([]Turn, 0, c.base().turns.list.size)
	for _, t := range c.base().turns.list.all() {
		turns = append(turns, t.read())
	}
	return turns
}

// Turn is the turn with this id.
func (c *Conversation) Turn(id string) (Turn, bool) {
	t, ok := c.base().turns.get(id)
	if !ok {
		return Turn{}, false
	}
	return t.read(), true
}

// read is the turn as it is shown.
func (t *turn) read() Turn {
	shown := t.Turn
	shown.Errors = t.errors.slice()
	return shown
}

// Permissions are all permission requests, in order of first sight.
func (c *Conversation) Permissions() []Permission {
	permissions := make([]Permission, 0, c.base().permissions.list.size)
	for _, p := range c.base().permissions.list.all() {
		permissions = append(permissions, *p)
	}
	return permissions
}

// Permission is the request with this id.
func (c *Conversation) Permission(requestID string) (Permission, bool) {
	p, _ := c.base().permissions.get(requestID)
	return valueOf(p)
}

// Len counts the entries of the timeline.
func (c *Conversation) Len() int { return c.base().timeline.size }

// Timeline is every entry, in order of first sight. It costs all of them: a
// renderer that follows changes reads one with Message or EntryAt.
func (c *Conversation) Timeline() []Entry {
	s := c.whole()
	entries := make([]Entry, 0, s.timeline.size)
	for _, i := range s.timeline.all() {
		entries = append(entries, i.read())
	}
	return entries
}

// EntryAt is entry i of the timeline; an index out of range panics.
func (c *Conversation) EntryAt(i int) Entry {
	if at, ok := c.liveEntry(); ok && at == i {
		return c.whole().timeline.at(i).read()
	}
	return c.base().timeline.at(i).read()
}

// Only the entry with the live text needs more than the base: for any other, and
// there may be thousands, settling that text first would be in vain.

// liveEntry is the place of the message that the live text belongs to.
func (c *Conversation) liveEntry() (int, bool) {
	if c == nil || c.live.of != livePart {
		return 0, false
	}
	return c.live.at.entry, true
}

// read is the entry as it is shown.
func (i item) read() Entry {
	if i.message != nil {
		return i.message.read()
	}
	k := *i.compaction
	return &k
}

// read is the message as it is shown. Its parts are the same pointers each time,
// but for those to which deltas have added since their snapshot.
func (m *message) read() *Message {
	shown := m.Message
	shown.Parts = make([]protocol.Part, 0, m.slots.list.size)
	for _, s := range m.slots.list.all() {
		shown.Parts = append(shown.Parts, s.read())
	}
	return &shown
}

// Message is the message with this id.
func (c *Conversation) Message(id string) (Message, bool) {
	i, ok := c.base().messages.get(id)
	if !ok {
		return Message{}, false
	}
	return *c.EntryAt(i).(*Message), true
}

// Part is the part with this id in the message with that one. It costs the part's
// text where deltas have added to it.
func (c *Conversation) Part(messageID, partID string) (protocol.Part, bool) {
	s, at, ok := c.base().slot(messageID, partID)
	if !ok {
		return nil, false
	}
	// c is not nil here: the empty conversation has no part.
	if c.live.of == livePart && c.live.at == at {
		s.grown = &c.live.grown
	}
	return s.read(), true
}

// slice is the list as a slice of its own; never nil.
func (v vector[T]) slice() []T {
	s := make([]T, 0, v.size)
	for _, x := range v.all() {
		s = append(s, x)
	}
	return s
}

// valueOf is what p points to; false when it points nowhere.
func valueOf[T any](p *T) (T, bool) {
	if p == nil {
		var none T
		return none, false
	}
	return *p, true
}
