package eventlog

import (
	"fmt"
	"sync"
	"time"
)

// DefaultMaxSessionBytes is what a session's log may hold in memory: 256 MiB.
const DefaultMaxSessionBytes = 256 << 20

// MemoryOptions bound a memory log. The zero value is useful.
type MemoryOptions struct {
	// MaxSessionBytes is what one session may hold, bytes and records, and what is
	// kept beside it (Batch.Beside); above it the oldest whole turns go, never the
	// running one, nor the latest. 0: 256 MiB.
	MaxSessionBytes int64
}

// Memory is a Log for the life of one process, with its own Identity, Catalog and Importer.
type Memory struct {
	max     int64
	id      string
	hashKey []byte

	mu       sync.RWMutex
	sessions map[string]*memorySession
}

// NewMemory makes an empty memory log.
func NewMemory(o MemoryOptions) *Memory {
	if o.MaxSessionBytes == 0 {
		o.MaxSessionBytes = DefaultMaxSessionBytes
	}
	m := &Memory{max: o.MaxSessionBytes, sessions: map[string]*memorySession{}}
	m.id, m.hashKey = NewIdentity()
	return m
}

// ID implements Identity: one a process.
func (m *Memory) ID() string { return m.id }

// HashKey implements Identity: one a process.
func (m *Memory) HashKey() []byte { return m.hashKey }

// Durable implements Identity: it is not.
func (m *Memory) Durable() bool { return false }

// SessionBudget is what one session may hold, in bytes, before the oldest of it goes: who
// wants to keep more of it than its events takes it over before. What is kept of it
// beside the log counts.
func (m *Memory) SessionBudget() int64 { return m.max }

// FoldBudget is how much may be kept of one session beside its log, in bytes, before it
// should take nothing more: all of the budget.
func (m *Memory) FoldBudget() int64 { return m.max }

// Open implements Log.
func (m *Memory) Open(session string) (Info, error) {
	s := m.lookup(session)
	if s == nil {
		return Info{NextSeq: 1}, nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	info := Info{NextSeq: s.next, Admissions: append([]Admission(nil), s.admissions...), Facts: s.facts, State: s.state}
	if !s.holds() && s.lost > 0 {
		return info, ErrPruned
	}
	return info, nil
}

// Append implements Log.
func (m *Memory) Append(session string, b Batch) error {
	s := m.obtain(session)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := CheckSeqs(session, s.next, b); err != nil {
		return err
	}
	s.note(b, time.Now().UnixMilli())
	s.next += int64(len(b.Records))
	s.window.Add(b)
	s.shelve(s.window.Trim())
	if room := m.room(b.Beside); s.bytes() > room {
		// An eighth more than needed goes, so that it is done rarely.
		s.prune(room-room/8, b)
	}
	return nil
}

// leastShare is the share of the budget that the log of a session has in any case: who
// is only just behind is to find there what comes next.
const leastShare = 8

// room is what a session's log may hold where so much is kept beside it.
func (m *Memory) room(beside int64) int64 { return max(m.max-beside, m.max/leastShare) }

// Read implements Log.
func (m *Memory) Read(session string, after int64, maxBytes int) ([]Record, error) {
	s := m.lookup(session)
	if s == nil {
		return nil, nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if after+1 >= s.next {
		return nil, nil
	}
	if after < s.lost {
		return nil, ErrGone
	}
	if rs := s.shelf.after(after); len(rs) > 0 {
		return rs[:within(rs, maxBytes)], nil
	}
	return s.window.After(after, maxBytes), nil
}

// Range implements Log.
func (m *Memory) Range(session string) (first, last int64, ok bool) {
	s := m.lookup(session)
	if s == nil {
		return 0, 0, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.holds() {
		return 0, 0, false
	}
	return s.lost + 1, s.next - 1, true
}

// Sessions implements Catalog.
func (m *Memory) Sessions(cursor string, limit int) (page []Summary, next string, err error) {
	m.mu.RLock()
	all := make([]Summary, 0, len(m.sessions))
	for id, s := range m.sessions {
		if sum, ok := s.summary(id); ok {
			all = append(all, sum)
		}
	}
	m.mu.RUnlock()
	return pageOf(all, cursor, limit)
}

// Remove implements Catalog.
func (m *Memory) Remove(session string) error {
	if s := m.lookup(session); s != nil {
		s.remove()
	}
	return nil
}

// Import implements Importer; a session beyond the budget is refused, not cut.
func (m *Memory) Import(session string, in Import) error {
	s := m.obtain(session)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.take(in, m.max); err != nil {
		return fmt.Errorf("importing session %s: %w", session, err)
	}
	return nil
}

// Close implements Log; the memory goes with the last reader.
func (m *Memory) Close() error { return nil }

func (m *Memory) lookup(session string) *memorySession {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.sessions[session]
}

func (m *Memory) obtain(session string) *memorySession {
	if s := m.lookup(session); s != nil {
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	if s == nil {
		s = &memorySession{next: 1}
		m.sessions[session] = s
	}
	return s
}

// CheckSeqs refuses a batch that is not contiguous from the next seq.
func CheckSeqs(session string, next int64, b Batch) error {
	for i, r := range b.Records {
		if want := next + int64(i); r.Seq != want {
			return &SeqError{Session: session, Want: want, Got: r.Seq}
		}
	}
	return nil
}
