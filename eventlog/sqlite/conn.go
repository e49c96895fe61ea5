package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// connect opens a connection to a file that is there, with what every connection
// is set to: pages are looked at before they are trusted, a schema that somebody has
// planted runs nothing, and no temporary file appears beside ours.
//
// A path is given as a URI, so that no character of it means anything.
func connect(path, vfs string) (*sqlite.Conn, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the session log: %w", err)
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}
	if vfs != "" {
		u.RawQuery = url.Values{"vfs": {vfs}}.Encode()
	}
	conn, err := sqlite.OpenConn(u.String(), sqlite.OpenReadWrite|sqlite.OpenURI)
	if err != nil {
		return nil, fmt.Errorf("opening the session log: %w", damage("", err))
	}
	if err := run(conn, "PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY"); err != nil {
		return nil, errors.Join(fmt.Errorf("setting up the session log: %w", damage("", err)), conn.Close())
	}
	return conn, nil
}

// connectWriter opens the one connection that writes. It stays open for the life of
// the Log: a connection that were opened anew after a failed commit would find the
// commit's frames whole in the write-ahead log, and take them for committed.
func connectWriter(path, vfs string) (*sqlite.Conn, error) {
	conn, err := connect(path, vfs)
	if err != nil {
		return nil, err
	}
	// Pages of what was removed can be given back to the system. A new file must
	// be told so before anything else.
	err = run(conn, "PRAGMA auto_vacuum = INCREMENTAL")
	mode := ""
	if err == nil {
		err = sqlitex.ExecuteTransient(conn, "PRAGMA journal_mode = WAL", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error { mode = stmt.ColumnText(0); return nil }})
	}
	// SQLite answers with the mode it has, and does not call another one an error.
	if err == nil && mode != "wal" {
		err = fmt.Errorf("its journal is %q, not a write-ahead log", mode)
	}
	if err == nil {
		// FULL syncs the write-ahead log at every commit; NORMAL would only when it is
		// written back. The size limit cuts what one huge step has made of it.
		err = run(conn, "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("setting up the session log: %w", damage("", err)), conn.Close())
	}
	return conn, nil
}

// transact runs a function in a transaction of its own: all of it is durable when
// it returns nil, nothing of it otherwise.
//
// The driver's own helper is not used: it panics where a rollback fails, as it may on
// a disk that fails.
func transact(conn *sqlite.Conn, do func() error) error {
	if !conn.AutocommitEnabled() { // a rollback has failed before
		if err := issue(conn, "ROLLBACK"); err != nil {
			return err
		}
	}
	// IMMEDIATE takes the write lock now, where it can fail without cost.
	err := issue(conn, "BEGIN IMMEDIATE")
	if err != nil {
		return err
	}
	if err = do(); err == nil {
		if conn.AutocommitEnabled() { // SQLite has rolled it back by itself
			return errors.New("the transaction has ended early")
		}
		err = issue(conn, "COMMIT")
	}
	if err != nil && !conn.AutocommitEnabled() {
		err = errors.Join(err, issue(conn, "ROLLBACK"))
	}
	return err
}

// issue executes a prepared, and kept, statement that has no parameters and gives no rows.
func issue(conn *sqlite.Conn, query string) error {
	stmt, err := conn.Prepare(query)
	if err != nil {
		return err
	}
	return execute(stmt)
}

// execute runs a statement that gives no rows, and makes it ready for the next time.
func execute(stmt *sqlite.Stmt) error {
	_, err := stmt.Step()
	if reset := stmt.Reset(); err == nil {
		err = reset
	}
	return err
}

// readers is how many connections read at a time; others wait for one.
const readers = 4

// pool holds connections that read. They are opened when they are needed.
type pool struct {
	path, vfs string
	// free holds a place for each connection, nil where it is not open.
	free chan *sqlite.Conn
}

// newPool is a pool without an open connection.
func newPool(path, vfs string) *pool {
	p := &pool{path: path, vfs: vfs, free: make(chan *sqlite.Conn, readers)}
	for range readers {
		p.free <- nil
	}
	return p
}

// with lends a connection, opened where it is not yet; it waits while all are lent.
// Each statement sees one state of the store, and none waits for the writer.
func (p *pool) with(do func(*sqlite.Conn) error) (err error) {
	conn := <-p.free
	defer func() { p.free <- conn }()
	if conn == nil {
		if conn, err = connect(p.path, p.vfs); err != nil {
			return err
		}
	}
	return do(conn)
}

// close waits for whoever reads, and closes all.
func (p *pool) close() error {
	var errs []error
	for range readers {
		if conn := <-p.free; conn != nil {
			errs = append(errs, conn.Close())
		}
	}
	return errors.Join(errs...)
}
