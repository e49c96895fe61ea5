package reducer

import (
	"fmt"
	"strings"
	"testing"

	"agent-server/protocol"
)

// history is the events of turns with this many messages in all: a prompt, then
// text and one finished tool a message, as a harness gives them.
func history(messages int) []protocol.Event {
	const perTurn = 10
	var events []protocol.Event
	at := int64(1700000000000)
	for i := range messages {
		turnID, messageID := fmt.Sprintf("turn-%d", i/perTurn), fmt.Sprintf("0197f2c4-7d1e-7b7a-9c55-%012d", i)
		at++
		if i%perTurn == 0 {
			events = append(events, &protocol.TurnStarted{SessionID: "s", TurnID: turnID, Timestamp: at})
		}
		events = append(events, oneMessage(turnID, messageID, i%perTurn, at)...)
		if i%perTurn == perTurn-1 {
			events = append(events, &protocol.TurnEnded{SessionID: "s", TurnID: turnID, StopReason: protocol.StopEndTurn, Timestamp: at,
				Tokens: &protocol.TokenUsage{Input: 10, Output: 3}, Cost: new(0.25)})
		}
	}
	return events
}

// oneMessage is the events of one message: text, then a tool from pending to completed.
func oneMessage(turnID, messageID string, index int, at int64) []protocol.Event {
	output := protocol.Number(index)
	head := func(place int) protocol.PartHead {
		return protocol.PartHead{ID: fmt.Sprintf("%s-%d", messageID, place), SessionID: "s", MessageID: messageID}
	}
	part := func(place int, p protocol.Part) protocol.Event {
		return &protocol.MessagePart{SessionID: "s", TurnID: turnID, MessageID: messageID, OutputIndex: output,
			PartIndex: protocol.Number(place), Part: p, Timestamp: at}
	}
	tool := func(s protocol.ToolState) protocol.Event {
		return part(1, &protocol.ToolPart{PartHead: head(1), ToolCallID: "call-" + messageID, ToolName: "Bash", State: s})
	}
	input := protocol.Object(`{"command":"ls"}`)
	return []protocol.Event{
		&protocol.MessageStarted{SessionID: "s", TurnID: turnID, MessageID: messageID, OutputIndex: output, Role: protocol.RoleAssistant, Timestamp: at},
		part(0, &protocol.TextPart{PartHead: head(0), Text: "What it says.", State: protocol.StateDone}),
		tool(&protocol.PendingState{}),
		tool(&protocol.InProgressState{Input: input, Time: protocol.Since{Start: at}}),
		tool(&protocol.CompletedState{Input: input, Output: "a\nb", Time: protocol.Span{Start: at, End: at}}),
		&protocol.MessageEnded{SessionID: "s", TurnID: turnID, MessageID: messageID, Timestamp: at},
	}
}

// streaming is a conversation of that many messages whose last has a text part
// open, and the delta that extends it.
func streaming(messages int, text string) (*Conversation, *protocol.MessagePartDelta) {
	c := foldAll(nil, history(messages-1))
	c = foldAll(c, []protocol.Event{
		&protocol.TurnStarted{SessionID: "s", TurnID: "live", Timestamp: 1},
		&protocol.MessageStarted{SessionID: "s", TurnID: "live", MessageID: "0197f2c4-7d1e-7b7a-9c55-live00000000", Role: protocol.RoleAssistant, Timestamp: 1},
		&protocol.MessagePart{SessionID: "s", TurnID: "live", MessageID: "0197f2c4-7d1e-7b7a-9c55-live00000000", Timestamp: 1,
			Part: &protocol.TextPart{PartHead: protocol.PartHead{ID: "0197f2c4-7d1e-7b7a-9c55-part00000000", MessageID: "0197f2c4-7d1e-7b7a-9c55-live00000000", SessionID: "s"}, Text: text, State: protocol.StateStreaming}},
	})
	return c, &protocol.MessagePartDelta{
		SessionID: "s", TurnID: "live", MessageID: "0197f2c4-7d1e-7b7a-9c55-live00000000", PartID: "0197f2c4-7d1e-7b7a-9c55-part00000000",
		Delta: &protocol.TextDelta{Text: "forty bytes of text, as a model sends it"}, Timestamp: 2,
	}
}

// foldAll folds events one after another.
func foldAll(c *Conversation, events []protocol.Event) *Conversation {
	for _, ev := range events {
		c = Reduce(c, ev)
	}
	return c
}

// One text delta of 40 bytes, as the transcript gets longer.
func BenchmarkFoldDelta(b *testing.B) {
	for _, messages := range []int{200, 2_000, 20_000} {
		b.Run(fmt.Sprintf("messages=%d", messages), func(b *testing.B) {
			start, delta := streaming(messages, "")
			c, n := start, 0
			b.ReportAllocs()
			for b.Loop() {
				if n++; n%10_000 == 0 {
					c = start // so that memory stays that of one answer
				}
				c = Reduce(c, delta)
			}
		})
	}
}

// The same with the changes that come with it.
func BenchmarkFoldDeltaWithChanges(b *testing.B) {
	start, delta := streaming(2_000, "")
	c, n := start, 0
	b.ReportAllocs()
	for b.Loop() {
		if n++; n%10_000 == 0 {
			c = start
		}
		c, _ = ReduceWithChanges(c, delta)
	}
}

// One text delta of a part whose text is already long: a MiB in its snapshot, or
// grown to a MiB by deltas.
func BenchmarkFoldDeltaLongPart(b *testing.B) {
	const long = 1 << 20
	snapshot, delta := streaming(200, strings.Repeat("x", long))
	byDeltas, _ := streaming(200, "")
	for range long / len(delta.Delta.(*protocol.TextDelta).Text) {
		byDeltas = Reduce(byDeltas, delta)
	}
	for name, start := range map[string]*Conversation{"snapshot=1MiB": snapshot, "deltas=1MiB": byDeltas} {
		b.Run(name, func(b *testing.B) {
			c, n := start, 0
			b.ReportAllocs()
			for b.Loop() {
				if n++; n%10_000 == 0 {
					c = start
				}
				c = Reduce(c, delta)
			}
		})
	}
}

// Deltas of four parts in turn, as four sub-agents that speak at once give them:
// each makes another text live.
func BenchmarkFoldDeltaInterleaved(b *testing.B) {
	c, _ := streaming(2_000, "")
	var deltas []*protocol.MessagePartDelta
	for i := range 4 {
		id := fmt.Sprintf("agent-%d", i)
		c = Reduce(c, &protocol.MessagePart{MessageID: id, TurnID: "live", Part: &protocol.TextPart{PartHead: protocol.PartHead{ID: id}}})
		deltas = append(deltas, &protocol.MessagePartDelta{MessageID: id, PartID: id, Delta: &protocol.TextDelta{Text: "forty bytes of text, as a model sends it"}})
	}
	start, n := c, 0
	b.ReportAllocs()
	for b.Loop() {
		if n++; n%10_000 == 0 {
			c = start
		}
		c = Reduce(c, deltas[n%4])
	}
}

// A history of 20,000 messages, event by event; the figure is that of all.
func BenchmarkFoldHistory(b *testing.B) {
	events := history(20_000)
	b.ReportAllocs()
	for b.Loop() {
		foldAll(nil, events)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(events)), "ns/event")
}

// A snapshot of 2,000 messages, and the way back.
func BenchmarkSnapshot(b *testing.B) {
	c := foldAll(nil, history(2_000))
	raw := c.AppendJSON(nil)
	b.Run("encode", func(b *testing.B) {
		buf := make([]byte, 0, len(raw))
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			c.AppendJSON(buf)
		}
	})
	b.Run("load", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Load(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
