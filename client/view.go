package client

import (
	"fmt"
	"slices"

	"agent-server/protocol"
	"agent-server/reducer"
)

// Standing says what an Item is known to be.
type Standing string

const (
	// Known: the server's log has it.
	Known Standing = "known"
	// Intended: it was submitted here, and the log does not show it yet.
	Intended Standing = "intended"
	// Lost: it was open, or on its way, when its host died: how it ended nobody
	// knows. It is no word of the wire.
	Lost Standing = "lost"
)

// Item is one entry of what is shown. It never changes: an entry that does is
// another Item, and one that does not is the same pointer in the next View.
type Item struct {
	// ID is the message's or the compaction's.
	ID string
	// Turn is the turn that it belongs to.
	Turn string
	// Entry is what there is to show. Its times are the server's, or, of an
	// intended one, this client's guess.
	Entry reducer.Entry
	// Standing is what it is known to be.
	Standing Standing
}

// View is what there is to show at one moment. It is never changed.
type View struct {
	// Conversation is the fold of what the server has said up to Seq: turns,
	// permissions, usage and all else that stands beside the timeline. nil is the
	// empty one.
	Conversation *reducer.Conversation
	// Seq is the last event folded.
	Seq int64
	// Items are the timeline: what dead hosts left, the fold's, and what was
	// submitted and is not echoed, in order of submission.
	Items []*Item
	// Outbox names the turns that were submitted and are not echoed, in order.
	Outbox []string
	// Connected: there is a connection. Current: everything up to the head that the
	// server named was folded since.
	Connected bool
	// Current is described at Connected.
	Current bool
	// Failures counts what Engine.Failures gives.
	Failures int
}

// Failure is a submitted turn that will not run, or a loss.
type Failure struct {
	// TurnID is the turn; "": the failure is a loss of events.
	TurnID string
	// Input is the turn's, so that it can be written again.
	Input protocol.Input
	// Err says why: a *protocol.Error with which the server rejected it, an
	// *UnqueuedError, a *HostLostError, a *transport.OversizeError; of a loss a
	// *GapError.
	Err error
}

// UnqueuedError says that a turn which waited will not run.
type UnqueuedError struct {
	// Reason is open; see protocol.UnqueuedCancelled and its siblings.
	Reason string
}

// Error gives the reason.
func (e *UnqueuedError) Error() string { return fmt.Sprintf("the turn was unqueued: %s", e.Reason) }

// view renders: what is over, state, outbox.
func (c *core) view() *View {
	v := &View{Conversation: c.folded.Conversation, Seq: c.folded.Seq, Connected: c.up, Current: c.phase == current, Failures: len(c.failures),
		Items: append(slices.Clone(c.past), c.items()...)}
	for _, e := range c.outbox {
		v.Outbox = append(v.Outbox, e.turn())
	}
	return v
}

// items are the fold's and the outbox's. A message that is echoed in part is shown as
// it was foretold, in the place that its echo has.
func (c *core) items() []*Item {
	items := c.shelf.all(c.folded.Conversation)
	for _, e := range c.outbox {
		if i, ok := c.shelf.places[e.item.ID]; ok {
			items[i] = e.item
			continue
		}
		items = append(items, e.item)
	}
	return items
}

// shelf are a fold's entries as Items: made when they are looked at, and anew only
// where the fold has changed them.
type shelf struct {
	items []*Item
	// places are the items' by id.
	places map[string]int
	// stale are the places to be made anew.
	stale map[int]struct{}
}

// reload forgets all: another state was loaded. What it holds unchanged cannot be
// told.
func (s *shelf) reload(conv *reducer.Conversation) {
	was := *s
	*s = shelf{}
	for i, it := range s.all(conv) {
		if at, ok := was.places[it.ID]; ok && was.items[at] != nil && sameEntry(was.items[at].Entry, it.Entry) {
			s.items[i] = was.items[at]
		}
	}
}

// changed notes what a fold has changed.
func (s *shelf) changed(conv *reducer.Conversation, changes []reducer.Change) {
	for n := conv.Len(); len(s.items) < n; {
		s.grow(conv)
	}
	for _, ch := range changes {
		for _, id := range []string{ch.MessageID, ch.CompactionID} {
			if i, ok := s.places[id]; ok {
				s.spoil(i)
			}
		}
	}
}

// grow adds the next entry.
func (s *shelf) grow(conv *reducer.Conversation) {
	if s.places == nil {
		s.places = map[string]int{}
	}
	i := len(s.items)
	s.items = append(s.items, itemOf(conv.EntryAt(i)))
	s.places[s.items[i].ID] = i
}

func (s *shelf) spoil(i int) {
	if s.stale == nil {
		s.stale = map[int]struct{}{}
	}
	s.stale[i] = struct{}{}
}

// all gives every item, up to date; the slice is the caller's.
func (s *shelf) all(conv *reducer.Conversation) []*Item {
	s.changed(conv, nil)
	for i := range s.stale {
		s.items[i] = itemOf(conv.EntryAt(i))
	}
	clear(s.stale)
	return slices.Clone(s.items)
}

// itemOf is an entry as an Item.
func itemOf(e reducer.Entry) *Item {
	it := &Item{Turn: e.Turn(), Entry: e, Standing: Known}
	switch e := e.(type) {
	case *reducer.Message:
		it.ID = e.MessageID
	case *reducer.Compaction:
		it.ID = e.CompactionID
	}
	return it
}

// sameEntry compares two entries by their JSON.
func sameEntry(a, b reducer.Entry) bool {
	return string(protocol.Encode(a)) == string(protocol.Encode(b))
}
