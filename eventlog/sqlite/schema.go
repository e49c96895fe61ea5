package sqlite

import (
	"bytes"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"agent-server/eventlog"
)

// applicationID marks the file as a session log: "AgSv".
const applicationID = 0x41675376

// migrations bring a file from each schema to the next; the file's user_version
// counts them. One that was released is never changed.
var migrations = []string{`
CREATE TABLE meta (
	name  TEXT PRIMARY KEY,
	value BLOB NOT NULL,
	sum   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
	number     INTEGER PRIMARY KEY,
	session    TEXT NOT NULL UNIQUE,
	next       INTEGER NOT NULL,
	lost       INTEGER NOT NULL,
	last       INTEGER NOT NULL,
	chain      INTEGER NOT NULL,
	admissions INTEGER NOT NULL,
	harness    TEXT NOT NULL,
	cwd        TEXT NOT NULL,
	created    INTEGER NOT NULL,
	updated    INTEGER NOT NULL,
	bytes      INTEGER NOT NULL,
	sum        INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_updated ON sessions (updated DESC, session) WHERE last > lost;

CREATE TABLE events (
	place    INTEGER PRIMARY KEY,
	turn     INTEGER NOT NULL,
	event_at INTEGER NOT NULL,
	line     BLOB NOT NULL,
	base     BLOB,
	sum      INTEGER NOT NULL
) STRICT;

CREATE TABLE admissions (
	place INTEGER PRIMARY KEY,
	turn  TEXT NOT NULL,
	hash  BLOB NOT NULL,
	sum   INTEGER NOT NULL
) STRICT;

CREATE TABLE removals (
	place INTEGER PRIMARY KEY,
	upto  INTEGER NOT NULL
) STRICT;
`,
	// What goes on in a session; 0 of those that were written before: nobody has said.
	`ALTER TABLE sessions ADD COLUMN state INTEGER NOT NULL DEFAULT 0;`,
}

// identity is what a store knows of itself.
type identity struct {
	id      string
	hashKey []byte
}

// migrate brings the file to the newest schema, a new one from nothing, and gives
// its identity. All of it is one transaction: a crash leaves the old schema or the
// new one.
//
// A file that another program has made is told by its application_id, or by a
// version without one; neither is touched.
func migrate(conn *sqlite.Conn) (identity, error) {
	have, err := pragma(conn, "user_version")
	if err != nil {
		return identity{}, err
	}
	mark, err := pragma(conn, "application_id")
	if err != nil {
		return identity{}, err
	}
	if have > int64(len(migrations)) {
		return identity{}, &NewerError{Have: int(have), Know: len(migrations)}
	}
	if have > 0 && mark != applicationID || have == 0 && mark != 0 {
		return identity{}, &DamageError{What: "the file is no session log"}
	}
	err = transact(conn, func() error {
		for _, m := range migrations[have:] {
			if err := run(conn, m); err != nil {
				return err
			}
		}
		if have == 0 {
			if err := found(conn); err != nil {
				return err
			}
		}
		return run(conn, fmt.Sprintf("PRAGMA user_version = %d", len(migrations)))
	})
	if err != nil {
		return identity{}, fmt.Errorf("migrating the session log: %w", err)
	}
	return readIdentity(conn)
}

// found gives a new store its identity. It is minted once and never again: the ids
// that clients hold, and the hashes of every admission, depend on it.
func found(conn *sqlite.Conn) error {
	id, key := eventlog.NewIdentity()
	if err := run(conn, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	for name, value := range map[string][]byte{"id": []byte(id), "hash_key": key} {
		err := sqlitex.Execute(conn, "INSERT INTO meta (name, value, sum) VALUES (?, ?, ?)",
			&sqlitex.ExecOptions{Args: []any{name, value, int64(named(name, value))}})
		if err != nil {
			return err
		}
	}
	return nil
}

// readIdentity reads what found has written.
func readIdentity(conn *sqlite.Conn) (identity, error) {
	values := map[string][]byte{}
	err := sqlitex.Execute(conn, "SELECT name, value, sum FROM meta", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			name, value := stmt.ColumnText(0), blob(stmt, 1)
			if int64(named(name, value)) != stmt.ColumnInt64(2) {
				return &DamageError{What: fmt.Sprintf("its %q is not what was written", name)}
			}
			values[name] = value
			return nil
		}})
	if err != nil {
		return identity{}, fmt.Errorf("reading the log's identity: %w", err)
	}
	ident := identity{id: string(values["id"]), hashKey: bytes.Clone(values["hash_key"])}
	if ident.id == "" || len(ident.hashKey) == 0 {
		return identity{}, &DamageError{What: "its identity is missing"}
	}
	return ident, nil
}

// pragma reads one integer.
func pragma(conn *sqlite.Conn, name string) (n int64, err error) {
	err = sqlitex.ExecuteTransient(conn, "PRAGMA "+name, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil }})
	if err != nil {
		return 0, fmt.Errorf("reading %s of the session log: %w", name, err)
	}
	return n, nil
}

// run executes statements, in whatever transaction is open. They are not kept: they
// are needed once.
func run(conn *sqlite.Conn, script string) error {
	for strings.TrimSpace(script) != "" {
		stmt, rest, err := conn.PrepareTransient(script)
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			more, err = stmt.Step()
		}
		if final := stmt.Finalize(); err == nil {
			err = final
		}
		if err != nil {
			return err
		}
		script = script[len(script)-rest:]
	}
	return nil
}

// blob copies a column; nil where it is null.
func blob(stmt *sqlite.Stmt, col int) []byte {
	if stmt.ColumnIsNull(col) {
		return nil
	}
	b := make([]byte, stmt.ColumnLen(col))
	stmt.ColumnBytes(col, b)
	return b
}
