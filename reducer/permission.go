package reducer

import "agent-server/protocol"

// permissionRequested opens a request; a known one is never opened again, or an
// answered one would ask a second time when its request is delivered again. A
// request that comes after its turn's end stays open: nothing closes it but an
// answer.
func (c *Conversation) permissionRequested(e *protocol.PermissionRequested, r *recorder) *Conversation {
	if _, known := c.base().permissions.find(e.RequestID); known {
		return c
	}
	d := c.draft()
	d.trackPermission(e.TurnID, d.permissions.list.size, true)
	d.permissions = d.permissions.plus(&Permission{
		RequestID:   e.RequestID,
		TurnID:      e.TurnID,
		Title:       e.Title,
		ToolCall:    e.ToolCall,
		Options:     e.Options,
		RequestedAt: e.Timestamp,
	})
	r.permission(e.RequestID)
	return d.conversation()
}

// permissionResolved answers a request. The first answer stays, the turn's end
// among them; an answer to what was not asked yet is lost.
func (c *Conversation) permissionResolved(e *protocol.PermissionResolved, r *recorder) *Conversation {
	place, known := c.base().permissions.find(e.RequestID)
	if !known || c.base().permissions.list.at(place).Outcome != nil {
		return c
	}
	d := c.draft()
	p := d.resolve(place, new(e.Outcome), new(e.Timestamp), r)
	d.trackPermission(p.TurnID, place, false)
	return d.conversation()
}

// cancelPermissions resolves what the turn has not been answered: nobody waits for
// it any more.
func (d *state) cancelPermissions(turnID string, at *int64, r *recorder) {
	u := *d.unfinished(turnID)
	for _, place := range u.permissions {
		d.resolve(place, &protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}, at, r)
	}
	u.permissions = nil
	d.setUnfinished(turnID, u)
}

// resolve notes the answer to the request at this place.
func (d *state) resolve(place int, outcome *protocol.PermissionOutcome, at *int64, r *recorder) *Permission {
	p := *d.permissions.list.at(place)
	p.Outcome, p.ResolvedAt = outcome, at
	d.permissions = d.permissions.with(place, &p)
	r.permission(p.RequestID)
	return &p
}
