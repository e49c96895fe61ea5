package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The files in a log's directory that are ours; SQLite's stand beside log.db.
const (
	dbName   = "log.db"
	lockName = "lock"
)

// prepareDir makes the directory, for its owner alone. One that others may enter
// is narrowed if it is empty or a log's already; any other is somebody's, and
// refused.
func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the log's directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("looking at the log's directory: %w", err)
	}
	if private(info) {
		return nil
	}
	// A directory like /tmp, given by mistake, must not be closed to everybody.
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking into the log's directory: %w", err)
	}
	for _, e := range entries {
		if e.Name() == dbName {
			entries = nil
			break
		}
	}
	if len(entries) > 0 {
		return fmt.Errorf("directory %s has mode %04o and other files in it: a session log needs one of mode 0700", dir, info.Mode().Perm())
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("closing the log's directory to others: %w", err)
	}
	return nil
}

// lock takes the directory for this Log alone. It is let go by the system, however
// the process ends; what the file says is only who to blame.
func lock(dir string) (*os.File, error) {
	name := filepath.Join(dir, lockName)
	f, err := openLock(name)
	if errors.Is(err, errTaken) {
		return nil, &InUseError{Dir: dir, PID: holder(name)}
	}
	if err != nil {
		return nil, fmt.Errorf("locking the session log: %w", err)
	}
	if err := errors.Join(f.Truncate(0), sign(f)); err != nil {
		_ = closeLock(f) // the error at hand says more
		return nil, fmt.Errorf("signing the session log's lock: %w", err)
	}
	return f, nil
}

// sign writes who has the lock, for whoever meets it. Nobody goes by it.
func sign(f *os.File) error {
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holder reads who has the lock; 0 where that cannot be known: it may have been taken
// this moment, and not be signed yet.
func holder(name string) int {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return pid
}

// syncDir makes a new name in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("syncing the log's directory: %w", err)
	}
	defer d.Close()
	if err := syncOpenDir(d); err != nil {
		return fmt.Errorf("syncing the log's directory: %w", err)
	}
	return nil
}
