package reducer

import (
	"cmp"
	"slices"

	"agent-server/protocol"
)

// A turn's end closes what the turn left open, and it must not look through the
// whole transcript for it: so what is open is noted, a turn at a time, as it comes
// and goes. The notes follow from the rest of the state (Load makes them anew), and
// a test compares them with what a walk through everything finds.

// address is where a part stands: its message's place in the timeline, and its
// own in that message. Addresses never change.
type address struct{ entry, place int }

// unfinished is what a turn's end will close. It is kept so that the end finds
// it without walking the transcript. Its slices are never changed in place.
type unfinished struct {
	tools       []address // open tools in messages of the turn, in timeline order
	permissions []int     // places of requests without an outcome, ascending
}

// openTool is the tool that part is, if it is one and not over.
func openTool(part protocol.Part) (*protocol.ToolPart, bool) {
	tool, ok := part.(*protocol.ToolPart)
	return tool, ok && !tool.State.Status().Terminal()
}

// unfinished is what the turn has open; it may be empty, but is never nil.
func (d *state) unfinished(turnID string) *unfinished {
	if u, ok := d.open.get(turnID); ok {
		return u
	}
	return &unfinished{}
}

// setUnfinished notes what the turn has open now. A turn with nothing open has no
// note, so that the notes of a long conversation stay few.
func (d *state) setUnfinished(turnID string, u unfinished) {
	if len(u.tools)+len(u.permissions) == 0 {
		d.open = d.open.without(turnID)
		return
	}
	d.open = d.open.with(turnID, &u)
}

// trackTool notes that the part at this address went from one openness to another.
func (d *state) trackTool(turnID string, at address, was, is bool) {
	if was == is {
		return
	}
	u := *d.unfinished(turnID)
	i, _ := slices.BinarySearchFunc(u.tools, at, func(a, b address) int {
		return cmp.Or(a.entry-b.entry, a.place-b.place)
	})
	if is {
		u.tools = inserted(u.tools, i, at)
	} else {
		u.tools = removed(u.tools, i)
	}
	d.setUnfinished(turnID, u)
}

// trackPermission notes that the request at this place was opened or answered.
func (d *state) trackPermission(turnID string, place int, is bool) {
	u := *d.unfinished(turnID)
	i, _ := slices.BinarySearch(u.permissions, place)
	if is {
		u.permissions = inserted(u.permissions, i, place)
	} else {
		u.permissions = removed(u.permissions, i)
	}
	d.setUnfinished(turnID, u)
}

// closeTools closes every open tool in messages of the turn, in timeline order,
// whichever event brought it there.
func (d *state) closeTools(turnID string, at int64, r *recorder) {
	u := *d.unfinished(turnID)
	for _, where := range u.tools {
		m := d.timeline.at(where.entry).message
		tool := m.slots.list.at(where.place).part.(*protocol.ToolPart)
		built, _ := d.inputs.get(tool.ID)
		d.setSlot(where, slot{part: closed(tool, at, built)})
		r.part(m.MessageID, tool.ID, m.OutputIndex, protocol.Number(where.place))
	}
	// All of them are over now; what permissions are open is as it was.
	u.tools = nil
	d.setUnfinished(turnID, u)
}

// closed is the tool as a turn's end at that time leaves it. The state's own title
// goes, the part's stays; input that never became whole is kept in _meta.
func closed(tool *protocol.ToolPart, at int64, built grown) *protocol.ToolPart {
	c := *tool
	switch s := tool.State.(type) {
	case *protocol.PendingState:
		c.State = &protocol.CancelledState{
			Input: protocol.Object("{}"),
			Time:  protocol.Span{Start: at, End: at},
			Meta:  withPartialInput(s, built),
		}
	case *protocol.InProgressState:
		c.State = &protocol.CancelledState{
			Input: s.Input,
			Time:  protocol.Span{Start: s.Time.Start, End: at},
			Meta:  s.Meta,
		}
	}
	return &c
}

// withPartialInput is the state's _meta with the input as far as it came: the
// snapshot's own, else what deltas have built; without either _meta is as it was.
func withPartialInput(s *protocol.PendingState, built grown) protocol.Object {
	partial := s.PartialInput
	if partial == "" {
		partial = built.after("")
	}
	if partial == "" {
		return s.Meta
	}
	return withMember(s.Meta, protocol.MetaPartialInput, protocol.AppendString(nil, partial))
}
