package reducer

import "agent-server/protocol"

// compaction merges an update into a compaction, in the place it was first seen: an
// update tells what has changed, so what it leaves out stays. Its time is that of
// the first, as its place is. The list of ids is one value, not a set to add to.
func (c *Conversation) compaction(e *protocol.SessionCompaction, r *recorder) *Conversation {
	d := c.draft()
	place, known := d.compactions.get(e.CompactionID)
	k := Compaction{CompactionID: e.CompactionID, Timestamp: e.Timestamp}
	if known {
		k = *d.timeline.at(place).compaction
	}
	k.TurnID, k.Status = e.TurnID, e.Status
	k.Trigger = latest(k.Trigger, e.Trigger)
	k.PreTokens = latest(k.PreTokens, e.PreTokens)
	k.PostTokens = latest(k.PostTokens, e.PostTokens)
	k.Summary = latest(k.Summary, e.Summary)
	if e.AbstractsIDs != nil {
		k.AbstractsIDs = e.AbstractsIDs
	}
	if known {
		d.timeline = d.timeline.with(place, item{compaction: &k})
	} else {
		d.compactions = d.compactions.with(e.CompactionID, d.timeline.size)
		d.timeline = d.timeline.plus(item{compaction: &k})
	}
	r.add(Change{Kind: CompactionUpserted, CompactionID: e.CompactionID})
	return d.conversation()
}
