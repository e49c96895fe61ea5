package eventlog

import "sort"

// A shelf's chunks: small for a quiet session, and never so large that what was
// let go at the front of one keeps much memory alive.
const (
	firstChunk = 8
	lastChunk  = 256
	chunkBytes = 256 << 10
)

// shelf holds records in seq order: put in at the end, taken away at the front,
// without copying either way. Where records were taken from a chunk, the rest of
// it stays where it is, so that a reader's slice stays valid.
type shelf struct {
	chunks []chunk
	// count and bytes are those of the records on it.
	count int
	bytes int64
}

// chunk is a run of records. bytes counts those taken away at its front, too:
// their memory lives as long as the chunk does.
type chunk struct {
	records []Record
	bytes   int64
}

// push puts a record at the end.
func (s *shelf) push(r Record) {
	n := len(s.chunks)
	if n == 0 || s.chunks[n-1].full() {
		s.chunks = append(s.chunks, chunk{records: make([]Record, 0, min(max(s.count, firstChunk), lastChunk))})
		n++
	}
	c := &s.chunks[n-1]
	c.records = append(c.records, r)
	c.bytes += r.size()
	s.count++
	s.bytes += r.size()
}

// full: the next record goes into another chunk.
func (c *chunk) full() bool { return len(c.records) == cap(c.records) || c.bytes >= chunkBytes }

// front is the oldest record; ok is false where there is none.
func (s *shelf) front() (r Record, ok bool) {
	if s.count == 0 {
		return Record{}, false
	}
	return s.chunks[0].records[0], true
}

// drop takes the oldest record away. A chunk without records goes at once, and
// its place is cleared: the array behind chunks outlives it.
func (s *shelf) drop() {
	c := &s.chunks[0]
	s.count--
	s.bytes -= c.records[0].size()
	c.records = c.records[1:]
	if len(c.records) == 0 {
		*c = chunk{}
		s.chunks = s.chunks[1:]
	}
}

// dropUpTo takes everything up to a seq away, and gives the seq of the last durable
// event among it; 0: there was none.
func (s *shelf) dropUpTo(seq int64) (durable int64) {
	for r, ok := s.front(); ok && r.Seq <= seq; r, ok = s.front() {
		if r.Durable {
			durable = r.Seq
		}
		s.drop()
	}
	return durable
}

// after gives records with seq > seq, from the first of them to the end of its
// chunk: some of them, where there are any.
func (s *shelf) after(seq int64) []Record {
	i := sort.Search(len(s.chunks), func(i int) bool { return s.chunks[i].last().Seq > seq })
	if i == len(s.chunks) {
		return nil
	}
	rs := s.chunks[i].records
	from := sort.Search(len(rs), func(j int) bool { return rs[j].Seq > seq })
	return rs[from:len(rs):len(rs)]
}

// last is the chunk's newest record; it has one.
func (c *chunk) last() Record { return c.records[len(c.records)-1] }

// endOf gives the last seq of the records of a turn at the front, 0 where there
// are none; all is true where no other record is on the shelf.
func (s *shelf) endOf(turn int64) (end int64, all bool) {
	for i := range s.chunks {
		c := &s.chunks[i]
		if c.last().Turn == turn {
			end = c.last().Seq
			continue
		}
		for _, r := range c.records {
			if r.Turn != turn {
				return end, false
			}
			end = r.Seq
		}
	}
	return end, true
}

// size is what a record costs.
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
