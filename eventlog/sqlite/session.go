package sqlite

import (
	"fmt"
	"sync"

	"agent-server/eventlog"
)

// session is what this process knows of one: a window of everything new, above
// the events on disk.
type session struct {
	log *Log
	id  string

	// owner is held by whoever changes the session: an append, a removal.
	owner sync.Mutex
	// files is read-held while events are read from disk, so that no removal takes
	// them away meanwhile.
	files sync.RWMutex

	// mu guards what follows; it is never held during I/O.
	mu     sync.RWMutex
	window eventlog.Window
	// row is as the disk has it; next is the next seq, which row.next may be ahead of.
	row  row
	next int64
	// open: this process has opened the session, or appended to it, and not
	// released it. running is the mark of its running turn, 0 where none runs.
	open    bool
	running int64
}

// newSession is a session as the disk has it.
func newSession(l *Log, r row) *session {
	s := &session{log: l, id: r.session, row: r, next: r.next}
	s.window.Begin(r.next - 1)
	return s
}

// append makes a batch durable, where any of it is, and then visible to readers.
//
// Nothing here is changed before the disk has taken the step: where it has not, the
// session is as if nobody had asked, and the same batch may be appended again.
func (s *session) append(b eventlog.Batch) error {
	s.owner.Lock()
	defer s.owner.Unlock()
	if err := eventlog.CheckSeqs(s.id, s.next, b); err != nil {
		return err
	}
	// owner is held, and only its holder writes row and next: they are read without
	// mu.
	step, err := s.row.plan(b, s.log.o.Now().UnixMilli())
	if err != nil {
		return err
	}
	if step != nil {
		if err := s.log.writer.write(step); err != nil {
			return fmt.Errorf("appending to session %s: %w", s.id, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if step != nil {
		s.row = step.row
	}
	s.next += int64(len(b.Records))
	s.open, s.running = true, b.Running
	s.window.Add(b)
	// What is handed back is durable, and on disk.
	s.window.Trim()
	return nil
}

// read gives records after a cursor: from the disk up to the window's floor, from
// the window above it.
//
// The floor may rise while the disk is read. What is read reaches up to the floor of
// before and no further, so that nothing is missed in between; a cursor that finds
// nothing there goes on from that floor.
func (s *session) read(after int64, maxBytes int) ([]eventlog.Record, error) {
	s.files.RLock()
	defer s.files.RUnlock()
	for {
		row, floor, rs, err := s.readWindow(after, maxBytes)
		if err != nil || after >= floor {
			return rs, err
		}
		rs, err = s.log.events(row, after, floor, maxBytes)
		if err != nil || len(rs) > 0 {
			return rs, err
		}
		after = floor // nothing lies between; the window may have moved on meanwhile
	}
}

// readWindow gives the window's records after a cursor that is not below its floor,
// or has nothing but holes up to it; floor is then the cursor. Else it says where
// the window begins.
func (s *session) readWindow(after int64, maxBytes int) (r row, floor int64, rs []eventlog.Record, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if after+1 >= s.next {
		return s.row, after, nil, nil
	}
	if after < s.row.lost {
		return s.row, after, nil, eventlog.ErrGone
	}
	// Above row.last nothing is on disk: what lies between it and the floor are holes.
	if floor = s.window.Floor(); after < min(floor, s.row.last) {
		return s.row, floor, nil, nil
	}
	return s.row, after, s.window.After(after, maxBytes), nil
}

// span is the range of what is held; ok is false where nothing is.
func (s *session) span() (first, last int64, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.row.lost + 1, s.next - 1, s.row.holds() || s.window.Len() > 0
}

// info opens the session for this process. The end of what is on disk is looked
// at: damage there is said before anything is appended to it.
func (s *session) info() (eventlog.Info, error) {
	s.owner.Lock()
	defer s.owner.Unlock()
	info := eventlog.Info{NextSeq: s.next, Facts: s.row.facts, State: s.row.state}
	admissions, err := s.log.admissions(s.row)
	if err != nil {
		return eventlog.Info{}, err
	}
	info.Admissions = admissions
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	if s.row.lost > 0 && !s.row.holds() && s.window.Len() == 0 {
		return info, eventlog.ErrPruned
	}
	return info, nil
}

// release says that nobody here has the session open. Its window shrinks: it is
// read from disk, should anybody ask.
func (s *session) release() {
	s.owner.Lock()
	defer s.owner.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
	s.window.Shrink()
}

// remove lets all of the session's events go. spare leaves one that is open.
func (s *session) remove(spare bool) error {
	s.owner.Lock()
	defer s.owner.Unlock()
	// Under owner nobody opens it or appends to it meanwhile.
	if spare && (s.open || s.running != 0 || s.row.state.Open()) || s.row.lost == s.next-1 && s.row.admissions == 0 {
		return nil
	}
	// Readers that have begun end first: they would miss what is deleted.
	s.files.Lock()
	defer s.files.Unlock()
	step := s.row.removal(s.next)
	if err := s.log.writer.write(step); err != nil {
		return fmt.Errorf("removing session %s: %w", s.id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.row, s.open, s.running = step.row, false, 0
	s.window.Begin(s.next - 1)
	return nil
}

// rest is the step that gives reserved numbers back; nil where none are. The
// caller holds owner.
func (s *session) rest() *step {
	if s.row.next == s.next {
		return nil
	}
	r := s.row
	r.next = s.next
	return &step{row: r}
}
