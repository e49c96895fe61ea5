package eventlog

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

// delta is a record of about size bytes; durable where it says so.
func delta(seq int64, size int, durable bool) Record {
	return Record{Seq: seq, Line: make([]byte, size), Durable: durable, Turn: 1}
}

// put adds one record and trims.
func put(w *Window, r Record, restated int64, unread func() int64) []Record {
	b := Batch{Records: []Record{r}, Restated: restated, Unread: unread}
	w.Add(b)
	return w.Trim()
}

func TestWindowBounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		size int
	}{{"records", 10}, {"bytes", 20 << 10}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var w Window
			for seq := int64(1); seq <= 20_000; seq++ {
				put(&w, delta(seq, tt.size, false), seq, nil)
				if w.Bytes() > WindowBytes || w.shelf.count > WindowRecords {
					t.Fatalf("at seq %d it holds %d records, %d bytes", seq, w.shelf.count, w.Bytes())
				}
			}
			if w.Bytes() < WindowBytes/2 && w.shelf.count < WindowRecords/2 {
				t.Errorf("it holds only %d records, %d bytes", w.shelf.count, w.Bytes())
			}
			rs := w.After(w.Floor(), 1)
			if len(rs) != 1 || rs[0].Seq != w.Floor()+1 {
				t.Errorf("after the floor %d come %v", w.Floor(), rs)
			}
		})
	}
}

// TestWindowStops at what must stay: a delta that nothing restates, and what
// somebody has yet to read; and goes on when it may.
func TestWindowStops(t *testing.T) {
	t.Parallel()
	var w Window
	restated, unread := int64(100), int64(5_000)
	asked := 0
	read := func() int64 { asked++; return unread }
	for seq := int64(1); seq <= WindowRecords; seq++ {
		put(&w, delta(seq, 10, false), restated, read)
	}
	if asked != 0 {
		t.Errorf("Unread was asked %d times though nothing had to go", asked)
	}
	for seq := int64(WindowRecords + 1); seq <= 10_000; seq++ {
		put(&w, delta(seq, 10, false), restated, read)
	}
	if w.Floor() != 100 {
		t.Errorf("the floor is %d: deltas up to 100 are restated", w.Floor())
	}
	restated = 10_000
	for seq := int64(10_001); seq <= 12_000; seq++ {
		put(&w, delta(seq, 10, false), restated, read)
	}
	if w.Floor() != unread-1 {
		t.Errorf("the floor is %d: from %d on it is unread", w.Floor(), unread)
	}
	if asked > 50 {
		t.Errorf("Unread was asked %d times for 12,000 records", asked)
	}
	unread = 13_000
	for seq := int64(12_001); seq <= 13_000; seq++ {
		put(&w, delta(seq, 10, false), seq, read)
	}
	if w.shelf.count > WindowRecords {
		t.Errorf("%d records stay though all is read", w.shelf.count)
	}
}

// TestWindowGivesTheDurable: what leaves it and must not be lost is handed back,
// once, in order.
func TestWindowGivesTheDurable(t *testing.T) {
	t.Parallel()
	var w Window
	var got []int64
	for seq := int64(1); seq <= 10_000; seq++ {
		for _, r := range put(&w, delta(seq, 10, seq%100 == 0), seq, nil) {
			got = append(got, r.Seq)
		}
	}
	for i, seq := range got {
		if seq != int64(i+1)*100 {
			t.Fatalf("place %d holds seq %d", i, seq)
		}
	}
	if want := w.Floor() / 100; int64(len(got)) != want {
		t.Errorf("%d durable records were handed back up to the floor %d, want %d", len(got), w.Floor(), want)
	}
}

// TestWindowShrinks: where nothing goes on, what may go goes, and no more.
func TestWindowShrinks(t *testing.T) {
	t.Parallel()
	var w Window
	for seq := int64(1); seq <= 100; seq++ {
		put(&w, delta(seq, 10, seq%10 == 0), 50, func() int64 { return 35 })
	}
	if durable := w.Shrink(); len(durable) != 3 || w.Floor() != 34 || w.Len() != 66 {
		t.Errorf("Shrink hands back %d, to the floor %d: 35 is unread; %d are left", len(durable), w.Floor(), w.Len())
	}
	put(&w, delta(101, 10, true), 50, nil)
	if durable := w.Shrink(); len(durable) != 2 || w.Floor() != 50 {
		t.Errorf("Shrink hands back %d, to the floor %d: 51 is restated by nothing", len(durable), w.Floor())
	}
}

func TestWindowBegins(t *testing.T) {
	t.Parallel()
	var w Window
	put(&w, delta(1, 10, true), 0, nil)
	w.Begin(41)
	put(&w, delta(42, 10, true), 0, nil)
	if rs := w.After(0, 100); len(rs) != 1 || rs[0].Seq != 42 || w.Floor() != 41 {
		t.Errorf("after Begin(41): %v, floor %d", rs, w.Floor())
	}
	if durable := w.Drop(50); durable != 42 || w.Bytes() != 0 || w.Floor() != 50 {
		t.Errorf("Drop(50) gives %d, %d bytes and the floor %d stay", durable, w.Bytes(), w.Floor())
	}
}

// TestFloodIsBounded: a running turn of half a million deltas, with a durable event
// in every slab, holds a bounded number of slabs. Slabs are counted by their end,
// not by the log's own sums: what keeps them alive may be anything.
func TestFloodIsBounded(t *testing.T) {
	t.Parallel()
	const slabSize, n = 64 << 10, 500_000
	var made, freed atomic.Int64
	var slab []byte
	line := func(size int) []byte {
		if cap(slab)-len(slab) < size {
			slab = make([]byte, 0, slabSize)
			runtime.AddCleanup(&slab[:1][0], func(int) { freed.Add(1) }, 0)
			made.Add(1)
		}
		from := len(slab)
		slab = slab[:from+size]
		return slab[from:len(slab):len(slab)]
	}
	m := NewMemory(MemoryOptions{})
	for seq := int64(1); seq <= n; seq++ {
		r := Record{Seq: seq, Line: line(300), Durable: seq%200 == 1, Turn: 1}
		b := Batch{Records: []Record{r}, Running: 1, Restated: seq - seq%200}
		if err := m.Append("s", b); err != nil {
			t.Fatal(err)
		}
	}
	const bound = WindowBytes/slabSize + 32
	for range 20 {
		if runtime.GC(); made.Load()-freed.Load() <= bound {
			break
		}
	}
	if held := made.Load() - freed.Load(); held > bound {
		t.Errorf("%d of %d slabs are held, want %d at most", held, made.Load(), bound)
	}
	s := m.lookup("s")
	if most := int64(WindowBytes + n/200*(300+recordOverhead)); s.bytes() > most {
		t.Errorf("it counts %d bytes, want %d at most", s.bytes(), most)
	}
	if rs, err := m.Read("s", 0, 1<<20); err != nil || rs[0].Seq != 1 || rs[1].Seq != 201 {
		t.Errorf("reading from the start: %v", err)
	}
	runtime.KeepAlive(m)
}

func TestShelf(t *testing.T) {
	t.Parallel()
	var s shelf
	for seq := int64(1); seq <= 2_000; seq++ {
		s.push(Record{Seq: 2 * seq, Line: make([]byte, 1000), Turn: seq / 500})
	}
	for after := int64(-1); after < 4_005; after++ {
		want := max(after/2*2+2, 2)
		rs := s.after(after)
		if want > 4_000 && len(rs) > 0 || want <= 4_000 && (len(rs) == 0 || rs[0].Seq != want) {
			t.Fatalf("after %d comes %v, want %d", after, rs[:min(len(rs), 1)], want)
		}
	}
	if end, all := s.endOf(0); end != 998 || all {
		t.Errorf("turn 0 ends at %d, %v", end, all)
	}
	held := s.after(0)
	first := fmt.Sprint(held[0].Seq, len(held))
	s.dropUpTo(3_999)
	if end, all := s.endOf(4); end != 4_000 || !all || s.count != 1 || s.bytes != 1000+recordOverhead {
		t.Errorf("what is left ends at %d, %v: %d records, %d bytes", end, all, s.count, s.bytes)
	}
	if now := fmt.Sprint(held[0].Seq, len(held)); now != first {
		t.Errorf("a reader's slice was %s and is %s", first, now)
	}
	s.drop()
	if _, ok := s.front(); ok || len(s.after(0)) > 0 {
		t.Error("an empty shelf gives something")
	}
}

func TestCatalogPages(t *testing.T) {
	t.Parallel()
	var all []Summary
	for i := range 10 {
		all = append(all, Summary{Session: fmt.Sprint("s.", i), UpdatedAt: int64(i / 2)})
	}
	var got string
	cursor := ""
	for {
		page, next, err := pageOf(append([]Summary(nil), all...), cursor, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page {
			got += s.Session[2:]
		}
		if next == "" {
			break
		}
		cursor = next
	}
	if got != "8967452301" {
		t.Errorf("pages give %s", got)
	}
	for _, bad := range []string{"x", "7", "x.y"} {
		if _, _, err := pageOf(all, bad, 3); err != ErrCursor {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
}
