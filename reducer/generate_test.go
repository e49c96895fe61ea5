package reducer

import (
	"fmt"

	"agent-server/protocol"

	"pgregory.net/rapid"
)

// The generators draw ids from small pools, so that events meet: again, too late,
// in the wrong turn, before what they speak of. Everything drawn is brought
// through the wire, so that nothing is folded that would not decode.

// id draws one of a few ids of a kind.
func id(t *rapid.T, kind string, n int) string {
	return fmt.Sprintf("%s%d", kind, rapid.IntRange(1, n).Draw(t, kind))
}

// maybe draws a value or its absence.
func maybe[T any](t *rapid.T, g *rapid.Generator[T]) *T {
	return rapid.Ptr(g, true).Draw(t, "maybe")
}

var (
	words   = rapid.SampledFrom([]string{"", "a", "é", "tab\t", `"\`, "\u2028", "long enough to be more than a piece of grown text in one delta, whatever is before"})
	figures = rapid.SampledFrom([]protocol.Number{0, 1, 2.5, 0.1, 1e21, -3, 180000})
	metas   = rapid.SampledFrom([]protocol.Object{nil, nil, protocol.Object(`{}`), protocol.Object(`{"x/k":[1,{"y":null}]}`),
		protocol.Object(`{"agent-server/partialInput":"old","z":1}`)})
	objects = rapid.SampledFrom([]protocol.Object{protocol.Object(`{}`), protocol.Object(`{"b":1,"a":[2]}`)})
	times   = rapid.Int64Range(0, 40)
)

// toolState draws a state of a tool.
func toolState(t *rapid.T) protocol.ToolState {
	span := protocol.Span{Start: times.Draw(t, "start"), End: times.Draw(t, "end")}
	meta, input := metas.Draw(t, "meta"), objects.Draw(t, "input")
	switch rapid.IntRange(0, 6).Draw(t, "status") {
	case 0, 1:
		return &protocol.PendingState{PartialInput: words.Draw(t, "partial"), Meta: meta}
	case 2, 3:
		return &protocol.InProgressState{Input: input, Title: maybe(t, words), Time: protocol.Since{Start: span.Start}, Meta: meta}
	case 4:
		return &protocol.CompletedState{Input: input, Output: words.Draw(t, "output"), Time: span, Meta: meta}
	case 5:
		return &protocol.FailedState{Input: input, Error: words.Draw(t, "error"), Time: span, Meta: meta}
	}
	return &protocol.CancelledState{Input: input, Time: span, Meta: meta}
}

// anyPart draws a part with this id, of whatever type.
func anyPart(t *rapid.T, messageID, partID string) protocol.Part {
	head := protocol.PartHead{ID: partID, SessionID: "s", MessageID: messageID, Meta: metas.Draw(t, "meta")}
	text := words.Draw(t, "text")
	switch rapid.IntRange(0, 9).Draw(t, "part") {
	case 0, 1, 2:
		return &protocol.TextPart{PartHead: head, Text: text, State: protocol.StateStreaming}
	case 3:
		return &protocol.ReasoningPart{PartHead: head, Text: text, Time: &protocol.OpenSpan{Start: 1}}
	case 4, 5, 6, 7:
		return &protocol.ToolPart{PartHead: head, ToolCallID: id(t, "c", 3), ToolName: "Bash", Title: maybe(t, words), State: toolState(t)}
	case 8:
		return &protocol.FilePart{PartHead: head, URL: new("u"), MimeType: "text/plain"}
	}
	raw := fmt.Sprintf(`{"type":"plan","id":%q,"sessionId":"s","messageId":%q,"entries":[],"raw":{}}`, partID, messageID)
	return &protocol.UnknownPart{PartHead: protocol.PartHead{ID: partID, SessionID: "s", MessageID: messageID}, Kind: "plan", Raw: protocol.Object(raw)}
}

// anyDelta draws a delta of whatever type.
func anyDelta(t *rapid.T) protocol.Delta {
	text := words.Draw(t, "delta")
	switch rapid.IntRange(0, 3).Draw(t, "delta type") {
	case 0, 1:
		return &protocol.TextDelta{Text: text}
	case 2:
		return &protocol.ReasoningDelta{Text: text}
	}
	return &protocol.ToolInputDelta{ToolCallID: "c", ToolName: "Bash", Input: text}
}

// anyTokens draws what a turn cost.
func anyTokens(t *rapid.T) *protocol.TokenUsage {
	u := &protocol.TokenUsage{Input: figures.Draw(t, "input"), Output: figures.Draw(t, "output"), Reasoning: maybe(t, figures)}
	if rapid.Bool().Draw(t, "cache") {
		u.Cache = &protocol.CacheUsage{Read: figures.Draw(t, "read"), WriteEphemeral5m: maybe(t, figures)}
	}
	return u
}

// anyTurnEnd draws the end of a turn.
func anyTurnEnd(t *rapid.T, turnID string, at int64) protocol.Event {
	e := &protocol.TurnEnded{SessionID: "s", TurnID: turnID, StopReason: protocol.StopEndTurn, Timestamp: at, Cost: maybe(t, figures)}
	if rapid.Bool().Draw(t, "failed") {
		e.StopReason, e.Error = protocol.StopError, &protocol.TurnError{Category: protocol.CategoryAuth, Message: "no"}
	}
	if rapid.Bool().Draw(t, "tokens") {
		e.Tokens = anyTokens(t)
	}
	return e
}

// anyEvent draws an event out of any order.
func anyEvent(t *rapid.T) protocol.Event {
	at, turnID, messageID, partID := times.Draw(t, "at"), id(t, "t", 3), id(t, "m", 4), id(t, "p", 12)
	output, place := figures.Draw(t, "outputIndex"), figures.Draw(t, "partIndex")
	switch rapid.IntRange(0, 24).Draw(t, "event") {
	case 0:
		return &protocol.SessionCreated{SessionID: "s", NativeSessionID: id(t, "n", 2), Harness: "demo", Model: maybe(t, words), Resumed: maybe(t, rapid.Bool()), Timestamp: at}
	case 1:
		return &protocol.SessionEnded{SessionID: "s", Reason: "idle", Timestamp: at}
	case 2:
		return &protocol.SessionUsage{SessionID: "s", TurnID: turnID, Used: figures.Draw(t, "used"), Size: maybe(t, figures), Cost: maybe(t, figures), Timestamp: at}
	case 3:
		return &protocol.SessionCompaction{SessionID: "s", TurnID: turnID, CompactionID: id(t, "k", 2), Status: "completed", Trigger: new("auto"),
			PreTokens: maybe(t, figures), Summary: maybe(t, words), AbstractsIDs: rapid.SampledFrom([][]string{nil, {}, {"m1", "m2"}}).Draw(t, "abstracts"), Timestamp: at}
	case 4, 5:
		return &protocol.TurnStarted{SessionID: "s", TurnID: turnID, Timestamp: at}
	case 6, 7:
		return anyTurnEnd(t, turnID, at)
	case 8, 9:
		return &protocol.MessageStarted{SessionID: "s", TurnID: turnID, MessageID: messageID, OutputIndex: output, Role: protocol.RoleAssistant,
			ParentToolCallID: rapid.SampledFrom([]*string{nil, new("c1")}).Draw(t, "parent"), Timestamp: at}
	case 10:
		return &protocol.MessageEnded{SessionID: "s", TurnID: turnID, MessageID: messageID, Timestamp: at}
	case 11:
		return &protocol.PermissionRequested{SessionID: "s", TurnID: turnID, RequestID: id(t, "r", 12), Title: "x", Options: []protocol.PermissionOption{}, Timestamp: at}
	case 12:
		return &protocol.PermissionResolved{SessionID: "s", TurnID: turnID, RequestID: id(t, "r", 12), Outcome: protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: "y"}, Timestamp: at}
	case 13:
		return &protocol.ErrorEvent{SessionID: new("s"), TurnID: rapid.SampledFrom([]*string{nil, &turnID}).Draw(t, "turn"), Category: "auth", Message: "no", Timestamp: at}
	case 14:
		raw := fmt.Sprintf(`{"type":"x.y","sessionId":"s","n":%d,"raw":1}`, at)
		return &protocol.UnknownEvent{Kind: "x.y", SessionID: new("s"), Raw: protocol.Object(raw)}
	case 15:
		return &protocol.Raw{SessionID: "s", TurnID: turnID, Harness: "demo", Data: protocol.Object("null"), Timestamp: at}
	case 16, 17, 18, 19:
		return &protocol.MessagePartDelta{SessionID: "s", TurnID: turnID, MessageID: messageID, OutputIndex: output, PartIndex: place, PartID: partID, Delta: anyDelta(t), Timestamp: at}
	}
	return &protocol.MessagePart{SessionID: "s", TurnID: turnID, MessageID: messageID, OutputIndex: output, PartIndex: place, Part: anyPart(t, messageID, partID), Timestamp: at}
}

// wired brings an event through the wire.
func wired(t rapid.TB, ev protocol.Event) protocol.Event {
	decoded, err := protocol.DecodeEvent(protocol.AppendEvent(nil, ev))
	if err != nil {
		t.Fatalf("%v: %s", err, protocol.AppendEvent(nil, ev))
	}
	return decoded
}

// anyStream draws events in no order at all.
func anyStream(t *rapid.T) []protocol.Event {
	events := make([]protocol.Event, rapid.IntRange(0, 60).Draw(t, "length"))
	for i := range events {
		events[i] = wired(t, anyEvent(t))
	}
	return events
}

// lawfulStream draws turns as a gateway makes them: echo first, every part opened
// by a snapshot, grown by deltas, and restated by a final one.
func lawfulStream(t *rapid.T) []protocol.Event {
	var events []protocol.Event
	add := func(ev protocol.Event) { events = append(events, wired(t, ev)) }
	for n := range rapid.IntRange(1, 3).Draw(t, "turns") {
		turnID := fmt.Sprintf("t%d", n)
		add(&protocol.TurnStarted{SessionID: "s", TurnID: turnID})
		for i := range rapid.IntRange(1, 4).Draw(t, "messages") {
			messageID := fmt.Sprintf("%s-m%d", turnID, i)
			add(&protocol.MessageStarted{SessionID: "s", TurnID: turnID, MessageID: messageID, OutputIndex: float64(i), Role: protocol.RoleAssistant})
			for j := range rapid.IntRange(0, 11).Draw(t, "parts") {
				for _, ev := range lawfulPart(t, turnID, messageID, i, j) {
					add(ev)
				}
			}
			add(&protocol.MessageEnded{SessionID: "s", TurnID: turnID, MessageID: messageID})
		}
		add(anyTurnEnd(t, turnID, 100))
	}
	return events
}

// lawfulPart draws the life of one part.
func lawfulPart(t *rapid.T, turnID, messageID string, i, j int) []protocol.Event {
	head := protocol.PartHead{ID: fmt.Sprintf("%s-p%d", messageID, j), SessionID: "s", MessageID: messageID}
	shown := func(p protocol.Part) protocol.Event {
		return &protocol.MessagePart{SessionID: "s", TurnID: turnID, MessageID: messageID, OutputIndex: float64(i), PartIndex: float64(j), Part: p}
	}
	grows := func(d protocol.Delta) protocol.Event {
		return &protocol.MessagePartDelta{SessionID: "s", TurnID: turnID, MessageID: messageID, OutputIndex: float64(i), PartIndex: float64(j), PartID: head.ID, Delta: d}
	}
	pieces := rapid.SliceOfN(words, 0, 6).Draw(t, "pieces")
	whole := ""
	var events []protocol.Event
	if rapid.Bool().Draw(t, "tool") {
		tool := protocol.ToolPart{PartHead: head, ToolCallID: "c" + head.ID, ToolName: "Bash", State: &protocol.PendingState{}}
		events = append(events, shown(&tool))
		for _, s := range pieces {
			events = append(events, grows(&protocol.ToolInputDelta{ToolCallID: tool.ToolCallID, ToolName: "Bash", Input: s}))
		}
		runs, ends := tool, tool
		runs.State = &protocol.InProgressState{Input: protocol.Object("{}")}
		ends.State = &protocol.CompletedState{Input: protocol.Object("{}"), Output: "ok"}
		events = append(events, shown(&runs))
		if rapid.Bool().Draw(t, "finished") {
			events = append(events, shown(&ends))
		}
		return events
	}
	events = append(events, shown(&protocol.TextPart{PartHead: head, State: protocol.StateStreaming}))
	for _, s := range pieces {
		events = append(events, grows(&protocol.TextDelta{Text: s}))
		whole += s
	}
	return append(events, shown(&protocol.TextPart{PartHead: head, Text: whole, State: protocol.StateDone}))
}
