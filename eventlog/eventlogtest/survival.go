package eventlogtest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/eventlog"
)

// survival opens a log again and again: records, admissions and ranges are as they
// were, and it goes on.
func survival(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	var put []eventlog.Record
	var admitted []eventlog.Admission
	for round := range int64(4) {
		for i := range int64(10) {
			seq := 10*round + i + 1
			r := Record("s", seq, round, int(100*i))
			a := eventlog.Admission{TurnID: fmt.Sprint(seq), Hash: [32]byte{byte(seq)}}
			if err := l.Append("s", eventlog.Batch{Records: []eventlog.Record{r}, Admission: &a}); err != nil {
				t.Fatal(err)
			}
			put, admitted = append(put, r), append(admitted, a)
		}
		l = e.Reopen(t, l)
		info, err := l.Open("s")
		if err != nil {
			t.Fatal(err)
		}
		want := eventlog.Info{NextSeq: int64(len(put)) + 1, Admissions: admitted}
		if diff := cmp.Diff(want, info); diff != "" {
			t.Fatalf("round %d (-put +got):\n%s", round, diff)
		}
		if diff := cmp.Diff(put, read(t, l, "s", 0, 1500)); diff != "" {
			t.Fatalf("round %d (-put +got):\n%s", round, diff)
		}
		if first, last, ok := l.Range("s"); first != 1 || last != int64(len(put)) || !ok {
			t.Fatalf("round %d: range %d..%d %v", round, first, last, ok)
		}
	}
}

// noSkip stops in the middle of a turn's deltas.
func noSkip(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	fill(t, l, "s", 1, 1, 1, 10)
	for seq := int64(2); seq < 3_000; seq++ {
		b := eventlog.Batch{Records: []eventlog.Record{delta("s", seq, 1, 10)}, Running: 1}
		if err := l.Append("s", b); err != nil {
			t.Fatal(err)
		}
		if seq%700 == 0 {
			l = e.Reopen(t, l)
			if info, err := l.Open("s"); err != nil || info.NextSeq != seq+1 {
				t.Fatalf("stopped at %d, the next seq is %d, %v", seq, info.NextSeq, err)
			}
		}
	}
}

// survivingHoles: of a stream the durable events are left, and serve every cursor.
func survivingHoles(t *testing.T, e Engine) {
	const n = 1_000
	l := e.Open(t, 0)
	stream(t, l, "s", 1, n, nil)
	l = e.Reopen(t, l)
	for after := int64(0); after <= n; after += 33 {
		want := after/every*every + every
		for _, r := range read(t, l, "s", after, 300) {
			if r.Seq != want || !r.Durable {
				t.Fatalf("after %d comes %d, want %d", after, r.Seq, want)
			}
			want += every
		}
		if want != n+every {
			t.Fatalf("after %d the last was %d", after, want-every)
		}
	}
	stream(t, l, "s", n+1, n+150, nil)
	if got := seqs(t, l, "s", n); len(got) != 150 {
		t.Errorf("%d records after it was opened again, want all 150", len(got))
	}
}
