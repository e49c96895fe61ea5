package eventlogtest

import (
	"sync"
	"testing"

	"agent-server/eventlog"
)

// every is how often stream's record is durable.
const every = 100

// stream appends from..to as one running turn: deltas, each hundredth record a
// durable event that restates what stands before it.
func stream(t *testing.T, l eventlog.Log, session string, from, to int64, unread func() int64) {
	t.Helper()
	for seq := from; seq <= to; seq++ {
		r := delta(session, seq, 1, 40)
		r.Durable = seq%every == 0
		b := eventlog.Batch{Records: []eventlog.Record{r}, Running: 1, Restated: seq - seq%every, Unread: unread}
		if err := l.Append(session, b); err != nil {
			t.Fatalf("append seq %d: %v", seq, err)
		}
	}
}

// judge holds what a reader from a cursor was given to the contract: order, every
// durable event, and no hole in the newest part of the window.
func judge(t *testing.T, got []eventlog.Record, after, head int64) {
	t.Helper()
	durable, held, last := after/every*every, int64(0), after
	for _, r := range got {
		if r.Seq <= last {
			t.Fatalf("after %d came %d", last, r.Seq)
		}
		last = r.Seq
		if r.Durable {
			if durable += every; r.Seq != durable {
				t.Fatalf("the durable event %d came, want %d", r.Seq, durable)
			}
		}
		if r.Seq > head-eventlog.WindowRecords/2 {
			held++
		}
	}
	if durable != head/every*every && after < head {
		t.Fatalf("after %d the last durable event was %d of %d", after, durable, head)
	}
	if want := min(eventlog.WindowRecords/2, max(head-after, 0)); held != want {
		t.Fatalf("after %d the newest part gave %d records, want %d", after, held, want)
	}
}

// holes: of a long stream every durable event is left, and the newest part whole.
func holes(t *testing.T, e Engine) {
	const n = 20_000
	l := e.Open(t, 0)
	stream(t, l, "s", 1, n, nil)
	got := read(t, l, "s", 0, 1<<16)
	judge(t, got, 0, n)
	if most := eventlog.WindowRecords + n/every; len(got) > most {
		t.Errorf("%d records are held, want %d at most", len(got), most)
	}
	if first, last, ok := l.Range("s"); first != 1 || last != n || !ok {
		t.Errorf("range %d..%d %v: no durable event is gone", first, last, ok)
	}
	if info, err := l.Open("s"); err != nil || info.NextSeq != n+1 {
		t.Errorf("next seq %d, %v", info.NextSeq, err)
	}
}

// unrestated: a delta that no snapshot restates is nowhere else, and stays.
func unrestated(t *testing.T, e Engine) {
	const n = 2 * eventlog.WindowRecords
	l := e.Open(t, 0)
	for seq := int64(1); seq <= n; seq++ {
		if err := l.Append("s", eventlog.Batch{Records: []eventlog.Record{delta("s", seq, 1, 10)}, Running: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if got := seqs(t, l, "s", 0); len(got) != n {
		t.Errorf("%d of %d deltas are held that no snapshot restates", len(got), n)
	}
}

// unreadDeltas: what a connection has yet to read stays, deltas too, and is asked for
// only when something has to go; once it is read it goes.
func unreadDeltas(t *testing.T, e Engine) {
	const n = 3 * eventlog.WindowRecords
	l := e.Open(t, 0)
	cursor, asked := int64(150), 0
	unread := func() int64 { asked++; return cursor + 1 }
	stream(t, l, "s", 1, eventlog.WindowRecords/2, unread)
	if asked > 0 {
		t.Errorf("Unread was asked %d times, and nothing had to go", asked)
	}
	stream(t, l, "s", eventlog.WindowRecords/2+1, n, unread)
	if got := seqs(t, l, "s", cursor); len(got) != int(n-cursor) {
		t.Fatalf("a reader at %d is given %d records, want all %d", cursor, len(got), n-cursor)
	}
	cursor = n
	stream(t, l, "s", n+1, n+eventlog.WindowRecords, unread)
	if got := seqs(t, l, "s", 0); len(got) > eventlog.WindowRecords+2*n/every {
		t.Errorf("%d records are held once all is read", len(got))
	}
}

// chained reads a log with holes from every cursor, in pages of a few records.
func chained(t *testing.T, e Engine) {
	const n = eventlog.WindowRecords + 2_500
	l := e.Open(t, 0)
	stream(t, l, "s", 1, n, nil)
	whole := read(t, l, "s", 0, 1<<20)
	at := 0 // the first of whole beyond the cursor
	for after := int64(0); after <= n+1; after++ {
		for at < len(whole) && whole[at].Seq <= after {
			at++
		}
		rs, err := l.Read("s", after, 500)
		if err != nil {
			t.Fatalf("read after %d: %v", after, err)
		}
		if want := len(whole) - at; want > 0 && len(rs) == 0 || len(rs) > want {
			t.Fatalf("after %d come %d records of %d", after, len(rs), want)
		}
		for i, r := range rs {
			if w := whole[at+i]; r.Seq != w.Seq || string(r.Line) != string(w.Line) {
				t.Fatalf("after %d, place %d: seq %d, want %d", after, i, r.Seq, w.Seq)
			}
		}
	}
}

// concurrentHoles reads from several cursors while the window moves on: of each
// reader nothing durable is kept, and nothing comes twice.
func concurrentHoles(t *testing.T, e Engine) {
	const n = 20_000
	l := e.Open(t, 0)
	var wg sync.WaitGroup
	for i := range int64(3) {
		wg.Go(func() {
			durable := int64(0)
			for after := int64(0); after < n; {
				rs, err := l.Read("s", after, 1<<(10+2*i))
				if err != nil {
					t.Errorf("read after %d: %v", after, err)
					return
				}
				for _, r := range rs {
					if r.Durable {
						durable += every
					}
					if r.Seq <= after || r.Durable && r.Seq != durable {
						t.Errorf("after %d came %d, the last durable one being %d", after, r.Seq, durable)
						return
					}
					after = r.Seq
				}
			}
		})
	}
	stream(t, l, "s", 1, n, nil)
	wg.Wait()
}
