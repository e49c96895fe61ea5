package eventlog_test

import (
	"testing"

	"agent-server/eventlog"
	"agent-server/eventlog/eventlogtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	eventlogtest.Run(t, eventlogtest.Engine{PrunesTurns: true, Open: func(t *testing.T, maxBytes int64) eventlog.Log {
		l := eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: maxBytes})
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return l
	}})
}

// appends measures appends of n records of about 320 bytes, one in hundred durable.
func appends(b *testing.B, n int) {
	l := eventlog.NewMemory(eventlog.MemoryOptions{})
	batch := make([]eventlog.Record, n)
	for i := range batch {
		batch[i] = eventlogtest.Record("s", 1, 1, 180)
	}
	next := int64(1)
	b.ReportAllocs()
	for b.Loop() {
		for i := range batch {
			batch[i].Seq, batch[i].Turn, batch[i].Durable = next, next/1000, next%100 == 0
			next++
		}
		if err := l.Append("s", eventlog.Batch{Records: batch, Running: next / 1000, Restated: next - 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkMemoryAppend1(b *testing.B)  { appends(b, 1) }
func BenchmarkMemoryAppend64(b *testing.B) { appends(b, 64) }

// BenchmarkMemoryRead measures pages of 64 KiB.
func BenchmarkMemoryRead(b *testing.B) {
	l := eventlog.NewMemory(eventlog.MemoryOptions{})
	for seq := int64(1); seq <= 4_000; seq++ {
		r := eventlogtest.Record("s", seq, 1, 180)
		if err := l.Append("s", eventlog.Batch{Records: []eventlog.Record{r}}); err != nil {
			b.Fatal(err)
		}
	}
	after, events := int64(0), 0
	b.ReportAllocs()
	for b.Loop() {
		rs, err := l.Read("s", after, 64<<10)
		if err != nil {
			b.Fatal(err)
		}
		events += len(rs)
		after = 0
		if len(rs) > 0 {
			after = rs[len(rs)-1].Seq
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}
