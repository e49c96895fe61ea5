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

func BenchmarkMemoryAppend(b *testing.B) {
	l := eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: 64 << 20})
	r := eventlogtest.Record("s", 1, 1, 200)
	batch := []eventlog.Record{r}
	b.ReportAllocs()
	for i := range b.N {
		batch[0].Seq, batch[0].Turn = int64(i+1), int64(i/1000)
		if err := l.Append("s", eventlog.Batch{Records: batch, Running: batch[0].Turn}); err != nil {
			b.Fatal(err)
		}
	}
}
