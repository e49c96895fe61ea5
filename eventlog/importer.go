package eventlog

import (
	"errors"
	"fmt"
	"iter"
)

// Importer takes in a session that another log, or this one, has held. Each engine
// has it.
type Importer interface {
	// Import stores a whole session, all or nothing, before it returns. ErrExists
	// where events of it are held; whatever error Records gives ends it, and nothing
	// is stored then.
	//
	// It may take long, and an engine may append nothing meanwhile: it is for a log
	// that nobody serves.
	Import(session string, m Import) error
}

// Import is a session as a log has held it: what Read, Open and Sessions have said
// of it there they say here, but for its size.
type Import struct {
	// Facts are what was known of it.
	Facts Facts
	// CreatedAt and UpdatedAt are the times of its first and last append, epoch ms.
	CreatedAt, UpdatedAt int64
	// First is the lowest seq from which every durable event is held, 1 or more.
	First int64
	// Next is the seq of the next event, beyond every one that may have been given.
	// Where the log remembers a higher one of a life that was removed, that stays:
	// no number is used twice.
	Next int64
	// Admissions are all of them, in the order of their making. Their hashes are
	// keyed by the log that made them: another one never finds a retry equal.
	Admissions []Admission
	// Records are asked for once, one at a time, and not kept: at least one, durable
	// ones alone, in seq order, from First on and below Next. An error is the last.
	Records iter.Seq2[Record, error]
}

// ErrExists is returned for an import of a session that the log holds.
var ErrExists = errors.New("the log holds that session already")

// Checked gives the import's records, and an error in place of the first that cannot
// be one of them. Engines read by it.
func (m Import) Checked() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if m.First < 1 || m.Next <= m.First {
			yield(Record{}, fmt.Errorf("import: events from %d on, below %d: there is no such session", m.First, m.Next))
			return
		}
		last := m.First - 1
		for r, err := range m.Records {
			if err == nil {
				err = m.fits(r, last)
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if last = r.Seq; !yield(r, nil) {
				return
			}
		}
		if last < m.First {
			yield(Record{}, errors.New("import: there is no event in it"))
		}
	}
}

// fits says what is wrong with a record behind a seq.
func (m Import) fits(r Record, last int64) error {
	switch {
	case !r.Durable:
		return fmt.Errorf("import: event %d is a delta: no log holds it for good", r.Seq)
	case r.Seq <= last || r.Seq >= m.Next:
		return fmt.Errorf("import: event %d stands behind %d, want one above it and below %d", r.Seq, last, m.Next)
	}
	return nil
}
