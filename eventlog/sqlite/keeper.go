package sqlite

import (
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"agent-server/eventlog"
)

// sweepRows is how many events are deleted at a time: appends go on in between.
const sweepRows = 64

// keeper is the log's one goroutine: it applies retention, and deletes what was
// removed.
type keeper struct {
	l *Log
	// wake receives, coalesced, when something was removed; stop is closed by
	// close, gone when the goroutine has ended.
	wake, stop, gone chan struct{}
}

// keep starts it.
func keep(l *Log) *keeper {
	k := &keeper{l: l, wake: make(chan struct{}, 1), stop: make(chan struct{}), gone: make(chan struct{})}
	go k.run()
	return k
}

// run works until close: at once, as a crash may have left something to delete,
// then when it is woken, and by the clock where sessions are let go by it.
func (k *keeper) run() {
	defer close(k.gone)
	var tick <-chan time.Time
	if k.l.o.retains() {
		t := time.NewTicker(retentionEvery)
		defer t.Stop()
		tick = t.C
	}
	for {
		if err := k.l.retain(k.l.o); err != nil {
			k.l.o.Report(err)
		}
		k.sweep()
		select {
		case <-k.wake:
		case <-tick:
		case <-k.stop:
			return
		}
	}
}

// nudge says that something was removed.
func (k *keeper) nudge() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// close ends it, and waits for it. What it leaves is deleted when the log is opened
// again.
func (k *keeper) close() {
	close(k.stop)
	<-k.gone
}

// sweep deletes what was removed, until nothing is left or the log is closed. Each
// piece is a transaction of its own: a crash leaves the rest noted in removals.
func (k *keeper) sweep() {
	for more := true; more; {
		select {
		case <-k.stop:
			return
		default:
		}
		var err error
		err = k.l.writer.do(func(conn *sqlite.Conn) error {
			more, err = sweepSome(conn)
			return err
		})
		if err != nil {
			k.l.o.Report(fmt.Errorf("deleting removed events: %w", damage("", err)))
			return
		}
	}
}

// sweepSome deletes some events of one removal, and the removal itself where none
// is left; more is false where there is none.
func sweepSome(conn *sqlite.Conn) (more bool, err error) {
	from, upto, more, err := nextRemoval(conn)
	if err != nil || !more {
		return false, err
	}
	stmt, err := conn.Prepare("DELETE FROM events WHERE place IN (SELECT place FROM events WHERE place BETWEEN ? AND ? LIMIT ?)")
	if err != nil {
		return false, err
	}
	stmt.BindInt64(1, from)
	stmt.BindInt64(2, upto)
	stmt.BindInt64(3, sweepRows)
	if err := execute(stmt); err != nil {
		return false, err
	}
	if conn.Changes() > 0 {
		return true, giveBackPages(conn)
	}
	stmt, err = conn.Prepare("DELETE FROM removals WHERE place = ?")
	if err != nil {
		return false, err
	}
	stmt.BindInt64(1, from)
	if err := execute(stmt); err != nil {
		return false, err
	}
	return true, giveBackPages(conn)
}

// nextRemoval reads which places are to be emptied next; ok is false where none are.
func nextRemoval(conn *sqlite.Conn) (from, upto int64, ok bool, err error) {
	stmt, err := conn.Prepare("SELECT place, upto FROM removals LIMIT 1")
	if err != nil {
		return 0, 0, false, err
	}
	err = each(stmt, func() (bool, error) {
		from, upto, ok = stmt.ColumnInt64(0), stmt.ColumnInt64(1), true
		return false, nil
	})
	return from, upto, ok, err
}

// giveBackPages makes the file smaller by some of the pages that nothing uses.
func giveBackPages(conn *sqlite.Conn) error { return run(conn, "PRAGMA incremental_vacuum(256)") }

// retain lets go the sessions that are too old or too many, the one first whose
// last append is the longest ago. One that is open, in this process or since an
// earlier one, or whose turn runs, is spared, and counts.
func (l *Log) retain(o Options) error {
	if !o.retains() {
		return nil
	}
	all, err := l.oldestFirst()
	if err != nil {
		return fmt.Errorf("looking for sessions to let go: %w", damage("", err))
	}
	// Those that are spared count: the bounds are of what is held.
	held, bytes := len(all), int64(0)
	for _, s := range all {
		bytes += s.Bytes
	}
	oldest := o.Now().Add(-o.MaxAge).UnixMilli()
	for _, s := range all {
		// Where this one may stay every later one may.
		if !(o.MaxAge > 0 && s.UpdatedAt < oldest || o.MaxSessions > 0 && held > o.MaxSessions ||
			o.MaxBytes > 0 && bytes > o.MaxBytes) {
			return nil
		}
		gone, err := l.letGo(s.Session)
		if err != nil {
			return err
		}
		if gone {
			held, bytes = held-1, bytes-s.Bytes
		}
	}
	return nil
}

// letGo removes a session as Catalog.Remove does, unless it is open; gone says whether it was.
func (l *Log) letGo(id string) (gone bool, err error) {
	s, err := l.lookup(id)
	if s == nil || err != nil {
		return false, err
	}
	if err := s.remove(true); err != nil {
		return false, err
	}
	_, _, held := s.span()
	return !held, nil
}

// oldestFirst lists every session held, the one first whose last append is the
// longest ago.
func (l *Log) oldestFirst() (all []eventlog.Summary, err error) {
	err = l.pool.with(func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare("SELECT " + columns + " FROM sessions WHERE last > lost ORDER BY updated, session")
		if err != nil {
			return err
		}
		return each(stmt, func() (bool, error) {
			r, err := scanRow(stmt)
			if err == nil {
				all = append(all, r.summary())
			}
			return true, err
		})
	})
	return all, err
}
