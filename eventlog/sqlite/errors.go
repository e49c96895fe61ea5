package sqlite

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
)

// ErrInUse is returned by Open, as an *InUseError, while another Log, of this
// process or another one, has the directory.
var ErrInUse = errors.New("session log is in use")

// InUseError says who has the log.
type InUseError struct {
	// Dir is the directory.
	Dir string
	// PID is the process that has it; 0: it has not said.
	PID int
}

// Error names both.
func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("session log in %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("session log in %s is in use by process %d", e.Dir, e.PID)
}

// Is makes it ErrInUse.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// ErrDamaged is returned, as a *DamageError, for what is not what was written.
var ErrDamaged = errors.New("session log is damaged")

// DamageError says what is damaged. Nothing of it is given out.
type DamageError struct {
	// Session is the session concerned; "": the store itself.
	Session string
	// What is wrong, and where.
	What string
}

// Error says it.
func (e *DamageError) Error() string {
	if e.Session == "" {
		return "session log is damaged: " + e.What
	}
	return fmt.Sprintf("log of session %s is damaged: %s", e.Session, e.What)
}

// Is makes it ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// ErrNewer is returned by Open, as a *NewerError, for a log that a newer version
// has written.
var ErrNewer = errors.New("session log was written by a newer version")

// NewerError says which schema was found, and which is the newest one known.
type NewerError struct {
	// Have is the file's schema.
	Have int
	// Know is the newest one that this version knows.
	Know int
}

// Error names both.
func (e *NewerError) Error() string {
	return fmt.Sprintf("session log has schema %d, written by a newer version: this one knows %d", e.Have, e.Know)
}

// Is makes it ErrNewer.
func (e *NewerError) Is(target error) bool { return target == ErrNewer }

// damage makes a *DamageError of what SQLite itself finds malformed; other errors
// stay.
func damage(session string, err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return &DamageError{Session: session, What: err.Error()}
	}
	return err
}
