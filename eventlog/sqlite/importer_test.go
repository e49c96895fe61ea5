package sqlite

import (
	"errors"
	"fmt"
	"testing"

	"agent-server/eventlog"
	"agent-server/eventlog/eventlogtest"
)

// cargo is a session large enough that its import does not fit into a small cache.
func cargo() (m eventlog.Import, n int) {
	const events, numbers = 60, 90
	m = eventlog.Import{Facts: eventlog.Facts{Harness: "acp"}, CreatedAt: 1, UpdatedAt: 2, First: 1, Next: numbers + 1,
		Admissions: []eventlog.Admission{{TurnID: "t"}, {TurnID: "u"}}}
	m.Records = func(yield func(eventlog.Record, error) bool) {
		for i := range int64(events) {
			if !yield(eventlogtest.Record("s", 1+i*3/2, 1, 1_500), nil) {
				return
			}
		}
	}
	return m, events
}

// cramped gives the writer so small a cache that a large step is on disk, in part,
// long before it is committed.
func cramped(l *Log) error {
	l.writer.busy.Lock()
	defer l.writer.busy.Unlock()
	return run(l.writer.conn, "PRAGMA cache_size = 8")
}

// whole says whether an import is there: all of it, or else nothing; anything between
// is an error. The session that was there before is.
func whole(l *Log) (there bool, err error) {
	m, n := cargo()
	rs, err := all(l, "s")
	if err != nil {
		return false, err
	}
	info, err := l.Open("s")
	if err != nil {
		return false, err
	}
	before, err := all(l, "before")
	if err != nil || len(before) != 3 {
		return false, fmt.Errorf("%d of 3 events are there of the session before: %w", len(before), err)
	}
	switch {
	case len(rs) == n && info.NextSeq == m.Next && len(info.Admissions) == len(m.Admissions):
		return true, l.Verify()
	case len(rs) == 0 && info.NextSeq == 1 && len(info.Admissions) == 0:
		return false, l.Verify()
	}
	return false, fmt.Errorf("%d of %d events, %d admissions, the next seq %d", len(rs), n, len(info.Admissions), info.NextSeq)
}

// TestLaw199_importFaults: the nth operation of a kind fails within an import, once or
// from there on. The import says so, and leaves nothing, to a crash at that moment
// neither but all of it; when the disk is well it is taken.
func TestLaw199_importFaults(t *testing.T) {
	t.Parallel()
	for name, f := range faults {
		for _, stays := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", stays ", stays), func(t *testing.T) {
				t.Parallel()
				tried := 0
				for n := 1; sweepImport(t, f.kind, f.verdict, n, stays); n += stride(f.kind) {
					tried++
				}
				// 60 events of 1,500 bytes are written, synced once, and nothing is cut.
				if least := map[opKind]int{opWrite: 1, opSync: 1}[f.kind]; tried < least {
					t.Errorf("%d places were tried, want %d at least", tried, least)
				}
			})
		}
	}
}

// sweepImport imports with a fault at the nth operation of a kind; met says whether
// there was one.
func sweepImport(t *testing.T, kind opKind, v verdict, n int, stays bool) (met bool) {
	t.Helper()
	fs, dir := newHookFS(t), t.TempDir()
	l := open(t, dir, Options{vfs: fs.name})
	push(t, l, "before", 1, 3)
	if err := cramped(l); err != nil {
		t.Fatal(err)
	}
	count := 0
	fs.set(func(o op) verdict {
		if o.kind != kind {
			return verdict{}
		}
		if count++; count == n || stays && count > n {
			met = true
			return v
		}
		return verdict{}
	})
	m, _ := cargo()
	failed := l.Import("s", m)
	fs.set(nil)
	if there, err := whole(l); err != nil || there != (failed == nil) {
		t.Errorf("operation %d, import gave %v: there is %v, %v", n, failed, there, err)
	}
	if failed != nil {
		left := open(t, copyOf(t, dir), Options{})
		if _, err := whole(left); err != nil {
			t.Errorf("operation %d: after a crash: %v", n, err)
		}
		shut(t, left)
		if err := l.Import("s", m); err != nil {
			t.Errorf("operation %d: it still fails when the disk is well: %v", n, err)
		}
	}
	shut(t, l)
	again := open(t, dir, Options{})
	if there, err := whole(again); err != nil || !there {
		t.Errorf("operation %d: opened again: %v, %v", n, there, err)
	}
	shut(t, again)
	return met
}

// TestImportIsBounded: an import is on disk, in part, before its last record is asked
// for, and no reader sees any of it by then; who gives up at the end leaves nothing.
func TestImportIsBounded(t *testing.T) {
	t.Parallel()
	fs := newHookFS(t)
	l := open(t, t.TempDir(), Options{vfs: fs.name})
	push(t, l, "before", 1, 3)
	if err := cramped(l); err != nil {
		t.Fatal(err)
	}
	var written int64
	fs.set(func(o op) verdict { written += int64(len(o.data)); return verdict{} })
	m, _ := cargo()
	given, gaveUp := m.Records, errors.New("given up")
	m.Records = func(yield func(eventlog.Record, error) bool) {
		given(yield)
		if written < 50_000 {
			t.Errorf("%d bytes were written by the last record", written)
		}
		// Whoever reads the session itself waits for the import's end.
		if page, _, err := l.Sessions("", 10); err != nil || len(page) != 1 || page[0].Session != "before" {
			t.Errorf("before its end %+v is listed, %v", page, err)
		}
		if rs, err := all(l, "before"); err != nil || len(rs) != 3 {
			t.Errorf("before its end the other session gives %d events, %v", len(rs), err)
		}
		yield(eventlog.Record{}, gaveUp)
	}
	if err := l.Import("s", m); !errors.Is(err, gaveUp) {
		t.Errorf("import gave %v", err)
	}
	fs.set(nil)
	if there, err := whole(l); there || err != nil {
		t.Errorf("after it was given up: %v, %v", there, err)
	}
}
