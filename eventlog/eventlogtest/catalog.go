package eventlogtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agent-server/eventlog"
)

// states: the last state that was said holds, of a batch that says none too, until the
// session is removed. It is there for who lists and for who opens.
func states(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	seq := int64(0)
	for _, step := range []struct{ said, want eventlog.State }{
		{eventlog.StateUnknown, eventlog.StateUnknown},
		{eventlog.StateBusy, eventlog.StateBusy},
		{eventlog.StateUnknown, eventlog.StateBusy},
		{eventlog.StateIdle, eventlog.StateIdle},
		{eventlog.StateClosed, eventlog.StateClosed},
	} {
		seq++
		b := eventlog.Batch{Records: []eventlog.Record{Record("s", seq, 1, 10)}, State: step.said,
			Facts: &eventlog.Facts{Harness: fmt.Sprint("h", seq)}}
		if err := l.Append("s", b); err != nil {
			t.Fatal(err)
		}
		if e.Reopen != nil {
			l = e.Reopen(t, l)
		}
		info, err := l.Open("s")
		if sum := only(t, l); err != nil || info.State != step.want || sum.State != step.want || info.Facts != *b.Facts {
			t.Errorf("after state %d: %+v, listed as %+v, %v; want %d", step.said, info, sum, err, step.want)
		}
	}
	if err := l.(eventlog.Catalog).Remove("s"); err != nil {
		t.Fatal(err)
	}
	if info, _ := l.Open("s"); info.State != eventlog.StateUnknown || info.Facts != (eventlog.Facts{}) {
		t.Errorf("once it is removed: %+v", info)
	}
}

// identity is one a log, and lives exactly as long as Durable says.
func identity(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	id := l.(eventlog.Identity)
	if id.ID() == "" || len(id.HashKey()) < 32 {
		t.Errorf("id %q, a key of %d bytes", id.ID(), len(id.HashKey()))
	}
	other := e.Open(t, 0).(eventlog.Identity)
	if other.ID() == id.ID() || bytes.Equal(other.HashKey(), id.HashKey()) {
		t.Error("two logs have one identity")
	}
	if id.Durable() != (e.Reopen != nil) {
		t.Errorf("Durable is %v, and Reopen is %v", id.Durable(), e.Reopen != nil)
	}
	if e.Reopen == nil {
		return
	}
	name, key := id.ID(), id.HashKey()
	if again := e.Reopen(t, l).(eventlog.Identity); again.ID() != name || !bytes.Equal(again.HashKey(), key) {
		t.Error("the identity has not survived")
	}
}

// catalog: a session's line has its facts, its range, its size and its times; a batch
// without facts changes none.
func catalog(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	start := time.Now().UnixMilli()
	facts := eventlog.Facts{Harness: "acp", Cwd: "/a"}
	put := func(seq int64, f *eventlog.Facts) {
		b := eventlog.Batch{Records: []eventlog.Record{Record("s", seq, 1, 100)}, Facts: f}
		if err := l.Append("s", b); err != nil {
			t.Fatal(err)
		}
	}
	put(1, &facts)
	put(2, nil) // changes nothing of what is known
	s := only(t, l)
	if s.Session != "s" || s.Facts != facts || s.First != 1 || s.Latest != 2 || s.Bytes < 200 {
		t.Errorf("summary %+v", s)
	}
	if now := time.Now().UnixMilli(); s.CreatedAt < start || s.UpdatedAt < s.CreatedAt || s.UpdatedAt > now {
		t.Errorf("created %d, updated %d: appended between %d and %d", s.CreatedAt, s.UpdatedAt, start, now)
	}
	put(3, &eventlog.Facts{Harness: "acp", Cwd: "/b"})
	if e.Reopen != nil {
		l = e.Reopen(t, l)
	}
	if s := only(t, l); s.Facts.Cwd != "/b" || s.Latest != 3 || s.First != 1 || s.CreatedAt < start {
		t.Errorf("summary after another: %+v", s)
	}
}

// only is the log's one session.
func only(t *testing.T, l eventlog.Log) eventlog.Summary {
	t.Helper()
	page, next, err := l.(eventlog.Catalog).Sessions("", 10)
	if err != nil || next != "" || len(page) != 1 {
		t.Fatalf("sessions: %+v, next %q, %v", page, next, err)
	}
	return page[0]
}

// pages walks a catalog while one of its sessions is updated: that one moves, no
// other is missed or comes twice.
func pages(t *testing.T, e Engine) {
	const n = 10
	l := e.Open(t, 0)
	for i := range n {
		fill(t, l, fmt.Sprintf("s.%d", i), 1, 1, 1, 10)
	}
	var got []string
	for cursor, round := "", 0; ; round++ {
		page, next, err := l.(eventlog.Catalog).Sessions(cursor, 3)
		if err != nil || len(page) > 3 || round > n {
			t.Fatalf("page %d: %d sessions, %v", round, len(page), err)
		}
		for i, s := range page {
			if i > 0 && s.UpdatedAt > page[i-1].UpdatedAt {
				t.Errorf("%s was updated after %s, and follows it", s.Session, page[i-1].Session)
			}
			got = append(got, s.Session)
		}
		if next == "" {
			break
		}
		fill(t, l, got[0], int64(round+2), int64(round+2), 1, 10)
		cursor = next
	}
	slices.Sort(got)
	if all := strings.Join(got, " "); len(slices.Compact(got)) != n || strings.Count(all, " ") != n-1 {
		t.Errorf("the pages gave %s", all)
	}
	if _, _, err := l.(eventlog.Catalog).Sessions("nonsense", 3); !errors.Is(err, eventlog.ErrCursor) {
		t.Errorf("a cursor that nobody gave: %v", err)
	}
}

// removed: a removed session is gone for readers, in the catalog and in its
// admissions; its numbers go on, also after a reopen, and its new life is whole.
func removed(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	c := l.(eventlog.Catalog)
	fill(t, l, "s", 1, 20, 1, 10)
	fill(t, l, "kept", 1, 1, 1, 10)
	a := eventlog.Batch{Admission: &eventlog.Admission{TurnID: "t"}, Records: []eventlog.Record{Record("s", 21, 2, 10)}}
	if err := errors.Join(l.Append("s", a), c.Remove("s"), c.Remove("s"), c.Remove("never seen")); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		info, err := l.Open("s")
		if !errors.Is(err, eventlog.ErrPruned) || info.NextSeq != 22 || len(info.Admissions) != 0 {
			t.Errorf("open: %+v, %v", info, err)
		}
		if _, err := l.Read("s", 5, 10); !errors.Is(err, eventlog.ErrGone) {
			t.Errorf("read: %v", err)
		}
		if _, _, ok := l.Range("s"); ok {
			t.Error("range of a removed session is ok")
		}
		if s := only(t, l); s.Session != "kept" {
			t.Errorf("%+v is listed", s)
		}
	}
	check()
	if e.Reopen != nil {
		l = e.Reopen(t, l)
		check()
	}
	fill(t, l, "s", 22, 23, 3, 10) // its numbers go on
	if got := seqs(t, l, "s", 21); len(got) != 2 {
		t.Errorf("a new life gives %v", got)
	}
	if _, err := l.Read("s", 20, 10); !errors.Is(err, eventlog.ErrGone) {
		t.Errorf("read of the old life: %v", err)
	}
	if info, err := l.Open("s"); err != nil || info.NextSeq != 24 {
		t.Errorf("open of the new life: %+v, %v", info, err)
	}
	if first, last, ok := l.Range("s"); first != 22 || last != 23 || !ok {
		t.Errorf("range of the new life: %d..%d %v", first, last, ok)
	}
}
