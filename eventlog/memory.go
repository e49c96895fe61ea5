package eventlog

import (
	"sort"
	"sync"
)

// DefaultMaxSessionBytes is what a session's log may hold in memory: 256 MiB.
const DefaultMaxSessionBytes = 256 << 20

// recordOverhead is what a record costs besides its bytes.
const recordOverhead = 96

// MemoryOptions bound a memory log. The zero value is useful.
type MemoryOptions struct {
	// MaxSessionBytes is what one session may hold, bytes and records; above it
	// the oldest whole turns go, never the running one. 0: 256 MiB.
	MaxSessionBytes int64
}

// Memory is a Log for the life of one process.
type Memory struct {
	max int64

	mu       sync.RWMutex
	sessions map[string]*memorySession
}

// memorySession is one session's log. Its records slice only ever grows at the
// end or is cut at the front: a sub-slice handed to a reader stays valid.
type memorySession struct {
	mu         sync.RWMutex
	records    []Record
	next       int64
	bytes      int64
	admissions []Admission
}

// NewMemory makes an empty memory log.
func NewMemory(o MemoryOptions) *Memory {
	if o.MaxSessionBytes == 0 {
		o.MaxSessionBytes = DefaultMaxSessionBytes
	}
	return &Memory{max: o.MaxSessionBytes, sessions: map[string]*memorySession{}}
}

// Open implements Log.
func (m *Memory) Open(session string) (Info, error) {
	s := m.lookup(session)
	if s == nil {
		return Info{NextSeq: 1}, nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	info := Info{NextSeq: s.next, Admissions: append([]Admission(nil), s.admissions...)}
	if len(s.records) == 0 && s.next > 1 {
		return info, ErrPruned
	}
	return info, nil
}

// Append implements Log.
func (m *Memory) Append(session string, b Batch) error {
	s := m.obtain(session)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(session, b); err != nil {
		return err
	}
	if b.Admission != nil {
		s.admissions = append(s.admissions, *b.Admission)
	}
	for _, r := range b.Records {
		s.bytes += r.size()
	}
	s.records = append(s.records, b.Records...)
	s.next += int64(len(b.Records))
	if s.bytes > m.max {
		// An eighth more than needed goes, so that the copy is paid rarely.
		s.prune(m.max-m.max/8, b)
	}
	return nil
}

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
	if len(s.records) == 0 || after+1 < s.records[0].Seq {
		return nil, ErrGone
	}
	from := s.records[after+1-s.records[0].Seq:]
	return from[:within(from, maxBytes)], nil
}

// Range implements Log.
func (m *Memory) Range(session string) (first, last int64, ok bool) {
	s := m.lookup(session)
	if s == nil {
		return 0, 0, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.records) == 0 {
		return 0, 0, false
	}
	return s.records[0].Seq, s.next - 1, true
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

// check refuses a batch that is not contiguous from the next seq.
func (s *memorySession) check(session string, b Batch) error {
	for i, r := range b.Records {
		if want := s.next + int64(i); r.Seq != want {
			return &SeqError{Session: session, Want: want, Got: r.Seq}
		}
	}
	return nil
}

// prune drops the oldest whole turns until the budget holds, or only the running
// turn and what is yet to be read are left. The front is cut by a copy: a reslice would keep the old array,
// and with it every line, alive.
func (s *memorySession) prune(max int64, b Batch) {
	unread := s.next
	if b.Unread != nil {
		unread = b.Unread()
	}
	cut := 0
	for cut < len(s.records) && s.bytes > max && s.records[cut].Turn != b.Running {
		turn := s.records[cut].Turn
		end := cut + sort.Search(len(s.records)-cut, func(i int) bool { return s.records[cut+i].Turn > turn })
		if s.records[end-1].Seq >= unread {
			break
		}
		for ; cut < end; cut++ {
			s.bytes -= s.records[cut].size()
		}
	}
	if cut > 0 {
		s.records = append([]Record(nil), s.records[cut:]...)
	}
}

func (r Record) size() int64 { return int64(len(r.Line)+len(r.Base)) + recordOverhead }

// within counts the records that fit a byte budget, at least one.
func within(records []Record, maxBytes int) int {
	n, sum := 0, 0
	for n < len(records) {
		sum += len(records[n].Line)
		if n > 0 && sum > maxBytes {
			break
		}
		n++
	}
	return n
}
