package sqlite

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"agent-server/eventlog"
)

// TestRemovalFaults: the nth operation of a kind, and all that follow, fail while a
// session is removed, or while its events are deleted afterwards. It is there whole, or
// gone; once the disk is well it goes, and no other session has lost anything.
func TestRemovalFaults(t *testing.T) {
	t.Parallel()
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tried := 0
			for n := int64(1); faultyRemoval(t, f.kind, f.verdict, n); n += int64(stride(f.kind)) {
				tried++
			}
			// A removal is written and synced; it cuts nothing.
			if tried == 0 && f.kind != opTruncate {
				t.Error("no place was tried")
			}
		})
	}
}

// faultyRemoval removes with faults from the nth operation on; met says whether there
// was one.
func faultyRemoval(t *testing.T, kind opKind, v verdict, n int64) (met bool) {
	t.Helper()
	fs, dir := newHookFS(t), t.TempDir()
	l := open(t, dir, Options{vfs: fs.name})
	push(t, l, "before", 1, 3)
	m, _ := cargo()
	if err := l.Import("s", m); err != nil {
		t.Fatal(err)
	}
	var count atomic.Int64
	fs.set(func(o op) verdict {
		if o.kind == kind && count.Add(1) >= n { // the keeper's operations, too
			return v
		}
		return verdict{}
	})
	failed := l.Remove("s")
	if _, _, held := l.Range("s"); held != (failed != nil) {
		t.Errorf("operation %d, removal gave %v: held is %v", n, failed, held)
	}
	if there, err := whole(l); failed != nil && (!there || err != nil) {
		t.Errorf("operation %d: a removal that failed has left %v, %v", n, there, err)
	}
	fs.set(nil)
	if failed != nil {
		if err := l.Remove("s"); err != nil {
			t.Errorf("operation %d: it still fails when the disk is well: %v", n, err)
		}
	}
	shut(t, l)
	again := open(t, dir, Options{})
	defer shut(t, again)
	if _, err := again.Open("s"); !errors.Is(err, eventlog.ErrPruned) {
		t.Errorf("operation %d: opened again: %v, want ErrPruned", n, err)
	}
	rs, err := all(again, "before")
	if err := errors.Join(err, again.Verify()); err != nil || len(rs) != 3 {
		t.Error(fmt.Errorf("operation %d: opened again: %d of 3 events of the other: %w", n, len(rs), err))
	}
	return count.Load() >= n
}
