package sqlite

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"agent-server/eventlog"
	"agent-server/eventlog/eventlogtest"
)

// every thins the sweeps over all places where something may go wrong: each nth is
// tried, 1 for all of them.
var every = flag.Int("every", 7, "try each nth place of a sweep")

// slow thins them further.
var slow = 1

// thin is how many places of a sweep stand for one that is tried.
func thin() int { return *every * slow }

// frequent has the log write into its file every few pages, so that this happens
// within a short test.
func frequent(l *Log) error {
	l.writer.busy.Lock()
	defer l.writer.busy.Unlock()
	return run(l.writer.conn, "PRAGMA wal_autocheckpoint = 8")
}

// batch is a step of n durable records from a seq on; it ends its turn.
func batch(session string, from int64, n int) eventlog.Batch {
	var b eventlog.Batch
	for i := range int64(n) {
		b.Records = append(b.Records, eventlogtest.Record(session, from+i, 1, 100))
	}
	return b
}

// push appends such a step.
func push(t testing.TB, l *Log, session string, from int64, n int) {
	t.Helper()
	if err := l.Append(session, batch(session, from, n)); err != nil {
		t.Fatalf("append to %s at %d: %v", session, from, err)
	}
}

// deltas is a step of n deltas of a running turn.
func deltas(session string, from int64, n int) eventlog.Batch {
	b := batch(session, from, n)
	for i := range b.Records {
		b.Records[i].Durable = false
	}
	b.Running = 1
	return b
}

// all reads every event of a session that a log holds.
func all(l eventlog.Log, session string) (rs []eventlog.Record, err error) {
	first, _, _ := l.Range(session)
	for after := max(first-1, 0); ; {
		page, err := l.Read(session, after, 1<<20)
		if err != nil || len(page) == 0 {
			return rs, err
		}
		rs = append(rs, page...)
		after = page[len(page)-1].Seq
	}
}

// script is a workload: steps of two sessions, with admissions, deltas between,
// large events and the ends of turns. Each step's batch tells its place.
func script(steps int) []scripted {
	next := map[string]int64{"a": 1, "b": 1}
	var out []scripted
	for i := range steps {
		session := []string{"a", "b"}[i%3%2]
		b := eventlog.Batch{Running: 1, Restated: next[session] - 1}
		for j := range 1 + i%4 {
			r := eventlogtest.Record(session, next[session], int64(1+i/10), 50+i%7*700)
			r.Durable = (i+j)%3 != 0
			b.Records = append(b.Records, r)
			next[session]++
		}
		if i%10 < 2 {
			b.Admission = &eventlog.Admission{TurnID: fmt.Sprintf("%s%d", session, i), Hash: [32]byte{byte(i)}}
			b.Facts = &eventlog.Facts{Harness: "acp", Cwd: fmt.Sprint("/", i)}
		}
		if i%10 >= 8 {
			b.Records[len(b.Records)-1].Durable, b.Running = true, 0
		}
		out = append(out, scripted{session, b})
	}
	return out
}

// scripted is a step of a script.
type scripted struct {
	session string
	batch   eventlog.Batch
}

// hold checks what a log holds against a script of which `acked` steps were
// acknowledged, and at most `begun` were begun: every durable event of the first is
// there, whole steps alone of the others, the bytes are what was put, and no number
// that may have been seen is given again.
func hold(l *Log, steps []scripted, acked, begun int) error {
	for _, session := range []string{"a", "b"} {
		got, err := all(l, session)
		if err != nil {
			return err
		}
		info, err := l.Open(session)
		if err != nil {
			return err
		}
		got = slices.DeleteFunc(slices.Clone(got), func(r eventlog.Record) bool { return !r.Durable })
		if err := holdOne(got, info, steps, session, acked, begun); err != nil {
			return fmt.Errorf("session %s, %d acked, %d begun: %w", session, acked, begun, err)
		}
	}
	return nil
}

// holdOne is hold for one session.
func holdOne(got []eventlog.Record, info eventlog.Info, steps []scripted, session string, acked, begun int) error {
	at, admissions := 0, 0
	var sent int64
	for i, s := range steps[:begun] {
		if s.session != session {
			continue
		}
		there := 0
		durable := 0
		for _, r := range s.batch.Records {
			if i < acked {
				sent = r.Seq
			}
			if !r.Durable {
				continue
			}
			durable++
			if at < len(got) && got[at].Seq == r.Seq && string(got[at].Line) == string(r.Line) {
				there++
				at++
			}
		}
		if i < acked && there != durable || there != 0 && there != durable {
			return fmt.Errorf("step %d has %d of %d durable events", i, there, durable)
		}
		admitted := s.batch.Admission != nil && admissions < len(info.Admissions) && info.Admissions[admissions] == *s.batch.Admission
		if admitted {
			admissions++
		}
		if s.batch.Admission != nil && (i < acked && !admitted || durable > 0 && admitted != (there > 0)) {
			return fmt.Errorf("step %d: admitted %v, with %d of %d durable events", i, admitted, there, durable)
		}
	}
	if at != len(got) || admissions != len(info.Admissions) {
		return fmt.Errorf("%d events and %d admissions are there that nobody put", len(got)-at, len(info.Admissions)-admissions)
	}
	if info.NextSeq <= sent {
		return fmt.Errorf("the next seq is %d, and %d was sent", info.NextSeq, sent)
	}
	return nil
}
