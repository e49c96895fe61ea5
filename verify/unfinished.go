package verify

import (
	"encoding/json"
	"fmt"

	"agent-server/protocol"
)

// unfinished is what was started and has no rule of its own for its end. The
// values of its maps are the index of the start.
type unfinished struct {
	// written are the text and reasoning parts that still stream.
	written map[place]writing
	// compactions are those whose latest status is in_progress, by id.
	compactions map[string]int
	// waiting are the queued turns that are neither started nor unqueued.
	waiting map[string]int
	// unqueued are the turns that have left the queue and will not start.
	unqueued map[string]bool
}

// writing is a text or reasoning part that still streams.
type writing struct {
	// index is that of the snapshot that opened it.
	index int
	// turnID is the turn which that one names.
	turnID string
}

// newUnfinished has seen nothing start.
func newUnfinished() unfinished {
	return unfinished{written: map[place]writing{}, compactions: map[string]int{}, waiting: map[string]int{}, unqueued: map[string]bool{}}
}

// shown notes a snapshot of a part.
func (u *unfinished) shown(ev *protocol.MessagePart, at int) {
	part := place{ev.MessageID, ev.Part.Head().ID}
	if state, _ := stateOf(ev.Part); state != protocol.StateStreaming {
		delete(u.written, part)
	} else if _, known := u.written[part]; !known {
		u.written[part] = writing{at, ev.TurnID}
	}
}

// compacted notes an update of a compaction: every status but one is final.
func (u *unfinished) compacted(ev *protocol.SessionCompaction, at int) {
	if ev.Status != "in_progress" {
		delete(u.compactions, ev.CompactionID)
	} else if _, known := u.compactions[ev.CompactionID]; !known {
		u.compactions[ev.CompactionID] = at
	}
}

// queued notes turn.queued and turn.unqueued, which decode as unknown events.
func (u *unfinished) queued(ev *protocol.UnknownEvent, at int) {
	id := turnOf(ev)
	switch {
	case id == "": // what names no turn tells nothing
	case ev.Kind == protocol.TypeTurnQueued:
		u.waiting[id] = at
	default:
		delete(u.waiting, id)
		u.unqueued[id] = true
	}
}

// queuedOnce is the part of EverythingStartedEnds that says "once": a turn is
// queued once, before it starts, and unqueued once, in place of that.
func queuedOnce(s *story, ev *protocol.UnknownEvent) string {
	id := turnOf(ev)
	_, waits := s.unfinished.waiting[id]
	started, gone := s.turns[id] != nil, s.unfinished.unqueued[id]
	switch {
	case ev.Kind == protocol.TypeTurnQueued && (waits || started || gone):
		return fmt.Sprintf("turn %s is queued and was queued or started before", id)
	case ev.Kind == protocol.TypeTurnUnqueued && (started || gone):
		return fmt.Sprintf("turn %s is unqueued and was unqueued or started before", id)
	}
	return ""
}

// unqueuedStays is its other half: what was unqueued does not start.
func unqueuedStays(s *story, ev *protocol.TurnStarted) string {
	if s.unfinished.unqueued[ev.TurnID] {
		return fmt.Sprintf("turn %s starts and was unqueued", ev.TurnID)
	}
	return ""
}

// started takes a turn out of the queue.
func (u *unfinished) started(turnID string) { delete(u.waiting, turnID) }

// everythingStartedEnds judges parts only in a turn that has ended: a turn that
// has not is blamed itself.
func everythingStartedEnds(s *story) []blame {
	var found []blame
	for part, w := range s.unfinished.written {
		if s.ended(w.turnID) != nil {
			found = append(found, blame{w.index, fmt.Sprintf("part %s still streams after the end of turn %s", part.partID, w.turnID)})
		}
	}
	for id, at := range s.unfinished.compactions {
		found = append(found, blame{at, fmt.Sprintf("compaction %s never ends", id)})
	}
	for id, at := range s.unfinished.waiting {
		found = append(found, blame{at, fmt.Sprintf("queued turn %s is neither started nor unqueued", id)})
	}
	return inOrder(found)
}

// turnOf is the turnId of an event of the queue, which is kept whole; "" where it
// has none, and of any other event.
func turnOf(ev *protocol.UnknownEvent) string {
	var id string
	if ev.Kind != protocol.TypeTurnQueued && ev.Kind != protocol.TypeTurnUnqueued {
		return ""
	}
	// What is no string stays "", which is the name of no turn.
	_ = json.Unmarshal(member(ev.Raw, "turnId"), &id)
	return id
}

// has says whether an object has a member of this name; nil has none.
func has(object protocol.Object, name string) bool { return member(object, name) != nil }

// member is the value of an object's member; nil where there is none. Names are
// matched exactly, which a struct's would not be.
func member(object []byte, name string) json.RawMessage {
	if object == nil {
		return nil
	}
	var members map[string]json.RawMessage
	// What is no object has no members.
	_ = json.Unmarshal(object, &members)
	return members[name]
}
