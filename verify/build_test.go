package verify

import "agent-server/protocol"

// The functions of this file make events of session "s" in few words. What a
// test does not name is as harmless as can be.

func start(turn string) *protocol.TurnStarted {
	return &protocol.TurnStarted{SessionID: "s", TurnID: turn}
}

func end(turn string, stop protocol.StopReason) *protocol.TurnEnded {
	return &protocol.TurnEnded{SessionID: "s", TurnID: turn, StopReason: stop}
}

func fail(turn string, category protocol.ErrorCategory) *protocol.TurnEnded {
	e := end(turn, protocol.StopError)
	e.Error = &protocol.TurnError{Category: category, Message: "why"}
	return e
}

func fault1(turn string, category protocol.ErrorCategory, recoverable bool) *protocol.ErrorEvent {
	e := &protocol.ErrorEvent{SessionID: new("s"), Category: category, Message: "why", Recoverable: recoverable}
	if turn != "" {
		e.TurnID = &turn
	}
	return e
}

func created() *protocol.SessionCreated {
	return &protocol.SessionCreated{SessionID: "s", NativeSessionID: "n", Harness: protocol.HarnessACP}
}

func user(turn, message string) *protocol.MessageStarted {
	return &protocol.MessageStarted{SessionID: "s", TurnID: turn, MessageID: message, Role: protocol.RoleUser}
}

func assistant(turn, message string, outputIndex float64) *protocol.MessageStarted {
	return &protocol.MessageStarted{SessionID: "s", TurnID: turn, MessageID: message, OutputIndex: outputIndex, Role: protocol.RoleAssistant}
}

func closed(turn, message string) *protocol.MessageEnded {
	return &protocol.MessageEnded{SessionID: "s", TurnID: turn, MessageID: message}
}

// show is a snapshot of the part at place 0 of the message the part names.
func show(turn string, part protocol.Part) *protocol.MessagePart {
	return &protocol.MessagePart{SessionID: "s", TurnID: turn, MessageID: part.Head().MessageID, OutputIndex: 1, Part: part}
}

// at moves a snapshot to another place.
func at(place float64, e *protocol.MessagePart) *protocol.MessagePart {
	e.PartIndex = place
	return e
}

func head(message, id string) protocol.PartHead {
	return protocol.PartHead{ID: id, SessionID: "s", MessageID: message}
}

func text(message, id, words string, state protocol.PartState) *protocol.TextPart {
	return &protocol.TextPart{PartHead: head(message, id), Text: words, State: state}
}

func thought(message, id, words string, state protocol.PartState) *protocol.ReasoningPart {
	return &protocol.ReasoningPart{PartHead: head(message, id), Text: words, State: state}
}

func tool(message, id string, state protocol.ToolState) *protocol.ToolPart {
	return &protocol.ToolPart{PartHead: head(message, id), ToolCallID: "c-" + id, ToolName: "Bash", State: state}
}

func waiting(input string) *protocol.PendingState { return &protocol.PendingState{PartialInput: input} }

func running() *protocol.InProgressState {
	return &protocol.InProgressState{Input: protocol.Object(`{}`)}
}

func completed() *protocol.CompletedState {
	return &protocol.CompletedState{Input: protocol.Object(`{}`), Output: "out"}
}

func hologram(message, id string) *protocol.UnknownPart {
	raw := `{"type":"hologram","id":"` + id + `","sessionId":"s","messageId":"` + message + `"}`
	return &protocol.UnknownPart{PartHead: head(message, id), Kind: "hologram", Raw: protocol.Object(raw)}
}

func grow(turn, message, id string, delta protocol.Delta) *protocol.MessagePartDelta {
	return &protocol.MessagePartDelta{SessionID: "s", TurnID: turn, MessageID: message, OutputIndex: 1, PartID: id, Delta: delta}
}

func words(s string) *protocol.TextDelta { return &protocol.TextDelta{Text: s} }

func input(s string) *protocol.ToolInputDelta {
	return &protocol.ToolInputDelta{ToolCallID: "c", ToolName: "Bash", Input: s}
}

func ask(turn, request string) *protocol.PermissionRequested {
	return &protocol.PermissionRequested{SessionID: "s", TurnID: turn, RequestID: request, Title: "?", Options: []protocol.PermissionOption{}}
}

func choose(turn, request string) *protocol.PermissionResolved {
	return &protocol.PermissionResolved{SessionID: "s", TurnID: turn, RequestID: request,
		Outcome: protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: "allow"}}
}

func drain(turn, request string) *protocol.PermissionResolved {
	return &protocol.PermissionResolved{SessionID: "s", TurnID: turn, RequestID: request,
		Outcome: protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}}
}

// by says who answered.
func by(who string, e *protocol.PermissionResolved) *protocol.PermissionResolved {
	e.Meta = protocol.Object(`{"agent-server/by":"` + who + `"}`)
	return e
}

// unknown is an event of a type that nobody knows, with its whole body.
func unknown(kind protocol.EventType, raw string) *protocol.UnknownEvent {
	return &protocol.UnknownEvent{Kind: kind, SessionID: new("s"), Raw: protocol.Object(raw)}
}

// echoed is the opening of a turn: its start and an echo without parts.
func echoed(turn string) []protocol.Event {
	return []protocol.Event{start(turn), user(turn, "echo-"+turn), closed(turn, "echo-"+turn)}
}

// then puts stretches of a stream behind each other; a stretch is an event or a
// slice of them.
func then(stretches ...any) []protocol.Event {
	var events []protocol.Event
	for _, s := range stretches {
		switch s := s.(type) {
		case protocol.Event:
			events = append(events, s)
		case []protocol.Event:
			events = append(events, s...)
		}
	}
	return events
}

// verdict judges events without numbers.
func verdict(events []protocol.Event, opts Options) []Violation {
	v := New(opts)
	var found []Violation
	for _, ev := range events {
		found = append(found, v.AddEvent(ev)...)
	}
	return append(found, v.Finish()...)
}

// broke is a violation as a test expects it.
func broke(rule Rule, index int) Violation { return Violation{Rule: rule, Index: index} }
