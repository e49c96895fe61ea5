package sqlite

import (
	"fmt"
	"testing"

	"agent-server/eventlog"
	"agent-server/eventlog/eventlogtest"
)

// records are n records of about 320 bytes.
func records(n int) []eventlog.Record {
	out := make([]eventlog.Record, n)
	for i := range out {
		out[i] = eventlogtest.Record("s", 1, 1, 180)
		out[i].Durable = true
	}
	return out
}

// renumber gives records the next seqs.
func renumber(rs []eventlog.Record, next int64) int64 {
	for i := range rs {
		rs[i].Seq = next
		next++
	}
	return next
}

// appends measures appends of n records each.
func appends(b *testing.B, n int, durable bool) {
	l := open(b, b.TempDir(), Options{})
	rs := records(n)
	for i := range rs {
		rs[i].Durable = durable
	}
	next := int64(1)
	b.ReportAllocs()
	for b.Loop() {
		next = renumber(rs, next)
		if err := l.Append("s", eventlog.Batch{Records: rs, Running: 1, Restated: next - 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkAppend1(b *testing.B)       { appends(b, 1, true) }
func BenchmarkAppend64(b *testing.B)      { appends(b, 64, true) }
func BenchmarkAppendDelta(b *testing.B)   { appends(b, 1, false) }
func BenchmarkAppendDelta64(b *testing.B) { appends(b, 64, false) }

// BenchmarkAppendTogether has 16 sessions append one event at a time.
func BenchmarkAppendTogether(b *testing.B) {
	const sessions = 16
	l := open(b, b.TempDir(), Options{})
	turns := make(chan int, sessions)
	b.SetParallelism(sessions)
	for i := range sessions {
		turns <- i
	}
	next := make([]int64, sessions)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := <-turns
			next[i]++
			r := eventlogtest.Record("s", next[i], 1, 180)
			if err := l.Append(fmt.Sprint("s", i), eventlog.Batch{Records: []eventlog.Record{r}}); err != nil {
				b.Error(err)
			}
			turns <- i
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// reads measures pages of 64 KiB, of a log that was opened anew: from the disk; of
// one that was not: from the window.
func reads(b *testing.B, again bool) {
	const n = 4_000
	dir := b.TempDir()
	l := open(b, dir, Options{})
	for next := int64(1); next <= n; {
		rs := records(100)
		next = renumber(rs, next)
		if err := l.Append("s", eventlog.Batch{Records: rs}); err != nil {
			b.Fatal(err)
		}
	}
	if again {
		shut(b, l)
		l = open(b, dir, Options{})
	}
	after, events := int64(0), 0
	b.ReportAllocs()
	for b.Loop() {
		rs, err := l.Read("s", after, 64<<10)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range rs {
			after = r.Seq
		}
		events += len(rs)
		if len(rs) == 0 {
			after = 0
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkReadDisk(b *testing.B)   { reads(b, true) }
func BenchmarkReadWindow(b *testing.B) { reads(b, false) }
