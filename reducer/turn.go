package reducer

import "agent-server/protocol"

// turnStarted makes a turn. A known one is never started again, not even after its
// end: a log that is delivered twice must not bring a turn back to life.
func (c *Conversation) turnStarted(e *protocol.TurnStarted, r *recorder) *Conversation {
	if _, known := c.base().turns.find(e.TurnID); known {
		return c
	}
	d := c.draft()
	d.turns = d.turns.plus(&turn{Turn: Turn{TurnID: e.TurnID, Status: TurnActive, StartedAt: e.Timestamp}})
	r.turn(e.TurnID)
	return d.conversation()
}

// turnEnded ends a turn, for whatever reason, and closes all it has left open. A
// second end changes nothing; of an unknown turn the end is all there is.
func (c *Conversation) turnEnded(e *protocol.TurnEnded, r *recorder) *Conversation {
	place, known := c.base().turns.find(e.TurnID)
	t := turn{Turn: Turn{TurnID: e.TurnID, StartedAt: e.Timestamp}}
	if known {
		t = *c.base().turns.list.at(place)
	}
	if t.EndedAt != nil {
		return c
	}
	d := c.draft()
	t.end(e)
	// The order below is the order of the changes, which clients rely on: the turn,
	// its permissions, the totals, the tools.
	if known {
		d.turns = d.turns.with(place, &t)
	} else {
		d.turns = d.turns.plus(&t)
	}
	r.turn(e.TurnID)
	d.cancelPermissions(e.TurnID, t.EndedAt, r)
	d.count(e, r)
	d.closeTools(e.TurnID, e.Timestamp, r)
	return d.conversation()
}

// end notes how the turn ended.
func (t *turn) end(e *protocol.TurnEnded) {
	t.Status = TurnOver
	t.StopReason = e.StopReason
	t.FinishReason = e.FinishReason
	t.Tokens = e.Tokens
	t.Cost = e.Cost
	t.Error = e.Error
	t.EndedAt = new(e.Timestamp)
}

// count adds what the turn cost to the totals: plain sums, in the order of events,
// so that every implementation comes to the same double. A turn that tells no
// figure changes none; a cost of 0 is a figure.
func (d *state) count(e *protocol.TurnEnded, r *recorder) {
	if e.Tokens == nil && e.Cost == nil {
		return
	}
	if e.Tokens != nil {
		d.totals = d.totals.plus(*e.Tokens)
	}
	d.totalCost = sum(d.totalCost, e.Cost)
	r.add(Change{Kind: UsageUpdated})
}

// plus is the totals with one turn's tokens added.
func (t Totals) plus(u protocol.TokenUsage) Totals {
	t.Input += u.Input
	t.Output += u.Output
	if u.Reasoning != nil {
		t.Reasoning += *u.Reasoning
	}
	if u.Cache != nil {
		t.Cache.Read += u.Cache.Read
		t.Cache.Write += u.Cache.Write
		t.Cache.WriteEphemeral5m = sum(t.Cache.WriteEphemeral5m, u.Cache.WriteEphemeral5m)
		t.Cache.WriteEphemeral1h = sum(t.Cache.WriteEphemeral1h, u.Cache.WriteEphemeral1h)
	}
	return t
}

// sum adds to a figure that is absent until it is first seen, and stays absent
// while nothing is added: "unknown" is not 0.
func sum(held, more *protocol.Number) *protocol.Number {
	if held == nil || more == nil {
		return latest(held, more)
	}
	return new(*held + *more)
}
