package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"zombiezen.com/go/sqlite"

	"agent-server/eventlog"
)

// Log is an eventlog.Log on disk, with its own Identity, Catalog, Importer and Releaser.
type Log struct {
	dir    string
	o      Options
	ident  identity
	lock   *os.File
	writer writer
	pool   *pool
	keeper *keeper

	// mu guards what follows.
	mu       sync.RWMutex
	sessions map[string]*session
}

// Open opens the log in a directory, and makes both where they are not there yet.
// It fails with ErrInUse, ErrDamaged or ErrNewer where that is the reason.
func Open(dir string, o Options) (*Log, error) {
	if err := prepareDir(dir); err != nil {
		return nil, err
	}
	held, err := lock(dir)
	if err != nil {
		return nil, err
	}
	l := &Log{dir: dir, o: o.withDefaults(), lock: held, sessions: map[string]*session{}}
	if err := l.open(); err != nil {
		return nil, errors.Join(err, l.writer.close(), closeLock(held))
	}
	l.keeper = keep(l)
	return l, nil
}

// open looks through what is there, and connects to it. The order matters: once
// SQLite has opened the file it has forgotten what it could not use of the
// write-ahead log.
func (l *Log) open() error {
	path := filepath.Join(l.dir, dbName)
	if err := checkWAL(path, path+"-wal"); err != nil {
		return err
	}
	if err := create(l.dir, path); err != nil {
		return err
	}
	// The writer first: it makes a write-ahead log of a file that is new.
	conn, err := connectWriter(path, l.o.vfs)
	if err != nil {
		return err
	}
	l.writer.conn = conn
	l.pool = newPool(path, l.o.vfs)
	if l.ident, err = migrate(conn); err != nil {
		return damage("", err)
	}
	if l.writer.numbers, err = count(conn); err != nil {
		return fmt.Errorf("counting the sessions: %w", damage("", err))
	}
	return nil
}

// create makes the file, for its owner alone, where there is none. SQLite gives the
// files beside it the same mode. The directory is synced: a file whose name is lost
// with the power is lost.
func create(dir, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("making the session log: %w", err)
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Chmod(0o600), f.Close()); err != nil {
		return fmt.Errorf("making the session log: %w", err)
	}
	// SQLite would take what is shorter than any page for a new file.
	if n := info.Size(); n > 0 && n < 512 {
		return &DamageError{What: fmt.Sprintf("its file has %d bytes", n)}
	}
	return syncDir(dir)
}

// count counts the sessions that were ever seen. Their numbers are 1, 2, 3, …: one
// that is missing would have its seqs used again.
func count(conn *sqlite.Conn) (n int64, err error) {
	stmt, err := conn.Prepare(`SELECT count(*), coalesce(max(number), 0),
		coalesce((SELECT max(place) FROM events), 0) >> 40 FROM sessions NOT INDEXED`)
	if err != nil {
		return 0, err
	}
	err = each(stmt, func() (bool, error) {
		n = stmt.ColumnInt64(0)
		if highest := max(stmt.ColumnInt64(1), stmt.ColumnInt64(2)); highest != n {
			return false, &DamageError{What: fmt.Sprintf("%d of %d sessions are there", n, highest)}
		}
		return false, nil
	})
	return n, err
}

// ID implements eventlog.Identity: one a store.
func (l *Log) ID() string { return l.ident.id }

// HashKey implements eventlog.Identity: one a store.
func (l *Log) HashKey() []byte { return l.ident.hashKey }

// Durable implements eventlog.Identity: it is.
func (l *Log) Durable() bool { return true }

// Open implements eventlog.Log. The session is spared by retention from then on,
// until it is released.
func (l *Log) Open(session string) (eventlog.Info, error) {
	s, err := l.lookup(session)
	if s == nil || err != nil {
		return eventlog.Info{NextSeq: 1}, err
	}
	return s.info()
}

// Append implements eventlog.Log: durable before it returns. A batch of deltas
// alone touches no disk, but once in 1,024 numbers.
func (l *Log) Append(session string, b eventlog.Batch) error {
	s, err := l.obtain(session)
	if err != nil {
		return err
	}
	return s.append(b)
}

// Read implements eventlog.Log.
func (l *Log) Read(session string, after int64, maxBytes int) ([]eventlog.Record, error) {
	s, err := l.lookup(session)
	if s == nil || err != nil {
		return nil, err
	}
	return s.read(after, maxBytes)
}

// Range implements eventlog.Log. A session that cannot be looked at holds nothing,
// as far as it can say; Open and Read say why.
func (l *Log) Range(session string) (first, last int64, ok bool) {
	s, err := l.lookup(session)
	if s == nil || err != nil {
		return 0, 0, false
	}
	if first, last, ok = s.span(); !ok {
		return 0, 0, false
	}
	return first, last, true
}

// Release implements eventlog.Releaser.
func (l *Log) Release(session string) {
	l.mu.RLock()
	s := l.sessions[session]
	l.mu.RUnlock()
	if s != nil {
		s.release()
	}
}

// Close gives reserved numbers back, writes everything to log.db and lets it go.
// Where it fails nothing that was appended is lost: only numbers are skipped.
func (l *Log) Close() error {
	l.keeper.close()
	// The lock last: until then nobody else may look.
	return errors.Join(l.giveBack(), l.pool.close(), l.writer.close(), closeLock(l.lock))
}

// Verify reads everything and holds it to its sums: slow, and the only way to know
// of damage where nobody reads. What is damaged is said, one error each.
func (l *Log) Verify() error {
	var errs []error
	err := l.pool.with(func(conn *sqlite.Conn) error {
		rows, err := allRows(conn)
		for _, r := range rows {
			errs = append(errs, damage(r.session, verify(conn, r)))
		}
		return errors.Join(err, check(conn))
	})
	return errors.Join(damage("", err), errors.Join(errs...))
}

// giveBack gives every session's reserved numbers back, in one transaction.
func (l *Log) giveBack() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.writer.do(func(*sqlite.Conn) error {
		for _, s := range l.sessions {
			if step := s.rest(); step != nil {
				if err := l.writer.put(step); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("giving reserved numbers back: %w", err)
	}
	return nil
}

// lookup gives a session that was seen before; nil where there is none. What the
// disk has of it is read once.
func (l *Log) lookup(id string) (*session, error) {
	l.mu.RLock()
	s := l.sessions[id]
	l.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	r, known, err := l.find(id)
	if err != nil || !known {
		return nil, err
	}
	// Nobody has changed the row since: who does is in sessions first.
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sessions[id]; s != nil {
		return s, nil
	}
	s = newSession(l, r)
	l.sessions[id] = s
	return s, nil
}

// obtain is lookup, and makes a session that was never seen. Only an append does:
// who asks for sessions that do not exist leaves nothing behind.
func (l *Log) obtain(id string) (*session, error) {
	s, err := l.lookup(id)
	if s != nil || err != nil {
		return s, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sessions[id]; s != nil {
		return s, nil
	}
	s = newSession(l, newRow(id))
	l.sessions[id] = s
	return s, nil
}

// find reads a session's row; known is false of a session never seen.
func (l *Log) find(id string) (r row, known bool, err error) {
	err = l.pool.with(func(conn *sqlite.Conn) error {
		r, known, err = findRow(conn, id)
		return err
	})
	if err != nil {
		return row{}, false, fmt.Errorf("looking for session %s: %w", id, damage(id, err))
	}
	return r, known, nil
}

// events reads durable events from disk; see readEvents.
func (l *Log) events(r row, after, upto int64, maxBytes int) (rs []eventlog.Record, err error) {
	err = l.pool.with(func(conn *sqlite.Conn) error {
		rs, err = readEvents(conn, r, after, upto, maxBytes)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading session %s after seq %d: %w", r.session, after, damage(r.session, err))
	}
	return rs, nil
}

// admissions reads a session's admissions, and looks at the end of its events.
func (l *Log) admissions(r row) (all []eventlog.Admission, err error) {
	err = l.pool.with(func(conn *sqlite.Conn) error {
		if all, err = readAdmissions(conn, r); err != nil {
			return err
		}
		_, err = readEvents(conn, r, max(r.last-1, r.lost), r.last, 1)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("opening session %s: %w", r.session, damage(r.session, err))
	}
	return all, nil
}
