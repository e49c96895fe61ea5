package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"

	"agent-server/eventlog"
)

// columns are those of a row, in the order that scanRow reads.
const columns = "number, session, next, lost, last, chain, admissions, harness, cwd, created, updated, bytes, state, sum"

// scanRow reads a row and holds it to its sum. The error names the session that the
// row says it is, for want of a better one.
func scanRow(stmt *sqlite.Stmt) (row, error) {
	r := row{number: stmt.ColumnInt64(0), session: stmt.ColumnText(1), next: stmt.ColumnInt64(2), lost: stmt.ColumnInt64(3),
		last: stmt.ColumnInt64(4), chain: sum(stmt.ColumnInt64(5)), admissions: stmt.ColumnInt64(6),
		facts:   eventlog.Facts{Harness: stmt.ColumnText(7), Cwd: stmt.ColumnText(8)},
		created: stmt.ColumnInt64(9), updated: stmt.ColumnInt64(10), bytes: stmt.ColumnInt64(11),
		state: eventlog.State(stmt.ColumnInt64(12))}
	if r.sum() != sum(stmt.ColumnInt64(13)) {
		return row{}, &DamageError{Session: r.session, What: "its row is not what was written"}
	}
	return r, nil
}

// findRow reads a session's row; ok is false where there is none. Before it says
// so it looks through the whole table: an index that has lost the session would
// let its numbers be used again.
func findRow(conn *sqlite.Conn, session string) (r row, ok bool, err error) {
	for _, from := range []string{"sessions", "sessions NOT INDEXED"} {
		stmt, err := conn.Prepare("SELECT " + columns + " FROM " + from + " WHERE session = ?")
		if err != nil {
			return row{}, false, err
		}
		stmt.BindText(1, session)
		err = each(stmt, func() (bool, error) {
			r, err = scanRow(stmt)
			ok = err == nil
			return false, err
		})
		if err != nil || ok {
			return r, ok, err
		}
	}
	return row{}, false, nil
}

// allRows reads every session's row.
func allRows(conn *sqlite.Conn) (rows []row, err error) {
	stmt, err := conn.Prepare("SELECT " + columns + " FROM sessions NOT INDEXED")
	if err != nil {
		return nil, err
	}
	err = each(stmt, func() (bool, error) {
		r, err := scanRow(stmt)
		if err == nil {
			rows = append(rows, r)
		}
		return true, err
	})
	return rows, err
}

// verify reads all that the disk has of a session, a chunk at a time, so that it
// takes little memory however long the session is.
func verify(conn *sqlite.Conn, r row) error {
	const chunk = 1 << 20
	for after := r.lost; after < r.last; {
		rs, err := readEvents(conn, r, after, r.last, chunk)
		if err != nil {
			return err
		}
		if len(rs) == 0 {
			return &DamageError{Session: r.session, What: fmt.Sprintf("nothing follows seq %d", after)}
		}
		after = rs[len(rs)-1].Seq
	}
	if _, err := readAdmissions(conn, r); err != nil {
		return err
	}
	return nothingBehind(conn, r)
}

// nothingBehind looks for events behind the session's last: nobody reads them, and
// the next append would meet them.
func nothingBehind(conn *sqlite.Conn, r row) error {
	stmt, err := conn.Prepare("SELECT count(*) FROM events WHERE place BETWEEN ? AND ?")
	if err != nil {
		return err
	}
	stmt.BindInt64(1, r.place(r.last+1))
	stmt.BindInt64(2, r.place(maxSeq))
	return each(stmt, func() (bool, error) {
		if n := stmt.ColumnInt64(0); n > 0 {
			return false, &DamageError{Session: r.session, What: fmt.Sprintf("%d events stand behind its last", n)}
		}
		return false, nil
	})
}

// check has SQLite look at its own structure.
func check(conn *sqlite.Conn) error {
	stmt, err := conn.Prepare("PRAGMA quick_check")
	if err != nil {
		return err
	}
	return each(stmt, func() (bool, error) {
		if found := stmt.ColumnText(0); found != "ok" {
			return false, &DamageError{What: found}
		}
		return true, nil
	})
}

// each calls do for every row that a statement gives, until it says no more. The
// statement is ready for the next time then: one that is not reset would keep the
// connection in an old state of the store.
func each(stmt *sqlite.Stmt, do func() (more bool, err error)) (err error) {
	defer func() {
		if reset := stmt.Reset(); err == nil {
			err = reset
		}
	}()
	for {
		row, err := stmt.Step()
		if err != nil || !row {
			return err
		}
		if more, err := do(); err != nil || !more {
			return err
		}
	}
}

// readAdmissions reads all of a session's admissions, in the order of their making.
// Each has its number in its sum, and the row counts them: one that is lost would
// let its turn be run a second time.
func readAdmissions(conn *sqlite.Conn, r row) ([]eventlog.Admission, error) {
	stmt, err := conn.Prepare("SELECT turn, hash, sum FROM admissions WHERE place BETWEEN ? AND ? ORDER BY place")
	if err != nil {
		return nil, err
	}
	stmt.BindInt64(1, r.place(0))
	stmt.BindInt64(2, r.place(maxSeq))
	var all []eventlog.Admission
	err = each(stmt, func() (bool, error) {
		a := eventlog.Admission{TurnID: stmt.ColumnText(0)}
		n := stmt.ColumnBytes(1, a.Hash[:])
		all = append(all, a)
		if nth := int64(len(all)); n != len(a.Hash) || admitted(r.number, nth, a) != sum(stmt.ColumnInt64(2)) {
			return false, &DamageError{Session: r.session, What: fmt.Sprintf("its admission %d is not what was written", nth)}
		}
		return true, nil
	})
	if err == nil && int64(len(all)) != r.admissions {
		err = &DamageError{Session: r.session, What: fmt.Sprintf("%d of %d admissions are there", len(all), r.admissions)}
	}
	return all, err
}

// sumAt gives the sum that an event behind a seq is chained to: that of the newest
// event up to it, or the seed of the session's life.
func sumAt(conn *sqlite.Conn, r row, after int64) (before sum, err error) {
	// Events up to lost may still be on disk; they are nobody's.
	before = seed(r.session, r.lost)
	if after <= r.lost {
		return before, nil
	}
	stmt, err := conn.Prepare("SELECT sum FROM events WHERE place BETWEEN ? AND ? ORDER BY place DESC LIMIT 1")
	if err != nil {
		return 0, err
	}
	stmt.BindInt64(1, r.place(r.lost+1))
	stmt.BindInt64(2, r.place(after))
	err = each(stmt, func() (bool, error) {
		before = sum(stmt.ColumnInt64(0))
		return false, nil
	})
	return before, err
}

// readEvents gives a session's durable events in (after, upto], up to about
// maxBytes of lines, at least one where there is one. The chain is followed to the
// next event behind them, or to the session's last: none is missing unnoticed.
func readEvents(conn *sqlite.Conn, r row, after, upto int64, maxBytes int) ([]eventlog.Record, error) {
	before, err := sumAt(conn, r, after)
	if err != nil {
		return nil, err
	}
	stmt, err := conn.Prepare("SELECT place, turn, event_at, line, base, sum FROM events WHERE place BETWEEN ? AND ? ORDER BY place")
	if err != nil {
		return nil, err
	}
	stmt.BindInt64(1, r.place(max(after, r.lost)+1))
	stmt.BindInt64(2, r.place(r.last))
	// cut: more follows than was asked for; the first of it was checked, too.
	var out []eventlog.Record
	last, size, cut := max(after, r.lost), 0, false
	err = each(stmt, func() (bool, error) {
		rec := scanRecord(stmt)
		if s := chained(before, rec); s != sum(stmt.ColumnInt64(5)) {
			return false, &DamageError{Session: r.session, What: fmt.Sprintf("what follows seq %d is not what was written", last)}
		}
		before, last = sum(stmt.ColumnInt64(5)), rec.Seq
		size += len(rec.Line)
		cut = rec.Seq > upto || len(out) > 0 && size > maxBytes
		if !cut {
			out = append(out, rec)
		}
		return !cut, nil
	})
	// Where nothing was cut off, this must be the end that the row knows.
	if err == nil && !cut && (before != r.chain || last != max(r.last, after)) {
		err = &DamageError{Session: r.session, What: fmt.Sprintf("its events end at seq %d instead of %d", last, r.last)}
	}
	return out, err
}

// scanRecord reads an event. Its bytes are copied: the driver's are valid until the
// next step only, and records are kept.
func scanRecord(stmt *sqlite.Stmt) eventlog.Record {
	return eventlog.Record{Seq: stmt.ColumnInt64(0) & maxSeq, Turn: stmt.ColumnInt64(1), EventAt: int(stmt.ColumnInt64(2)),
		Line: blob(stmt, 3), Base: blob(stmt, 4), Durable: true}
}
