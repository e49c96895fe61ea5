package sqlite

import (
	"errors"
	"fmt"
	"sync"

	"zombiezen.com/go/sqlite"

	"agent-server/eventlog"
)

// writer owns the connection that writes. Steps that come while it is busy wait
// together, and share the next transaction.
type writer struct {
	// mu guards queue.
	mu    sync.Mutex
	queue []*request

	// busy is held by the one that writes; what follows is its alone. numbers is
	// the highest number that a session has: they have no gap, so that one that is
	// lost is missed.
	busy    sync.Mutex
	conn    *sqlite.Conn
	numbers int64
}

// request is one step on its way to the disk. done and err are written under busy.
type request struct {
	step *step
	done bool
	err  error
}

// write makes a step durable before it returns nil, or nothing of it. Whoever
// comes first writes for all who wait by then; they find theirs done.
//
// No goroutine and no timer is needed for it: while one transaction is being synced
// the next one gathers by itself, the larger the slower the disk is.
func (w *writer) write(s *step) error {
	r := &request{step: s}
	w.mu.Lock()
	w.queue = append(w.queue, r)
	w.mu.Unlock()
	w.busy.Lock()
	defer w.busy.Unlock()
	// A request that somebody else has taken is done by now: it was taken under busy.
	if !r.done {
		w.flush()
	}
	return r.err
}

// flush writes what is queued. Where that fails each step is tried by itself: one
// that cannot be written is no other session's fault.
func (w *writer) flush() {
	w.mu.Lock()
	batch := w.queue
	w.queue = nil
	w.mu.Unlock()
	err := w.commit(batch)
	for _, r := range batch {
		r.done, r.err = true, err
		if err != nil && len(batch) > 1 {
			r.err = w.commit([]*request{r})
		}
	}
}

// commit writes steps in one transaction. A session's first one numbers it.
func (w *writer) commit(batch []*request) error {
	// A number counts only once it is on disk: a step that fails must leave no gap.
	numbers := w.numbers
	err := transact(w.conn, func() error {
		for _, r := range batch {
			// Above numbers it is left from a try that failed.
			if r.step.row.number == 0 || r.step.row.number > w.numbers {
				numbers++
				r.step.row.number = numbers
			}
			if err := w.put(r.step); err != nil {
				return fmt.Errorf("writing session %s: %w", r.step.row.session, damage(r.step.row.session, err))
			}
		}
		return nil
	})
	if err == nil {
		w.numbers = numbers
	}
	return err
}

// do runs a function of its own on the connection, in a transaction.
func (w *writer) do(f func(*sqlite.Conn) error) error {
	w.busy.Lock()
	defer w.busy.Unlock()
	return transact(w.conn, func() error { return f(w.conn) })
}

// put writes one step, its row last. Any error undoes the whole transaction.
func (w *writer) put(s *step) error {
	if err := w.putEvents(s); err != nil {
		return err
	}
	if s.admission != nil {
		if err := w.putAdmission(s.row, *s.admission); err != nil {
			return err
		}
	}
	if s.remove {
		if err := w.remove(s.row); err != nil {
			return err
		}
	}
	return w.putRow(s.row)
}

// putEvents writes a step's durable events.
func (w *writer) putEvents(s *step) error {
	if len(s.events) == 0 {
		return nil
	}
	stmt, err := w.conn.Prepare("INSERT INTO events (place, turn, event_at, line, base, sum) VALUES (?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	for i, r := range s.events {
		stmt.BindInt64(1, s.row.place(r.Seq))
		stmt.BindInt64(2, r.Turn)
		stmt.BindInt64(3, int64(r.EventAt))
		stmt.BindBytes(4, r.Line)
		if r.Base == nil {
			stmt.BindNull(5)
		} else {
			stmt.BindBytes(5, r.Base)
		}
		stmt.BindInt64(6, int64(s.sums[i]))
		if err := execute(stmt); err != nil {
			return err
		}
	}
	return nil
}

// putAdmission writes the session's newest admission, which its row counts already.
func (w *writer) putAdmission(r row, a eventlog.Admission) error {
	stmt, err := w.conn.Prepare("INSERT INTO admissions (place, turn, hash, sum) VALUES (?, ?, ?, ?)")
	if err != nil {
		return err
	}
	stmt.BindInt64(1, r.place(r.admissions))
	stmt.BindText(2, a.TurnID)
	stmt.BindBytes(3, a.Hash[:])
	stmt.BindInt64(4, int64(admitted(r.number, r.admissions, a)))
	return execute(stmt)
}

// putRow writes what the session is known by. Number and name never change, so that
// an update leaves the index of names alone.
func (w *writer) putRow(r row) error {
	stmt, err := w.conn.Prepare(`INSERT INTO sessions
		(number, session, next, lost, last, chain, admissions, harness, cwd, created, updated, bytes, state, sum)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
		ON CONFLICT (number) DO UPDATE SET next = ?3, lost = ?4, last = ?5, chain = ?6, admissions = ?7,
		harness = ?8, cwd = ?9, created = ?10, updated = ?11, bytes = ?12, state = ?13, sum = ?14`)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, r.number)
	stmt.BindText(2, r.session)
	for i, n := range []int64{r.next, r.lost, r.last, int64(r.chain), r.admissions} {
		stmt.BindInt64(3+i, n)
	}
	stmt.BindText(8, r.facts.Harness)
	stmt.BindText(9, r.facts.Cwd)
	for i, n := range []int64{r.created, r.updated, r.bytes, int64(r.state), int64(r.sum())} {
		stmt.BindInt64(10+i, n)
	}
	return execute(stmt)
}

// remove takes a session's admissions away, and notes which events are to go: they
// may be many, and go later, a few at a time.
func (w *writer) remove(r row) error {
	stmt, err := w.conn.Prepare("DELETE FROM admissions WHERE place BETWEEN ? AND ?")
	if err != nil {
		return err
	}
	stmt.BindInt64(1, r.place(0))
	stmt.BindInt64(2, r.place(maxSeq))
	if err := execute(stmt); err != nil {
		return err
	}
	stmt, err = w.conn.Prepare("INSERT OR REPLACE INTO removals (place, upto) VALUES (?, ?)")
	if err != nil {
		return err
	}
	stmt.BindInt64(1, r.place(0))
	stmt.BindInt64(2, r.place(r.lost))
	return execute(stmt)
}

// close writes everything into the file itself, and lets it go. SQLite would do so
// by itself, and keep an error to itself.
func (w *writer) close() error {
	if w.conn == nil {
		return nil
	}
	return errors.Join(run(w.conn, "PRAGMA wal_checkpoint(TRUNCATE)"), w.conn.Close())
}
