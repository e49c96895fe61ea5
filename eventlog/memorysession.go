package eventlog

import (
	"fmt"
	"math"
	"sync"
)

// memorySession is one session's log in memory: a window of everything, above a
// shelf of the durable events that have left it.
type memorySession struct {
	mu     sync.RWMutex
	window Window
	shelf  shelf
	// next is the seq of the next event; lost is that of the last durable one that
	// was pruned.
	next, lost int64
	admissions []Admission
	facts      Facts
	state      State
	// createdAt and updatedAt are epoch ms.
	createdAt, updatedAt int64
}

// note keeps what a batch says beyond its records.
func (s *memorySession) note(b Batch, now int64) {
	if b.Admission != nil {
		s.admissions = append(s.admissions, *b.Admission)
	}
	if b.Facts != nil {
		s.facts = *b.Facts
	}
	if b.State != StateUnknown {
		s.state = b.State
	}
	if s.createdAt == 0 {
		s.createdAt = now
	}
	s.updatedAt = now
}

// shelve keeps durable events that have left the window, in memory of their own:
// their lines share slabs with the deltas around them, which are to go.
func (s *memorySession) shelve(records []Record) {
	if len(records) == 0 {
		return
	}
	n := 0
	for _, r := range records {
		n += len(r.Line) + len(r.Base)
	}
	slab := make([]byte, 0, n)
	own := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		from := len(slab)
		slab = append(slab, b...)
		return slab[from:len(slab):len(slab)]
	}
	for _, r := range records {
		r.Line, r.Base = own(r.Line), own(r.Base)
		s.shelf.push(r)
	}
}

// bytes is what the session takes, about.
func (s *memorySession) bytes() int64 { return s.window.Bytes() + s.shelf.bytes }

// holds says whether any event is held.
func (s *memorySession) holds() bool { return s.bytes() > 0 }

// prune lets the oldest whole turns go until the budget holds, or only the latest
// turn and what is yet to be read are left. The latest stays though it has ended: of a
// session that holds nothing its readers would be told that there is none.
func (s *memorySession) prune(max int64, b Batch) {
	unread := int64(math.MaxInt64)
	if b.Unread != nil {
		unread = b.Unread()
	}
	for s.bytes() > max {
		turn, last := s.oldest()
		if b.Running != 0 && turn == b.Running || last >= unread || last == s.next-1 {
			return
		}
		s.drop(last)
	}
}

// oldest is the mark of the oldest turn held, and the last seq of it.
func (s *memorySession) oldest() (turn, last int64) {
	r, ok := s.shelf.front()
	if !ok {
		r, _ = s.window.shelf.front()
	}
	last, all := s.shelf.endOf(r.Turn)
	if all {
		above, _ := s.window.shelf.endOf(r.Turn)
		last = max(last, above)
	}
	return r.Turn, last
}

// drop lets everything up to a seq go, and remembers the last durable event.
func (s *memorySession) drop(upto int64) {
	s.lost = max(s.lost, s.shelf.dropUpTo(upto), s.window.Drop(upto))
}

// remove lets everything go but the next seq.
func (s *memorySession) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.window.Begin(s.next - 1)
	s.shelf, s.admissions, s.facts, s.state = shelf{}, nil, Facts{}, StateUnknown
	s.lost, s.createdAt, s.updatedAt = s.next-1, 0, 0
}

// summary is the session's line in a catalog; ok is false where it holds nothing.
func (s *memorySession) summary(id string) (sum Summary, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Summary{Session: id, Facts: s.facts, State: s.state, First: s.lost + 1, Latest: s.next - 1,
		CreatedAt: s.createdAt, UpdatedAt: s.updatedAt, Bytes: s.bytes()}, s.holds()
}

// take puts an imported session in the place of nothing. It is built aside: a session
// that cannot be taken in whole leaves no trace. The caller holds mu.
func (s *memorySession) take(m Import, most int64) error {
	if s.holds() {
		return ErrExists
	}
	fresh := memorySession{next: max(s.next, m.Next), lost: m.First - 1, facts: m.Facts,
		admissions: append([]Admission(nil), m.Admissions...), createdAt: m.CreatedAt, updatedAt: m.UpdatedAt}
	for r, err := range m.Checked() {
		if err != nil {
			return err
		}
		if fresh.shelve([]Record{r}); fresh.bytes() > most {
			return fmt.Errorf("it is larger than the %d bytes that a session may have in memory", most)
		}
	}
	s.window.Begin(fresh.next - 1)
	s.shelf, s.next, s.lost, s.facts = fresh.shelf, fresh.next, fresh.lost, fresh.facts
	s.admissions, s.createdAt, s.updatedAt = fresh.admissions, fresh.createdAt, fresh.updatedAt
	return nil
}
