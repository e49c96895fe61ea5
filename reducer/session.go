package reducer

import "agent-server/protocol"

// sessionCreated names the session; it is always a change. What the session is
// comes from here alone; that it had ended is not forgotten.
func (c *Conversation) sessionCreated(e *protocol.SessionCreated, r *recorder) *Conversation {
	d := c.draft()
	d.session = &session{e.SessionID, e.NativeSessionID, e.Harness}
	d.model = latest(d.model, e.Model)
	d.resumed = latest(d.resumed, e.Resumed)
	r.add(Change{Kind: SessionMetaUpdated})
	return d.conversation()
}

// sessionEnded notes the end; it is always a change.
func (c *Conversation) sessionEnded(e *protocol.SessionEnded, r *recorder) *Conversation {
	d := c.draft()
	d.ended = &Ended{e.Reason, e.Timestamp}
	r.add(Change{Kind: SessionEnded})
	return d.conversation()
}

// usage moves the gauge; it is always a change. Harnesses tell the window's size
// and the cost now and then only: what was told stays.
func (c *Conversation) usage(e *protocol.SessionUsage, r *recorder) *Conversation {
	d := c.draft()
	u := Usage{Used: e.Used, Size: e.Size, Cost: e.Cost, UpdatedAt: e.Timestamp}
	if d.usage != nil {
		u.Size = latest(d.usage.Size, u.Size)
		u.Cost = latest(d.usage.Cost, u.Cost)
	}
	d.usage = &u
	r.add(Change{Kind: UsageUpdated})
	return d.conversation()
}

// failure files an error with its turn where that is known, also after its end,
// else with the conversation.
func (c *Conversation) failure(e *protocol.ErrorEvent, r *recorder) *Conversation {
	d := c.draft()
	// The event's ids and _meta are where it is filed, or nowhere.
	entry := ErrorEntry{e.Category, e.Message, e.Recoverable, e.Timestamp}
	if e.TurnID != nil {
		if place, known := d.turns.find(*e.TurnID); known {
			t := *d.turns.list.at(place)
			t.errors = t.errors.plus(entry)
			d.turns = d.turns.with(place, &t)
			r.turn(*e.TurnID)
			return d.conversation()
		}
	}
	d.errors = d.errors.plus(entry)
	r.add(Change{Kind: SessionMetaUpdated})
	return d.conversation()
}

// unknownEvent keeps what this version does not know; it is always a change. The
// same one twice stands twice: nothing in it is read, so nothing tells them apart.
func (c *Conversation) unknownEvent(e *protocol.UnknownEvent, r *recorder) *Conversation {
	d := c.draft()
	d.unknown = d.unknown.plus(e)
	r.add(Change{Kind: UnknownRecorded})
	return d.conversation()
}

// latest is the newer value, or where that is absent the one held.
func latest[T any](held, newer *T) *T {
	if newer != nil {
		return newer
	}
	return held
}
