package session

import (
	"bytes"
	"slices"

	"agent-server/harness"
	"agent-server/protocol"
)

// describe takes in what is known of a tool beside its state; true where that
// changed anything to see.
func (t *tool) describe(u harness.ToolSet) bool {
	changed := false
	if u.Name != "" && u.Name != t.name {
		t.name, changed = u.Name, true
	}
	if kind := orWord(u.Kind, t.kind); kind != t.kind && t.subagent == nil {
		t.kind, changed = kind, true
	}
	if u.Title != "" && u.Title != deref(t.title) {
		t.title, changed = &u.Title, true
	}
	if u.Locations != nil && !slices.EqualFunc(u.Locations, t.locations, sameLocation) {
		t.locations, changed = u.Locations, true
	}
	if u.Subagent != nil {
		t.subagent, t.kind, changed = u.Subagent, protocol.KindTask, true
	}
	if meta := object(u.Meta); meta != nil && !bytes.Equal(meta, t.head.Meta) {
		t.head.Meta, changed = meta, true
	}
	return changed
}

func sameLocation(a, b protocol.Location) bool {
	return a.Path == b.Path && (a.Line == nil) == (b.Line == nil) && (a.Line == nil || *a.Line == *b.Line)
}

// rank orders the states of a tool: they only move forward, and one end is as
// good as another.
func rank(s protocol.ToolStatus) int {
	switch {
	case s == protocol.ToolPending:
		return 0
	case s == protocol.ToolInProgress:
		return 1
	}
	return 2
}

// take takes in the state of an update, and whether that is a guess. What a guess
// has closed its own end opens for itself.
func (t *tool) take(u harness.ToolSet, now int64) bool {
	ends := u.State != nil && u.State.Status().Terminal()
	if ends && t.assumed && !u.Assumed {
		t.assumed = false
		t.state = &protocol.PendingState{}
		if t.start != 0 {
			t.state = &protocol.InProgressState{Time: protocol.Since{Start: t.start}}
		}
	}
	open := !t.state.Status().Terminal()
	advanced := t.advance(u.State, now)
	t.assumed = t.assumed || ends && open && u.Assumed
	return advanced
}

// advance takes a state in; true where it shows anything new. A state that would
// move back, or turn one end into another, is none.
func (t *tool) advance(s protocol.ToolState, now int64) bool {
	if s == nil {
		return false
	}
	was, is := t.state.Status(), s.Status()
	if rank(is) < rank(was) || was.Terminal() && is != was {
		return false
	}
	switch s := s.(type) {
	case *protocol.PendingState:
		return t.pending(s)
	case *protocol.InProgressState:
		return t.inProgress(s, now)
	case *protocol.CompletedState:
		t.completed(*s, now)
	case *protocol.FailedState:
		t.failed(*s, now)
	case *protocol.CancelledState:
		t.cancelled(*s, now)
	}
	return true
}

// pending only takes an extension object: the input goes by deltas.
func (t *tool) pending(s *protocol.PendingState) bool {
	meta := object(s.Meta)
	if meta == nil || bytes.Equal(meta, t.state.(*protocol.PendingState).Meta) {
		return false
	}
	t.state = &protocol.PendingState{Meta: meta}
	return true
}

// inProgress keeps the first start.
func (t *tool) inProgress(s *protocol.InProgressState, now int64) bool {
	before, running := t.state.(*protocol.InProgressState)
	if !running {
		t.start = s.Time.Start
		if t.start == 0 {
			t.start = now
		}
	}
	is := &protocol.InProgressState{
		Input: t.known(s.Input), Title: s.Title, Time: protocol.Since{Start: t.start}, Meta: object(s.Meta),
	}
	t.state = is
	return !running || deref(before.Title) != deref(is.Title) ||
		!bytes.Equal(before.Input, is.Input) || !bytes.Equal(before.Meta, is.Meta)
}

func (t *tool) completed(s protocol.CompletedState, now int64) {
	s.Input, s.Time = t.known(s.Input), t.span(s.Time, now)
	s.Metadata, s.Meta = object(s.Metadata), object(s.Meta)
	t.state = &s
}

func (t *tool) failed(s protocol.FailedState, now int64) {
	s.Input, s.Time, s.Meta = t.known(s.Input), t.span(s.Time, now), object(s.Meta)
	t.state = &s
}

func (t *tool) cancelled(s protocol.CancelledState, now int64) {
	s.Input, s.Time, s.Meta = t.known(s.Input), t.span(s.Time, now), object(s.Meta)
	t.state = &s
}

// known is the tool's input: the one given, else the one known before, else what
// streamed if it parses, else an empty one.
func (t *tool) known(given protocol.Object) protocol.Object {
	if given = object(given); given != nil {
		t.input = given
	}
	if t.input == nil {
		t.input = object(protocol.Object(t.partial.String()))
	}
	return orEmpty(t.input)
}

// span is when the tool ran. What ran keeps its start; what ended without having
// run, or came late, starts and ends now, unless the harness knows better.
func (t *tool) span(given protocol.Span, now int64) protocol.Span {
	switch before := t.state.(type) {
	case *protocol.InProgressState:
		given.Start = t.start
	case *protocol.CompletedState:
		return before.Time
	case *protocol.FailedState:
		return before.Time
	case *protocol.CancelledState:
		return before.Time
	}
	if given.Start == 0 {
		given.Start = now
	}
	if given.End == 0 {
		given.End = now
	}
	given.End = max(given.Start, given.End)
	return given
}
