package sqlite

import (
	"fmt"

	"agent-server/eventlog"
)

// Import implements eventlog.Importer. All of it is one transaction, however large:
// what does not fit into SQLite's cache waits in the write-ahead log, where nobody
// takes it for committed. Nothing is appended to any session meanwhile.
func (l *Log) Import(session string, m eventlog.Import) error {
	s, err := l.obtain(session)
	if err == nil {
		err = s.take(m)
	}
	if err != nil {
		return fmt.Errorf("importing session %s: %w", session, damage(session, err))
	}
	return nil
}

// take makes an imported session durable, and then visible. As in append nothing
// here changes before the disk has it.
func (s *session) take(m eventlog.Import) error {
	s.owner.Lock()
	defer s.owner.Unlock()
	if _, _, held := s.span(); held {
		return eventlog.ErrExists
	}
	s.files.Lock()
	defer s.files.Unlock()
	r := s.row.adopted(m, s.next)
	if r.next > maxSeq-blockSize {
		return fmt.Errorf("its next event is %d: the log's numbers do not reach that far", r.next)
	}
	r, err := s.log.writer.take(r, m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.row, s.next = r, r.next
	s.window.Begin(r.next - 1)
	return nil
}

// adopted is the row of an imported session before its first event. Numbers that a
// removed life has used stay used.
func (r row) adopted(m eventlog.Import, next int64) row {
	a := newRow(r.session)
	a.number, a.next, a.lost, a.last = r.number, max(next, m.Next), m.First-1, m.First-1
	a.chain = seed(r.session, a.lost)
	a.facts, a.created, a.updated = m.Facts, m.CreatedAt, m.UpdatedAt
	return a
}

// take writes an imported session in a transaction of its own, and gives its row.
func (w *writer) take(r row, m eventlog.Import) (row, error) {
	w.busy.Lock()
	defer w.busy.Unlock()
	// As in commit: a number counts only once it is on disk.
	numbers := w.numbers
	if r.number == 0 || r.number > numbers {
		numbers++
		r.number = numbers
	}
	err := transact(w.conn, func() error {
		if err := w.sweepAll(r); err != nil {
			return err
		}
		for rec, err := range m.Checked() {
			if err == nil {
				err = w.putImported(&r, rec)
			}
			if err != nil {
				return err
			}
		}
		for _, a := range m.Admissions {
			r.admissions++
			if err := w.putAdmission(r, a); err != nil {
				return err
			}
		}
		return w.putRow(r)
	})
	if err != nil {
		return row{}, err
	}
	w.numbers = numbers
	return r, nil
}

// putImported writes one event behind a row's last, and moves the row.
func (w *writer) putImported(r *row, rec eventlog.Record) error {
	r.add(rec)
	return w.putEvents(&step{row: *r, events: []eventlog.Record{rec}, sums: []sum{r.chain}})
}

// sweepAll deletes at once what is left of a session's former life: its events have
// the places of the new ones, and the removal that is noted would take those too.
func (w *writer) sweepAll(r row) error {
	for _, query := range []string{
		"DELETE FROM events WHERE place BETWEEN ? AND ?",
		"DELETE FROM admissions WHERE place BETWEEN ? AND ?",
		"DELETE FROM removals WHERE place BETWEEN ? AND ?",
	} {
		stmt, err := w.conn.Prepare(query)
		if err != nil {
			return err
		}
		stmt.BindInt64(1, r.place(0))
		stmt.BindInt64(2, r.place(maxSeq))
		if err := execute(stmt); err != nil {
			return err
		}
	}
	return nil
}
