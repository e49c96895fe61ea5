package verify

import (
	"fmt"
	"testing"

	"agent-server/protocol"
)

// long is a lawful stream of n turns, each with an answer that streams and a
// tool that asks.
func long(n int) []protocol.Event {
	var events []protocol.Event
	for i := range n {
		turn, m, p, r := fmt.Sprint("t", i), fmt.Sprint("m", i), fmt.Sprint("p", i), fmt.Sprint("r", i)
		events = append(events, then(echoed(turn), assistant(turn, m, 1), show(turn, text(m, p, "", streaming)))...)
		for range 10 {
			events = append(events, grow(turn, m, p, words("a few words ")))
		}
		whole := ""
		for range 10 {
			whole += "a few words "
		}
		events = append(events, then(show(turn, text(m, p, whole, done)), at(1, show(turn, tool(m, "c"+p, running()))), ask(turn, r), choose(turn, r),
			at(1, show(turn, tool(m, "c"+p, completed()))), closed(turn, m), end(turn, ok))...)
	}
	return events
}

// The cost of an event must be flat in the length of the stream before it.
func BenchmarkEvent(b *testing.B) {
	for _, turns := range []int{10, 100, 1000, 5000} {
		events := long(turns)
		b.Run(fmt.Sprintf("%d_events", len(events)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := verdict(events, Options{}); len(got) > 0 {
					b.Fatal(got)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(events)), "ns/event")
		})
	}
}

// As BenchmarkEvent, of one text that grows by n deltas.
func BenchmarkGrowingText(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		events := then(echoed("a"), show("a", text("m", "p", "", streaming)))
		for range n {
			events = append(events, grow("a", "m", "p", words("a few words ")))
		}
		b.Run(fmt.Sprintf("%d_deltas", n), func(b *testing.B) {
			for b.Loop() {
				verdict(events, Options{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(events)), "ns/event")
		})
	}
}
