package reducer

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"agent-server/protocol"
)

// Conversations are read, and folded on from, by several goroutines at once while
// another folds: under the race detector this is what proves that nothing that is
// shared is written.
func TestManyReadersAndBranches(t *testing.T) {
	t.Parallel()
	start, delta := streaming(40, "")
	input := &protocol.MessagePartDelta{PartID: "elsewhere", Delta: &protocol.ToolInputDelta{Input: "{"}}
	states := make(chan *Conversation, 64)
	var readers sync.WaitGroup
	for i := range 3 {
		readers.Go(func() {
			for c := range states {
				branch := Reduce(c, &protocol.MessagePartDelta{MessageID: delta.MessageID, PartID: delta.PartID, Delta: &protocol.TextDelta{Text: fmt.Sprint(i)}})
				was, _ := c.Part(delta.MessageID, delta.PartID)
				is, _ := branch.Part(delta.MessageID, delta.PartID)
				if is.(*protocol.TextPart).Text != was.(*protocol.TextPart).Text+fmt.Sprint(i) {
					t.Errorf("branch %d has another text", i)
				}
				if bytesOf(Reduce(branch, input)) == bytesOf(c) || c.Len() != 40 {
					t.Error("a branch came through")
				}
			}
		})
	}
	c := start
	for i := range 300 {
		c = Reduce(c, delta)
		if i%7 == 0 {
			c = Reduce(c, input)
		}
		states <- c
	}
	close(states)
	readers.Wait()
	last, _ := c.Part(delta.MessageID, delta.PartID)
	if want := strings.Repeat(delta.Delta.(*protocol.TextDelta).Text, 300); last.(*protocol.TextPart).Text != want {
		t.Error("the fold has another text")
	}
}

// allocations counts those of folding ev into c, again and again from there.
func allocations(c *Conversation, ev protocol.Event) float64 {
	return testing.AllocsPerRun(2_000, func() { c = Reduce(c, ev) })
}

// Law 63: a delta allocates as little into a long transcript or part as into a short one.
// Allocations stand for cost here: they can be counted, time cannot.
func TestLaw63_deltaCostIsFlat(t *testing.T) {
	for _, messages := range []int{2, 2_000} {
		for _, text := range []string{"", strings.Repeat("x", 1<<20)} {
			c, delta := streaming(messages, text)
			if n := allocations(c, delta); n > 2 {
				t.Errorf("%v allocations a delta at %d messages, %d bytes", n, messages, len(text))
			}
			if grew := bytesPerFold(c, delta); grew > 512 {
				t.Errorf("%d bytes a delta at %d messages, %d bytes of text", grew, messages, len(text))
			}
		}
	}
}

// bytesPerFold is what folding ev allocates, in bytes.
func bytesPerFold(c *Conversation, ev protocol.Event) uint64 {
	const folds = 2_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range folds {
		c = Reduce(c, ev)
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / folds
}

// A turn's end touches what the turn has left open, and nothing else: it costs no
// more after a long history.
func TestTurnEndCostIsFlat(t *testing.T) {
	cost := func(messages int) float64 {
		c := foldAll(nil, history(messages))
		c = foldAll(c, []protocol.Event{
			&protocol.TurnStarted{TurnID: "live"},
			&protocol.MessagePart{TurnID: "live", MessageID: "live", Part: &protocol.ToolPart{PartHead: protocol.PartHead{ID: "p"}, State: &protocol.PendingState{}}},
		})
		end := &protocol.TurnEnded{TurnID: "live", StopReason: protocol.StopEndTurn}
		return testing.AllocsPerRun(100, func() { Reduce(c, end) })
	}
	if short, long := cost(20), cost(20_000); long > short+20 {
		t.Errorf("%v allocations after 20 messages, %v after 20,000", short, long)
	}
}
