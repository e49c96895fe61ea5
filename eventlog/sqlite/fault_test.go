package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	lib "modernc.org/sqlite/lib"
)

// faults are what a disk may answer an operation with.
var faults = map[string]struct {
	kind opKind
	verdict
}{
	"write error":    {opWrite, verdict{code: lib.SQLITE_IOERR_WRITE}},
	"full disk":      {opWrite, verdict{code: lib.SQLITE_FULL}},
	"short write":    {opWrite, verdict{code: lib.SQLITE_FULL, half: true}},
	"fsync error":    {opSync, verdict{code: lib.SQLITE_IOERR_FSYNC}},
	"truncate error": {opTruncate, verdict{code: lib.SQLITE_IOERR_TRUNCATE}},
}

// TestLaw105_faults: the nth operation of a kind fails, and either it alone or all
// that follow, until the disk is well again. The append that meets it says so and
// leaves nothing; the same one succeeds when the disk is well; nothing that was
// acknowledged is lost, to a crash at that moment neither.
func TestLaw105_faults(t *testing.T) {
	t.Parallel()
	for name, f := range faults {
		for _, stays := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", stays ", stays), func(t *testing.T) {
				t.Parallel()
				tried := 0
				for n := 1; sweepFault(t, f.kind, f.verdict, n, stays); n += stride(f.kind) {
					tried++
				}
				if tried == 0 {
					t.Error("the script has no such operation")
				}
			})
		}
	}
}

// stride thins a sweep over operations of a kind: of writes there are many.
func stride(kind opKind) int {
	if kind == opWrite && *every > 1 {
		return 8 * thin()
	}
	return thin()
}

// sweepFault works through a script with a fault at the nth operation of a kind;
// met says whether there was one.
func sweepFault(t *testing.T, kind opKind, v verdict, n int, stays bool) (met bool) {
	t.Helper()
	const length = 24
	steps := script(length)
	fs, dir := newHookFS(t), t.TempDir()
	l := open(t, dir, Options{vfs: fs.name})
	if err := frequent(l); err != nil {
		t.Fatal(err)
	}
	count := 0
	fault := func(o op) verdict {
		if o.kind != kind {
			return verdict{}
		}
		if count++; count == n || stays && count > n {
			met = true
			return v
		}
		return verdict{}
	}
	fs.set(fault)
	for i, s := range steps {
		if err := l.Append(s.session, s.batch); err == nil {
			continue
		}
		if !met {
			t.Fatalf("step %d failed before operation %d", i, n)
		}
		if err := hold(l, steps, i, i); err != nil {
			t.Errorf("%v: in the log itself: %v", n, err)
		}
		fs.set(nil)
		crashed(t, dir, steps, i)
		if err := l.Append(s.session, s.batch); err != nil {
			t.Fatalf("step %d still fails when the disk is well: %v", i, err)
		}
	}
	fs.set(nil)
	if err := hold(l, steps, length, length); err != nil {
		t.Errorf("%v: at the end: %v", n, err)
	}
	shut(t, l)
	again := open(t, dir, Options{})
	if err := errors.Join(hold(again, steps, length, length), again.Verify()); err != nil {
		t.Errorf("%v: opened again: %v", n, err)
	}
	shut(t, again)
	return met
}

// crashed opens a copy of the files as they are: what a kill at this moment leaves.
// The step that failed may be there, whole: nobody was told that it is not.
func crashed(t *testing.T, dir string, steps []scripted, acked int) {
	t.Helper()
	l := open(t, copyOf(t, dir), Options{})
	defer shut(t, l)
	if err := hold(l, steps, acked, acked+1); err != nil {
		t.Errorf("after a crash at the fault: %v", err)
	}
}

// copyOf copies a log's files, as they are, into another directory.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	for _, name := range []string{dbName, dbName + "-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// TestDurableBeforeVisible: while a step is being synced, who reads is given nothing
// of it, and the next seq is the old one.
func TestDurableBeforeVisible(t *testing.T) {
	t.Parallel()
	fs := newHookFS(t)
	l := open(t, t.TempDir(), Options{vfs: fs.name})
	push(t, l, "s", 1, 2)
	looked := 0
	fs.set(func(o op) verdict {
		if o.kind == opSync {
			looked++
			if rs, err := all(l, "s"); err != nil || len(rs) != 2 {
				t.Errorf("before the sync %d events are seen, %v", len(rs), err)
			}
			if _, last, _ := l.Range("s"); last != 2 {
				t.Errorf("before the sync the head is %d", last)
			}
		}
		return verdict{}
	})
	push(t, l, "s", 3, 2)
	fs.set(nil)
	if rs, err := all(l, "s"); looked != 1 || err != nil || len(rs) != 4 {
		t.Errorf("%d syncs, then %d events, %v", looked, len(rs), err)
	}
}
