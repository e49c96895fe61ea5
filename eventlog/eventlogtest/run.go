// Package eventlogtest is the one test run that every engine of eventlog.Log
// passes. It decides what a log must promise; it refuses to know how an engine
// keeps it. Its tests run in parallel on logs of their own.
package eventlogtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/eventlog"
)

// Engine is what a run needs of an engine.
type Engine struct {
	// Open makes an empty log for one test, closed by the test's cleanup. maxBytes
	// bounds what one session may hold, where the engine prunes by turns; 0: the
	// engine's default.
	Open func(t *testing.T, maxBytes int64) eventlog.Log
	// Reopen closes such a log and opens what has survived it, to be closed by the
	// test's cleanup; nil where nothing survives.
	Reopen func(t *testing.T, l eventlog.Log) eventlog.Log
	// PrunesTurns: a session over maxBytes loses its oldest turns. Other engines
	// let only whole sessions go.
	PrunesTurns bool
}

// test is one test of the contract.
type test func(*testing.T, Engine)

// Run runs every test of the contract that concerns the engine.
func Run(t *testing.T, e Engine) {
	run(t, e, contract)
	if e.PrunesTurns {
		run(t, e, pruners)
	}
	if e.Reopen != nil {
		run(t, e, survivors)
	}
}

// run runs tests by their names.
func run(t *testing.T, e Engine, tests map[string]test) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, e) })
	}
}

// contract is for every engine, pruners for those that prune by turns, survivors
// for those that can be opened again.
var (
	contract = map[string]test{
		"order and contiguity":            order,
		"refuses a stale owner":           stale,
		"a refused batch stores naught":   atomic,
		"cursor posts":                    cursors,
		"byte budget of a read":           budget,
		"both encodings":                  encodings,
		"unseen session":                  unseen,
		"admissions":                      admissions,
		"sessions are independent":        independent,
		"concurrent append and read":      concurrent,
		"holes where deltas were":         holes,
		"no hole without a snapshot":      unrestated,
		"no hole under a reader":          unreadDeltas,
		"chained reads from every cursor": chained,
		"concurrent reads over holes":     concurrentHoles,
		"identity":                        identity,
		"catalog":                         catalog,
		"states":                          states,
		"catalog pages":                   pages,
		"removed session":                 removed,
		"imported session":                imported,
		"import is all or nothing":        importFails,
		"import over a removed session":   importAgain,
	}
	pruners = map[string]test{
		"pruning spares the running": pruning,
		"pruning spares the unread":  unread,
		"pruning spares the latest":  latest,
		"pruning gives way":          beside,
		"honest about what is gone":  gone,
	}
	survivors = map[string]test{
		"what was appended survives":      survival,
		"a clean stop skips no number":    noSkip,
		"deltas leave holes, and no more": survivingHoles,
	}
)

// Record makes a record of about size bytes that tells its seq.
func Record(session string, seq, turn int64, size int) eventlog.Record {
	head := fmt.Sprintf(`%s{"sessionId":%q,"seq":%d,"event":`, eventlog.Prefix, session, seq)
	body := fmt.Sprintf(`{"type":"x","n":%d,"pad":"%0*d"}`, seq, size, 0)
	return eventlog.Record{Seq: seq, Line: []byte(head + body + "}}\n"), EventAt: len(head), Durable: true, Turn: turn}
}

// delta makes a record that need not be kept once a snapshot restates it.
func delta(session string, seq, turn int64, size int) eventlog.Record {
	r := Record(session, seq, turn, size)
	r.Durable = false
	return r
}

// fill appends records one at a time, as a running turn.
func fill(t *testing.T, l eventlog.Log, session string, from, to, turn int64, size int) {
	t.Helper()
	for seq := from; seq <= to; seq++ {
		b := eventlog.Batch{Records: []eventlog.Record{Record(session, seq, turn, size)}, Running: turn}
		if err := l.Append(session, b); err != nil {
			t.Fatalf("append seq %d: %v", seq, err)
		}
	}
}

// seqs lists what is read after a cursor.
func seqs(t *testing.T, l eventlog.Log, session string, after int64) []int64 {
	t.Helper()
	var out []int64
	for _, r := range read(t, l, session, after, 1<<10) {
		out = append(out, r.Seq)
	}
	return out
}

// read gives every record after a cursor, a page at a time.
func read(t *testing.T, l eventlog.Log, session string, after int64, page int) []eventlog.Record {
	t.Helper()
	var out []eventlog.Record
	for {
		rs, err := l.Read(session, after, page)
		if err != nil {
			t.Fatalf("read after %d: %v", after, err)
		}
		if len(rs) == 0 {
			return out
		}
		out = append(out, rs...)
		after = rs[len(rs)-1].Seq
	}
}

// order: what was put comes back, in order, and its parts are where the record says.
func order(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	fill(t, l, "s", 1, 50, 1, 40)
	got := seqs(t, l, "s", 0)
	if len(got) != 50 {
		t.Fatalf("read %d records, want 50", len(got))
	}
	for i, seq := range got {
		if seq != int64(i+1) {
			t.Fatalf("place %d holds seq %d", i, seq)
		}
	}
	rs, _ := l.Read("s", 6, 1)
	want := fmt.Sprintf(`{"sessionId":"s","seq":7,"event":{"type":"x","n":7,"pad":"%040d"}}`, 0)
	if string(rs[0].Envelope()) != want {
		t.Fatalf("envelope %s, want %s", rs[0].Envelope(), want)
	}
	if string(rs[0].BaseEnvelope()) != want {
		t.Fatalf("base envelope %s, want %s", rs[0].BaseEnvelope(), want)
	}
	if string(rs[0].Line[rs[0].EventAt:len(rs[0].Line)-3]) != fmt.Sprintf(`{"type":"x","n":7,"pad":"%040d"}`, 0) {
		t.Fatal("EventAt does not point at the event")
	}
}

// stale: an owner whose seq is not the next one is told which is.
func stale(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	fill(t, l, "s", 1, 3, 1, 10)
	for _, seq := range []int64{1, 3, 5, 0, -1} {
		err := l.Append("s", eventlog.Batch{Records: []eventlog.Record{Record("s", seq, 1, 10)}})
		var se *eventlog.SeqError
		if !errors.As(err, &se) {
			t.Fatalf("append at %d: %v, want a SeqError", seq, err)
		}
		if se.Want != 4 || se.Got != seq || se.Session != "s" {
			t.Fatalf("SeqError %+v", se)
		}
	}
}

// atomic: of a batch with a hole nothing is stored, its admission neither.
func atomic(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	fill(t, l, "s", 1, 2, 1, 10)
	bad := eventlog.Batch{Admission: &eventlog.Admission{TurnID: "t"},
		Records: []eventlog.Record{Record("s", 3, 1, 10), Record("s", 5, 1, 10)}}
	if l.Append("s", bad) == nil {
		t.Fatal("a batch with a hole was taken")
	}
	if got := seqs(t, l, "s", 0); len(got) != 2 {
		t.Fatalf("after a refused batch the log holds %v", got)
	}
	info, err := l.Open("s")
	if err != nil || info.NextSeq != 3 || len(info.Admissions) != 0 {
		t.Fatalf("after a refused batch: %+v, %v", info, err)
	}
}

// cursors: the fence posts of a read, 0, the head, one before it and beyond.
func cursors(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	fill(t, l, "s", 1, 5, 1, 10)
	for after, want := range map[int64]int{0: 5, 1: 4, 4: 1, 5: 0, 6: 0, 99: 0} {
		if got := seqs(t, l, "s", after); len(got) != want {
			t.Errorf("after %d: %v, want %d records", after, got, want)
		}
	}
	first, last, ok := l.Range("s")
	if first != 1 || last != 5 || !ok {
		t.Errorf("range %d..%d %v", first, last, ok)
	}
}

// budget: a read gives about as much as it was asked for, and never nothing.
func budget(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	fill(t, l, "s", 1, 10, 1, 1000)
	if rs, _ := l.Read("s", 0, 1); len(rs) != 1 {
		t.Errorf("a budget of 1 gives %d records, want 1", len(rs))
	}
	if rs, _ := l.Read("s", 0, 3500); len(rs) != 3 {
		t.Errorf("a budget of 3500 gives %d records of about 1.1 kB, want 3", len(rs))
	}
}

// encodings: both encodings of a record come back, byte for byte.
func encodings(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	r := Record("s", 1, 3, 10)
	r.Base = []byte(eventlog.Prefix + `{"shown":"otherwise"}` + "}\n")
	if err := l.Append("s", eventlog.Batch{Records: []eventlog.Record{r}}); err != nil {
		t.Fatal(err)
	}
	if e.Reopen != nil {
		l = e.Reopen(t, l)
	}
	got, err := l.Read("s", 0, 10)
	if err != nil || len(got) != 1 {
		t.Fatalf("%d records, %v", len(got), err)
	}
	if diff := cmp.Diff(r, got[0]); diff != "" {
		t.Errorf("the record came back otherwise (-put +got):\n%s", diff)
	}
	if b := string(got[0].BaseEnvelope()); b != `{"shown":"otherwise"}` {
		t.Errorf("base envelope %s", b)
	}
}

// unseen: a session that nobody appended to is no error.
func unseen(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	info, err := l.Open("s")
	if err != nil || info.NextSeq != 1 || info.Admissions != nil {
		t.Errorf("open: %+v, %v", info, err)
	}
	if rs, err := l.Read("s", 0, 10); len(rs) != 0 || err != nil {
		t.Errorf("read: %v, %v", rs, err)
	}
	if _, _, ok := l.Range("s"); ok {
		t.Error("range of an unseen session is ok")
	}
}

// admissions come back in the order in which they were made, hash and all.
func admissions(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	for i, id := range []string{"a", "b"} {
		a := &eventlog.Admission{TurnID: id, Hash: [32]byte{byte(i)}}
		if err := l.Append("s", eventlog.Batch{Admission: a, Records: []eventlog.Record{Record("s", int64(i+1), int64(i+1), 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := l.Open("s")
	if err != nil || len(info.Admissions) != 2 || info.Admissions[1].TurnID != "b" || info.Admissions[1].Hash[0] != 1 {
		t.Fatalf("%+v, %v", info, err)
	}
}

// independent: one session has nothing of another.
func independent(t *testing.T, e Engine) {
	l := e.Open(t, 0)
	fill(t, l, "a", 1, 3, 1, 10)
	fill(t, l, "b", 1, 2, 1, 10)
	if a, b := len(seqs(t, l, "a", 0)), len(seqs(t, l, "b", 0)); a != 3 || b != 2 {
		t.Fatalf("a holds %d, b holds %d", a, b)
	}
}

// concurrent: readers that follow one appender miss nothing and see nothing twice.
func concurrent(t *testing.T, e Engine) {
	const n = 2000
	l := e.Open(t, 0)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for after := int64(0); after < n; {
				rs, err := l.Read("s", after, 1<<12)
				if err != nil {
					t.Errorf("read after %d: %v", after, err)
					return
				}
				for _, r := range rs {
					if r.Seq != after+1 {
						t.Errorf("after %d came %d", after, r.Seq)
						return
					}
					after = r.Seq
				}
			}
		})
	}
	fill(t, l, "s", 1, n, 1, 40)
	wg.Wait()
}
