//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agent-server/eventlog"
)

func TestSecondOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir, Options{})
	_, err := Open(dir, Options{})
	var taken *InUseError
	if !errors.As(err, &taken) || !errors.Is(err, ErrInUse) || taken.Dir != dir || taken.PID != os.Getpid() {
		t.Fatalf("opened twice: %v", err)
	}
	if text := err.Error(); !strings.Contains(text, dir) || !strings.Contains(text, fmt.Sprint(os.Getpid())) {
		t.Errorf("the error does not say who has it: %s", text)
	}
	push(t, l, "s", 1, 1) // it is no worse for that
	shut(t, l)
	open(t, dir, Options{})
}

// TestSecondProcess: the lock is the system's, and goes with its process.
func TestSecondProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, done := runChild(t, dir, 1); done {
		t.Fatal("the child was not killed")
	}
	l := open(t, dir, Options{}) // the one that was killed has it no more
	_, err := spawn(t, fmt.Sprintf("%s=%s|0", crashEnv, dir))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", os.Getpid())) {
		t.Errorf("a second process: %v", err)
	}
	shut(t, l)
}

func TestModes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "log")
	l := open(t, dir, Options{})
	push(t, l, "s", 1, 1)
	for name, want := range map[string]os.FileMode{".": 0o700, dbName: 0o600, dbName + "-wal": 0o600, dbName + "-shm": 0o600, lockName: 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, want %v", name, info.Mode().Perm(), err, want)
		}
	}
	shut(t, l)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("a log that is closed is %v, %v, want the file and the lock", entries, err)
	}
}

func TestOpenDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	shut(t, open(t, dir, Options{}))
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("an empty directory has mode %v, %v", info.Mode(), err)
	}
	other := t.TempDir()
	err := errors.Join(os.Chmod(other, 0o755), os.WriteFile(filepath.Join(other, "mine"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other, Options{}); err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("somebody's directory: %v", err)
	}
	if info, err := os.Stat(other); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("somebody's directory has mode %v, %v", info.Mode(), err)
	}
}

// TestStrangeFiles: a file that is none of ours is left as it is.
func TestStrangeFiles(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(t *testing.T, path string) error{
		"text": func(_ *testing.T, path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("no log at all\n", 1000)), 0o600)
		},
		"another database": func(_ *testing.T, path string) error {
			return alter(path, "PRAGMA user_version = 3; CREATE TABLE t (a)")
		},
		"another's mark": func(_ *testing.T, path string) error { return alter(path, "PRAGMA application_id = 77") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, dbName)
			if err := make(t, path); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, Options{}); err == nil {
				t.Error("it is opened")
			}
		})
	}
}

func TestNewer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shut(t, open(t, dir, Options{}))
	if err := alter(filepath.Join(dir, dbName), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, Options{})
	var newer *NewerError
	if !errors.As(err, &newer) || !errors.Is(err, ErrNewer) || newer.Have != 99 || newer.Know != len(migrations) {
		t.Errorf("a log of schema 99: %v", err)
	}
}

// TestMigrationIsWhole: what a migration began and a crash has cut is begun again.
func TestMigrationIsWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := alter(filepath.Join(dir, dbName), "PRAGMA journal_mode = WAL"); err != nil {
		t.Fatal(err)
	}
	l := open(t, dir, Options{})
	push(t, l, "s", 1, 1)
}

// TestMigrationKeepsWhatIsThere: a log of the schema before is read as it was, and goes on.
func TestMigrationKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir, Options{})
	push(t, l, "s", 1, 3)
	shut(t, l)
	if err := alter(filepath.Join(dir, dbName), "ALTER TABLE sessions DROP COLUMN state; PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir, Options{})
	if rs, err := all(l, "s"); err != nil || len(rs) != 3 {
		t.Fatalf("%d events, %v", len(rs), err)
	}
	push(t, l, "s", 4, 1)
	if info, err := l.Open("s"); err != nil || info.NextSeq != 5 || info.State != eventlog.StateUnknown {
		t.Errorf("it goes on as %+v, %v", info, err)
	}
	if err := l.Verify(); err != nil {
		t.Error(err)
	}
}

// alter runs statements on a file, made where it is not there.
func alter(path, script string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	f.Close()
	conn, err := connect(path, "")
	if err != nil {
		return err
	}
	return errors.Join(run(conn, script), conn.Close())
}

// TestCloseFreesTheLock: a process that is being started holds a copy of every open
// file for a moment; a log that is closed meanwhile may be opened again at once.
func TestCloseFreesTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir, Options{})
	inherited, err := syscall.Dup(int(l.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	shut(t, l)
	shut(t, open(t, dir, Options{}))
}
