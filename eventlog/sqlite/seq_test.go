package sqlite

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agent-server/eventlog"
	"agent-server/eventlog/eventlogtest"
)

func TestReserve(t *testing.T) {
	t.Parallel()
	delta := func(seq int64) eventlog.Batch {
		return eventlog.Batch{Running: 1, Records: []eventlog.Record{{Seq: seq}}}
	}
	event := func(seq, running int64) eventlog.Batch {
		return eventlog.Batch{Running: running, Records: []eventlog.Record{{Seq: seq - 1}, {Seq: seq, Durable: true}}}
	}
	for _, tt := range []struct {
		name       string
		next, want int64
		batch      eventlog.Batch
	}{
		{"nothing is said", 5, 5, eventlog.Batch{}},
		{"the first of a block is needed", 5, 5 + blockSize, delta(5)},
		{"one within the block", 5 + blockSize, 5 + blockSize, delta(6)},
		{"the last of the block", 5 + blockSize, 5 + blockSize, delta(4 + blockSize)},
		{"the first of the next block", 5 + blockSize, 5 + 2*blockSize, delta(5 + blockSize)},
		{"an event takes none ahead", 5, 7, event(6, 1)},
		{"an event within the block leaves it", 1029, 1029, event(50, 1)},
		{"the end of a turn gives the rest back", 1029, 51, event(50, 0)},
		{"a step larger than a block", 5, 5_001, delta(5_000)},
	} {
		if got := reserve(tt.next, tt.batch); got != tt.want {
			t.Errorf("%s: from %d to %d, want %d", tt.name, tt.next, got, tt.want)
		}
	}
}

// TestLaw102_seqNeverAgain: after a kill at any step the next seq is above all that
// was appended; in a session that is idle, and after a clean stop, it is the very
// next one.
func TestLaw102_seqNeverAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir, Options{})
	next := int64(1)
	put := func(b eventlog.Batch) {
		t.Helper()
		if err := l.Append("s", b); err != nil {
			t.Fatal(err)
		}
		next += int64(len(b.Records))
	}
	after := func(dir string) int64 {
		t.Helper()
		again := open(t, dir, Options{})
		defer shut(t, again)
		info, err := again.Open("s")
		if err != nil {
			t.Fatal(err)
		}
		if _, last, _ := again.Range("s"); last != info.NextSeq-1 {
			t.Errorf("the head is %d, the next seq %d", last, info.NextSeq)
		}
		return info.NextSeq
	}
	idle := func(what string) {
		t.Helper()
		if got := after(copyOf(t, dir)); got != next {
			t.Errorf("%s and a kill the next seq is %d, want %d", what, got, next)
		}
	}
	put(batch("s", next, 3))
	idle("after a turn")
	for range 3 {
		started := batch("s", next, 1)
		started.Running = 1
		put(started)
		idle("after a turn's first event")
		for range 7 {
			put(deltas("s", next, 200))
			got := after(copyOf(t, dir))
			if got < next || got > next+blockSize {
				t.Errorf("after a kill at %d the next seq is %d", next, got)
			}
		}
		put(batch("s", next, 1))
		idle("after the turn's end")
	}
	put(deltas("s", next, 5))
	shut(t, l)
	if got := after(dir); got != next {
		t.Errorf("after a clean stop the next seq is %d, want %d", got, next)
	}
}

// TestDeltasTouchNoDisk: within a block nothing is written, and no delta ever is.
func TestDeltasTouchNoDisk(t *testing.T) {
	t.Parallel()
	fs := newHookFS(t)
	l := open(t, t.TempDir(), Options{vfs: fs.name})
	push(t, l, "s", 1, 1)
	ops, syncs := 0, 0
	fs.set(func(o op) verdict {
		if ops++; o.kind == opSync {
			syncs++
		}
		return verdict{}
	})
	seq := int64(2)
	put := func(n int) {
		t.Helper()
		for range n {
			if err := l.Append("s", deltas("s", seq, 1)); err != nil {
				t.Fatal(err)
			}
			seq++
		}
	}
	put(1)
	if syncs != 1 {
		t.Errorf("the first of a block cost %d syncs, want 1", syncs)
	}
	ops = 0
	put(blockSize - 1)
	if ops != 0 {
		t.Errorf("the deltas of a block cost %d operations", ops)
	}
	put(1)
	if syncs != 2 {
		t.Errorf("the first of the next block: %d syncs, want 2", syncs)
	}
	fs.set(nil)
	if rs, err := l.Read("s", 1, 1<<20); err != nil || len(rs) == 0 || rs[0].Durable {
		t.Errorf("who reads now is given %d deltas, %v", len(rs), err)
	}
}

// TestGroupCommit: appends that come together share a sync.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	const sessions, each = 16, 10
	fs := newHookFS(t)
	l := open(t, t.TempDir(), Options{vfs: fs.name})
	var syncs atomic.Int64
	gate := make(chan struct{})
	fs.set(func(o op) verdict {
		if o.kind == opSync && syncs.Add(1) == 1 {
			<-gate // the first sync takes until all have come
		}
		return verdict{}
	})
	var wg sync.WaitGroup
	writes := func(i int) {
		for seq := int64(1); seq <= each; seq++ {
			if err := l.Append(fmt.Sprint("s", i), batch(fmt.Sprint("s", i), seq, 1)); err != nil {
				t.Error(err)
			}
		}
	}
	wg.Go(func() { writes(0) })
	for syncs.Load() == 0 { // alone: with it nobody else is in that sync
		time.Sleep(time.Millisecond)
	}
	for i := range sessions - 1 {
		wg.Go(func() { writes(i + 1) })
	}
	for waiting := 0; waiting < sessions-1; time.Sleep(time.Millisecond) {
		l.writer.mu.Lock()
		waiting = len(l.writer.queue)
		l.writer.mu.Unlock()
	}
	close(gate)
	wg.Wait()
	fs.set(nil)
	if n := syncs.Load(); n > sessions*each-(sessions-2) {
		t.Errorf("%d appends cost %d syncs: the %d that waited together share one", sessions*each, n, sessions-1)
	}
	for i := range sessions {
		if rs, err := all(l, fmt.Sprint("s", i)); err != nil || len(rs) != each {
			t.Errorf("session %d holds %d, %v", i, len(rs), err)
		}
	}
}

// TestGroupFault: of steps that share a transaction one cannot be written; the
// others are.
func TestGroupFault(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir(), Options{})
	push(t, l, "good", 1, 1)
	steps := make([]*request, 3)
	for i, session := range []string{"a", "b", "good"} {
		r := newRow(session)
		s, err := r.plan(batch(session, 1, 1), 1)
		if err != nil {
			t.Fatal(err)
		}
		steps[i] = &request{step: s}
	}
	steps[1].step.row.session = "good" // there is one of this name
	steps[2].step.row.session = "c"
	l.writer.queue = steps
	l.writer.busy.Lock()
	l.writer.flush()
	l.writer.busy.Unlock()
	if steps[0].err != nil || steps[1].err == nil || steps[2].err != nil {
		t.Errorf("the three got %v, %v, %v", steps[0].err, steps[1].err, steps[2].err)
	}
	push(t, l, "d", 1, 1)
	dir := l.dir
	shut(t, l)
	again := open(t, dir, Options{}) // counts the sessions
	if page, _, err := again.Sessions("", 0); err != nil || len(page) != 4 {
		t.Errorf("%d sessions, %v", len(page), err)
	}
}

// TestLastSeq: the numbers end before a place could be another session's.
func TestLastSeq(t *testing.T) {
	t.Parallel()
	r := newRow("s")
	b := eventlog.Batch{Records: []eventlog.Record{eventlogtest.Record("s", maxSeq, 1, 1)}}
	if _, err := r.plan(b, 1); err == nil {
		t.Error("the last number of all is taken")
	}
}
