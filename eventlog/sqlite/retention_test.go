package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"agent-server/eventlog"
)

// clock is a clock that is set by hand.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time { return time.UnixMilli(c.ms.Load()) }

// aged makes sessions s0, s1, …, each appended to an hour after the one before.
func aged(t *testing.T, n int, o Options) (*Log, *clock) {
	t.Helper()
	c := &clock{}
	c.ms.Store(1_000_000_000)
	l := open(t, t.TempDir(), Options{Now: c.now})
	for i := range n {
		push(t, l, fmt.Sprint("s", i), 1, 10)
		l.Release(fmt.Sprint("s", i))
		c.ms.Add(time.Hour.Milliseconds())
	}
	dir := l.dir
	shut(t, l)
	o.Now = c.now
	return open(t, dir, o), c
}

// held lists the sessions that are.
func held(t *testing.T, l *Log) (ids []string) {
	t.Helper()
	page, _, err := l.Sessions("", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range page {
		ids = append(ids, s.Session)
	}
	slices.Sort(ids)
	return ids
}

// TestLaw108_openIsSpared: retention lets the oldest go, by age, number and bytes,
// and never one that is open or runs.
func TestLaw108_openIsSpared(t *testing.T) {
	t.Parallel()
	one := int64(11 * (len(batch("s0", 1, 1).Records[0].Line) + recordOverhead))
	for name, o := range map[string]Options{
		"by age":    {MaxAge: 3*time.Hour + time.Minute},
		"by number": {MaxSessions: 3},
		"by bytes":  {MaxBytes: 3 * one},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, c := aged(t, 6, Options{})
			o.Now = c.now
			if _, err := l.Open("s0"); err != nil {
				t.Fatal(err)
			}
			if err := l.Append("s1", deltas("s1", 11, 1)); err != nil { // its turn runs
				t.Fatal(err)
			}
			l.Release("s1")
			want := []string{"s0", "s1", "s3", "s4", "s5"}
			if name != "by age" { // those that are spared count
				want = []string{"s0", "s1", "s5"}
			}
			if err := l.retain(o); err != nil {
				t.Fatal(err)
			}
			if got := held(t, l); !slices.Equal(got, want) {
				t.Errorf("held are %v, want %v", got, want)
			}
			if info, err := l.Open("s2"); !errors.Is(err, eventlog.ErrPruned) || info.NextSeq != 11 {
				t.Errorf("one that was let go: %+v, %v", info, err)
			}
			o.MaxAge = time.Minute
			for _, want := range [][]string{{"s0", "s1"}, {"s1"}, nil} {
				c.ms.Add(time.Hour.Milliseconds())
				if err := l.retain(o); err != nil {
					t.Fatal(err)
				}
				if got := held(t, l); !slices.Equal(got, want) {
					t.Errorf("held are %v, want %v", got, want)
				}
				if l.Release("s0"); len(want) == 1 {
					push(t, l, "s1", 12, 1) // its turn ends
					l.Release("s1")
				}
			}
		})
	}
}

// TestOpenSinceBefore: one that was not closed is spared also where this process has not
// opened it; one that was goes.
func TestOpenSinceBefore(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), &clock{}
	l := open(t, dir, Options{Now: c.now})
	for i, state := range []eventlog.State{eventlog.StateUnknown, eventlog.StateClosed, eventlog.StateIdle, eventlog.StateBusy} {
		b := batch(fmt.Sprint("s", i), 1, 1)
		b.State = state
		if err := l.Append(fmt.Sprint("s", i), b); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, l)
	c.ms.Add(time.Hour.Milliseconds())
	l = open(t, dir, Options{Now: c.now})
	if err := l.retain(Options{Now: c.now, MaxAge: time.Minute, MaxSessions: 1, MaxBytes: 1}); err != nil {
		t.Fatal(err)
	}
	if got := held(t, l); !slices.Equal(got, []string{"s2", "s3"}) {
		t.Errorf("held are %v, want those that are open", got)
	}
}

// TestRetentionAtOpen: it is applied when the log is opened.
func TestRetentionAtOpen(t *testing.T) {
	t.Parallel()
	l, _ := aged(t, 5, Options{MaxSessions: 2})
	waitFor(t, func() bool { return len(held(t, l)) == 2 })
	if got := held(t, l); !slices.Equal(got, []string{"s3", "s4"}) {
		t.Errorf("held are %v", got)
	}
}

// TestRemovedLeavesTheDisk: the events of a removed session are deleted, also those
// that were left when the log was closed; a new life's are not.
func TestRemovedLeavesTheDisk(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir(), Options{})
	for seq := int64(1); seq <= 1_000; seq += 100 {
		push(t, l, "s", seq, 100)
	}
	push(t, l, "kept", 1, 5)
	close(l.keeper.stop) // nobody deletes
	<-l.keeper.gone
	if err := l.Remove("s"); err != nil {
		t.Fatal(err)
	}
	push(t, l, "s", 1_001, 7)
	if n := rows(t, l); n != 1_012 {
		t.Fatalf("%d events are on disk, want 1,012", n)
	}
	again := open(t, copyOf(t, l.dir), Options{})
	waitFor(t, func() bool { return rows(t, again) == 12 })
	if err := again.Verify(); err != nil {
		t.Error(err)
	}
	if rs, err := all(again, "s"); err != nil || len(rs) != 7 {
		t.Errorf("the new life holds %d, %v", len(rs), err)
	}
	if err := errors.Join(l.pool.close(), l.writer.close(), l.lock.Close()); err != nil {
		t.Error(err)
	}
}

// rows counts the events on disk.
func rows(t *testing.T, l *Log) (n int64) {
	t.Helper()
	conn := <-l.pool.free
	defer func() { l.pool.free <- conn }()
	if conn == nil {
		var err error
		if conn, err = connect(l.dir+"/"+dbName, ""); err != nil {
			t.Fatal(err)
		}
	}
	stmt, err := conn.Prepare("SELECT count(*) FROM events")
	if err == nil {
		err = each(stmt, func() (bool, error) { n = stmt.ColumnInt64(0); return false, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// waitFor waits for what another goroutine does, within a bound.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("it does not come about")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestReleaseShrinks: who has closed a session leaves no window of it in memory,
// and reads the same.
func TestReleaseShrinks(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir(), Options{})
	push(t, l, "s", 1, 50)
	b := deltas("s", 51, 10)
	b.Restated = 60
	end := batch("s", 61, 1)
	end.Restated = 60
	if err := errors.Join(l.Append("s", b), l.Append("s", end)); err != nil {
		t.Fatal(err)
	}
	l.Release("s")
	l.Release("never seen")
	if n := l.sessions["s"].window.Bytes(); n != 0 {
		t.Errorf("%d bytes stay", n)
	}
	if rs, err := all(l, "s"); err != nil || len(rs) != 51 {
		t.Errorf("it reads %d events, %v", len(rs), err)
	}
}
