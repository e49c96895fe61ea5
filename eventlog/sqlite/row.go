package sqlite

import (
	"fmt"
	"slices"

	"agent-server/eventlog"
)

// Bounds of what a place can say: it is a session's number and a seq in one
// integer, so that a session's events lie together, in order, and are found
// without an index.
const (
	seqBits   = 40
	maxSeq    = 1<<seqBits - 1
	maxNumber = 1<<(63-seqBits) - 1
)

// blockSize is how many seqs are reserved ahead at most.
const blockSize = 1024

// recordOverhead is what an event costs on disk besides its bytes, about.
const recordOverhead = 32

// row is what the disk knows of a session beside its events.
type row struct {
	// number stands for the session in places; 0 until its first step is written.
	number  int64
	session string
	// next is the lowest seq that cannot have been sent.
	next int64
	// lost is the last seq of what was removed, 0 where nothing was; last is that
	// of the newest event on disk, lost where there is none, and chain its sum.
	lost, last int64
	chain      sum
	// admissions counts them.
	admissions int64
	facts      eventlog.Facts
	state      eventlog.State
	// created and updated are epoch ms; bytes is what the events take, about.
	created, updated int64
	bytes            int64
}

// newRow is a session that was never seen.
func newRow(session string) row {
	return row{session: session, next: 1, chain: seed(session, 0)}
}

// place is where an event lies.
func (r row) place(seq int64) int64 { return r.number<<seqBits | seq }

// holds says whether any event is on disk.
func (r row) holds() bool { return r.last > r.lost }

// sum covers the whole row. A state that nobody has said is left out: rows that were
// written before there was one keep their sums.
func (r row) sum() sum {
	s := newSummer("session").number(r.number).text(r.session).number(r.next).number(r.lost).number(r.last).
		number(int64(r.chain)).number(r.admissions).text(r.facts.Harness).text(r.facts.Cwd).
		number(r.created).number(r.updated).number(r.bytes)
	if r.state != eventlog.StateUnknown {
		s = s.number(int64(r.state))
	}
	return s.sum()
}

// summary is the row as a catalog shows it; of a session that this process has open
// the head is another, see patch.
func (r row) summary() eventlog.Summary {
	return eventlog.Summary{Session: r.session, Facts: r.facts, State: r.state, First: r.lost + 1, Latest: r.next - 1,
		CreatedAt: r.created, UpdatedAt: r.updated, Bytes: r.bytes}
}

// step is what one append writes: the row behind it, its durable events with
// their sums, and its admission.
type step struct {
	row       row
	events    []eventlog.Record
	sums      []sum
	admission *eventlog.Admission
	// remove: the session's events up to row.lost are let go, its admissions too.
	remove bool
}

// plan says what a batch changes on disk; nil where nothing does.
func (r row) plan(b eventlog.Batch, now int64) (*step, error) {
	if !r.changed(b) {
		return nil, nil
	}
	s := &step{row: r, admission: b.Admission}
	for _, rec := range b.Records {
		if rec.Seq > maxSeq-blockSize {
			return nil, fmt.Errorf("append to session %s at seq %d: the log's numbers are used up", r.session, rec.Seq)
		}
		if rec.Durable {
			s.row.add(rec)
			s.events, s.sums = append(s.events, rec), append(s.sums, s.row.chain)
		}
	}
	if b.Admission != nil {
		s.row.admissions++
	}
	if b.Facts != nil {
		s.row.facts = *b.Facts
	}
	if b.State != eventlog.StateUnknown {
		s.row.state = b.State
	}
	// The reservation goes with whatever the step writes anyway.
	s.row.next = reserve(r.next, b)
	if s.row.updated = now; s.row.created == 0 {
		s.row.created = now
	}
	return s, nil
}

// add moves the row behind an event.
func (r *row) add(rec eventlog.Record) {
	r.chain = chained(r.chain, rec)
	r.last = rec.Seq
	r.bytes += int64(len(rec.Line)+len(rec.Base)) + recordOverhead
}

// changed says whether a batch changes anything on disk: one of deltas, within
// reserved numbers, does not.
func (r row) changed(b eventlog.Batch) bool {
	durable := slices.ContainsFunc(b.Records, func(rec eventlog.Record) bool { return rec.Durable })
	said := b.Facts != nil && *b.Facts != r.facts || b.State != eventlog.StateUnknown && b.State != r.state
	return durable || b.Admission != nil || said || reserve(r.next, b) != r.next
}

// reserve is the lowest seq that cannot have been sent once the batch is out.
// Numbers ahead of a delta are reserved when the first of a block is needed; a
// step that ends a turn gives the rest back, being written anyway.
func reserve(next int64, b eventlog.Batch) int64 {
	n := len(b.Records)
	if n == 0 {
		return next
	}
	last := b.Records[n-1]
	switch {
	case last.Durable && (b.Running == 0 || last.Seq >= next):
		return last.Seq + 1
	case last.Seq >= next:
		return max(next+blockSize, last.Seq+1)
	}
	return next
}

// removal is the step that lets all of a session's events go, its next seq being
// next. The row stays for ever: it is what remembers the numbers. A new life begins
// a chain of its own, so that nothing of the old one fits into it.
func (r row) removal(next int64) *step {
	gone := newRow(r.session)
	gone.number, gone.next, gone.lost, gone.last = r.number, next, next-1, next-1
	gone.chain = seed(r.session, gone.lost)
	return &step{row: gone, remove: true}
}
