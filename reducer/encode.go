package reducer

import (
	"slices"
	"strconv"

	"agent-server/protocol"
)

// MarshalJSON is AppendJSON into a buffer of its own. It never fails.
func (c *Conversation) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// AppendJSON appends the conversation as the protocol's state: members in its
// order, what is not known yet left out, nothing null. Ids in toolInputJson are
// sorted, so that equal conversations are equal bytes.
func (c *Conversation) AppendJSON(dst []byte) []byte {
	s := c.whole() // deltas since the last snapshot are part of the state
	dst = s.appendSession(append(dst, '{'))
	dst = appendList(dst, "timeline", s.timeline, appendItem)
	dst = appendList(dst, "turns", s.turns.list, appendTurn)
	dst = appendList(dst, "permissions", s.permissions.list, appendPermission)
	if s.usage != nil {
		dst = appendUsage(member(dst, "usage"), s.usage)
	}
	dst = appendTotals(member(dst, "totals"), s.totals)
	dst = appendMaybe(dst, "totalCost", s.totalCost, protocol.AppendNumber)
	dst = appendList(dst, "errors", s.errors, appendError)
	if s.ended != nil {
		dst = appendText(append(member(dst, "ended"), '{'), "reason", s.ended.Reason)
		dst = append(appendTime(dst, "timestamp", s.ended.Timestamp), '}')
	}
	dst = appendList(dst, "unknownEvents", s.unknown, appendUnknown)
	dst = appendInputs(member(dst, "toolInputJson"), s.inputs)
	return append(dst, '}')
}

// appendSession appends what session.created has told.
func (d *state) appendSession(dst []byte) []byte {
	if d.session != nil {
		dst = appendText(dst, "sessionId", d.session.id)
		dst = appendText(dst, "nativeSessionId", d.session.nativeID)
		dst = appendText(dst, "harness", string(d.session.harness))
	}
	dst = appendMaybe(dst, "model", d.model, protocol.AppendString)
	return appendMaybe(dst, "resumed", d.resumed, strconv.AppendBool)
}

// appendItem appends an entry of the timeline.
func appendItem(dst []byte, i item) []byte {
	if i.message != nil {
		return appendMessage(dst, i.message)
	}
	return appendCompaction(dst, i.compaction)
}

// appendMessage appends a message with its parts as they now are. As everywhere in
// this file, the order of the lines is the order of the members on the wire.
func appendMessage(dst []byte, m *message) []byte {
	dst = appendText(append(dst, '{'), "kind", "message")
	dst = appendText(dst, "messageId", m.MessageID)
	dst = appendText(dst, "sessionId", m.SessionID)
	dst = appendText(dst, "turnId", m.TurnID)
	dst = appendNumber(dst, "outputIndex", m.OutputIndex)
	dst = appendText(dst, "role", string(m.Role))
	dst = appendMaybe(dst, "parentToolCallId", m.ParentToolCallID, protocol.AppendString)
	dst = appendMaybe(dst, "model", m.Model, protocol.AppendString)
	dst = appendList(dst, "parts", m.slots.list, appendSlot)
	dst = appendTime(dst, "startedAt", m.StartedAt)
	dst = appendMaybe(dst, "endedAt", m.EndedAt, appendInteger)
	return append(dst, '}')
}

// appendSlot appends a part; an unknown one in its wrapper.
func appendSlot(dst []byte, s slot) []byte { return protocol.AppendPartState(dst, s.read()) }

// appendCompaction appends a compaction.
func appendCompaction(dst []byte, k *Compaction) []byte {
	dst = appendText(append(dst, '{'), "kind", "compaction")
	dst = appendText(dst, "compactionId", k.CompactionID)
	dst = appendText(dst, "turnId", k.TurnID)
	dst = appendText(dst, "status", k.Status)
	dst = appendMaybe(dst, "trigger", k.Trigger, protocol.AppendString)
	dst = appendMaybe(dst, "preTokens", k.PreTokens, protocol.AppendNumber)
	dst = appendMaybe(dst, "postTokens", k.PostTokens, protocol.AppendNumber)
	dst = appendMaybe(dst, "summary", k.Summary, protocol.AppendString)
	if k.AbstractsIDs != nil {
		dst = appendSlice(dst, "abstractsIds", k.AbstractsIDs, protocol.AppendString)
	}
	return append(appendTime(dst, "timestamp", k.Timestamp), '}')
}

// appendTurn appends a turn.
func appendTurn(dst []byte, t *turn) []byte {
	dst = appendText(append(dst, '{'), "turnId", t.TurnID)
	dst = appendText(dst, "status", string(t.Status))
	if t.StopReason != "" {
		dst = appendText(dst, "stopReason", string(t.StopReason))
	}
	dst = appendMaybe(dst, "finishReason", t.FinishReason, protocol.AppendString)
	dst = appendMaybe(dst, "tokens", t.Tokens, appendTokens)
	dst = appendMaybe(dst, "cost", t.Cost, protocol.AppendNumber)
	if t.Error != nil {
		dst = appendText(append(member(dst, "error"), '{'), "category", string(t.Error.Category))
		dst = append(appendText(dst, "message", t.Error.Message), '}')
	}
	dst = appendList(dst, "errors", t.errors, appendError)
	dst = appendTime(dst, "startedAt", t.StartedAt)
	dst = appendMaybe(dst, "endedAt", t.EndedAt, appendInteger)
	return append(dst, '}')
}

// appendError appends an error entry: nothing but these four.
func appendError(dst []byte, e ErrorEntry) []byte {
	dst = appendText(append(dst, '{'), "category", string(e.Category))
	dst = appendText(dst, "message", e.Message)
	dst = strconv.AppendBool(member(dst, "recoverable"), e.Recoverable)
	return append(appendTime(dst, "timestamp", e.Timestamp), '}')
}

// appendPermission appends a permission request.
func appendPermission(dst []byte, p *Permission) []byte {
	dst = appendText(append(dst, '{'), "requestId", p.RequestID)
	dst = appendText(dst, "turnId", p.TurnID)
	dst = appendText(dst, "title", p.Title)
	if p.ToolCall != nil {
		dst = protocol.AppendPermissionToolCall(member(dst, "toolCall"), p.ToolCall)
	}
	dst = appendSlice(dst, "options", p.Options, protocol.AppendPermissionOption)
	dst = appendTime(dst, "requestedAt", p.RequestedAt)
	dst = appendMaybe(dst, "outcome", p.Outcome, protocol.AppendPermissionOutcome)
	dst = appendMaybe(dst, "resolvedAt", p.ResolvedAt, appendInteger)
	return append(dst, '}')
}

// appendUsage appends the gauge.
func appendUsage(dst []byte, u *Usage) []byte {
	dst = appendNumber(append(dst, '{'), "used", u.Used)
	dst = appendMaybe(dst, "size", u.Size, protocol.AppendNumber)
	dst = appendMaybe(dst, "cost", u.Cost, protocol.AppendNumber)
	return append(appendTime(dst, "updatedAt", u.UpdatedAt), '}')
}

// appendTotals appends the totals: as tokens, with reasoning and cache always.
func appendTotals(dst []byte, t Totals) []byte {
	return appendTokens(dst, protocol.TokenUsage{
		Input: t.Input, Output: t.Output, Reasoning: &t.Reasoning, Cache: &t.Cache,
	})
}

// appendUnknown appends an unknown event in its wrapper.
func appendUnknown(dst []byte, e *protocol.UnknownEvent) []byte {
	return protocol.AppendEventState(dst, e)
}

// appendInputs appends the tool inputs that deltas have built, by part id. The
// table has no order of its own that means anything.
func appendInputs(dst []byte, inputs table[grown]) []byte {
	var ids []string
	for id := range inputs.all() {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	dst = append(dst, '{')
	for _, id := range ids {
		input, _ := inputs.get(id)
		dst = appendText(dst, id, input.after(""))
	}
	return append(dst, '}')
}
