package eventlogtest

import (
	"errors"
	"testing"

	"agent-server/eventlog"
)

// pruning: over the budget the oldest whole turns go, and never the running one.
func pruning(t *testing.T, e Engine) {
	l := e.Open(t, 20_000)
	fill(t, l, "s", 1, 10, 1, 900)
	fill(t, l, "s", 11, 15, 2, 900)
	fill(t, l, "s", 16, 60, 3, 900)
	first, last, ok := l.Range("s")
	if first != 16 || last != 60 || !ok {
		t.Fatalf("range %d..%d %v, want the running turn whole and nothing else", first, last, ok)
	}
	fill(t, l, "s", 61, 61, 4, 10)
	if first, _, _ := l.Range("s"); first != 61 {
		t.Fatalf("first %d, want the ended turn pruned by the next", first)
	}
}

// latest: the turn that has ended last stays, however large: a session that has said
// something holds something.
func latest(t *testing.T, e Engine) {
	l := e.Open(t, 20_000)
	fill(t, l, "s", 1, 40, 1, 900)
	if err := l.Append("s", eventlog.Batch{Records: []eventlog.Record{Record("s", 41, 1, 900)}}); err != nil {
		t.Fatal(err)
	}
	if first, last, ok := l.Range("s"); first != 1 || last != 41 || !ok {
		t.Errorf("range %d..%d %v, want the turn that has ended whole", first, last, ok)
	}
}

// beside: what is kept beside a session's log takes of its budget, down to an eighth.
func beside(t *testing.T, e Engine) {
	const budget = 160_000
	l := e.Open(t, budget)
	held := func(beside, from, to int64) int64 {
		for seq := from; seq <= to; seq++ {
			b := eventlog.Batch{Records: []eventlog.Record{Record("s", seq, seq, 900)}, Running: seq, Beside: beside}
			if err := l.Append("s", b); err != nil {
				t.Fatal(err)
			}
		}
		page, _, err := l.(eventlog.Catalog).Sessions("", 10)
		if err != nil || len(page) != 1 {
			t.Fatalf("%d sessions, %v", len(page), err)
		}
		return page[0].Bytes
	}
	for i, tt := range []struct{ beside, room int64 }{{0, budget}, {100_000, 60_000}, {159_999, budget / 8}, {1 << 40, budget / 8}, {0, budget}} {
		from := int64(i)*200 + 1
		if got := held(tt.beside, from, from+199); got > tt.room || got < tt.room*3/4 {
			t.Errorf("beside %d bytes the log holds %d, want about %d and no more", tt.beside, got, tt.room)
		}
	}
}

// unread: what a connection has yet to read is over no budget.
func unread(t *testing.T, e Engine) {
	l := e.Open(t, 20_000)
	cursor := int64(3)
	put := func(from, to, turn, running int64) {
		for seq := from; seq <= to; seq++ {
			b := eventlog.Batch{Records: []eventlog.Record{Record("s", seq, turn, 900)}, Running: running,
				Unread: func() int64 { return cursor + 1 }}
			if err := l.Append("s", b); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(1, 40, 1, 1)
	put(41, 41, 1, 0) // the turn's end, far over the budget
	put(42, 60, 2, 2) // and the next turn
	if got := seqs(t, l, "s", cursor); len(got) != 57 {
		t.Fatalf("a reader at %d is given %d records, want 57", cursor, len(got))
	}
	cursor = 60
	put(61, 61, 2, 2)
	if first, _, _ := l.Range("s"); first != 42 {
		t.Errorf("first %d once all is read, want the running turn alone", first)
	}
}

// gone sweeps the cursor over a log whose front was pruned, deltas among it: what
// it gives is all that is durable after the cursor, or ErrGone.
func gone(t *testing.T, e Engine) {
	l := e.Open(t, 30_000)
	const turns, each = 40, 5 // of which the second and third are deltas
	for turn := int64(1); turn <= turns; turn++ {
		for seq := each*(turn-1) + 1; seq <= each*turn; seq++ {
			r := Record("s", seq, turn, 300)
			r.Durable = seq%each != 2 && seq%each != 3
			if err := l.Append("s", eventlog.Batch{Records: []eventlog.Record{r}, Running: turn, Restated: seq}); err != nil {
				t.Fatal(err)
			}
		}
	}
	first, last, ok := l.Range("s")
	if first <= 1 || last != turns*each || !ok || (first-1)%each != 0 {
		t.Fatalf("range %d..%d %v, want whole turns pruned", first, last, ok)
	}
	for after := int64(0); after <= last+1; after++ {
		rs, err := l.Read("s", after, 10)
		switch {
		case after < first-1:
			if !errors.Is(err, eventlog.ErrGone) {
				t.Errorf("after %d: %v, want ErrGone: a durable event is gone before %d", after, err, first)
			}
		case err != nil:
			t.Errorf("after %d, held from %d: %v", after, first, err)
		case after < last && (len(rs) == 0 || rs[0].Seq != after+1):
			t.Errorf("after %d comes %v", after, rs)
		}
	}
	if info, err := l.Open("s"); info.NextSeq != last+1 || err != nil {
		t.Errorf("next seq %d, %v after pruning, want %d", info.NextSeq, err, last+1)
	}
}
