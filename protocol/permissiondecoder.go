package protocol

// readPermissionRequested: options are required, but there may be none.
func readPermissionRequested(o object) Event {
	return &PermissionRequested{
		SessionID: need(&o, "sessionId", aSessionID),
		TurnID:    need(&o, "turnId", aString),
		RequestID: need(&o, "requestId", aString),
		Title:     need(&o, "title", aString),
		ToolCall:  orZero(&o, "toolCall", aPermissionToolCall),
		Options:   need(&o, "options", someOptions),
		Timestamp: need(&o, "timestamp", aTimestamp),
		Meta:      o.meta(),
	}
}

// aPermissionToolCall reads what is asked for; of it only the name is sure, since
// some harnesses ask before they have a call.
func aPermissionToolCall(r *reading, raw []byte) *PermissionToolCall {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	return &PermissionToolCall{
		ToolCallID: maybe(&o, "toolCallId", aString),
		ToolName:   need(&o, "toolName", aString),
		Kind:       maybe(&o, "kind", aWord[ToolKind]),
		Title:      maybe(&o, "title", aString),
		Locations:  orZero(&o, "locations", someLocations),
		RawInput:   orZero(&o, "rawInput", aFreeObject),
	}
}

var someOptions = listOf(anOption)

// anOption reads one answer that may be chosen.
func anOption(r *reading, raw []byte) PermissionOption {
	o, ok := r.open(raw)
	if !ok {
		return PermissionOption{}
	}
	return PermissionOption{
		OptionID: need(&o, "optionId", aString),
		Name:     need(&o, "name", aString),
		Kind:     need(&o, "kind", aWord[PermissionKind]),
	}
}

// readPermissionResolved: whether the request was ever made is not asked here.
func readPermissionResolved(o object) Event {
	return &PermissionResolved{
		SessionID: need(&o, "sessionId", aSessionID),
		TurnID:    need(&o, "turnId", aString),
		RequestID: need(&o, "requestId", aString),
		Outcome:   need(&o, "outcome", anOutcome),
		Timestamp: need(&o, "timestamp", aTimestamp),
		Meta:      o.meta(),
	}
}

var anOutcomeKind = oneOf(OutcomeSelected, OutcomeCancelled)

// anOutcome reads how a request was answered. A cancelled one has no other
// members: they are unknown there, and ignored.
func anOutcome(r *reading, raw []byte) PermissionOutcome {
	o, ok := r.open(raw)
	if !ok {
		return PermissionOutcome{}
	}
	out := PermissionOutcome{Outcome: need(&o, "outcome", anOutcomeKind)}
	if out.Outcome == OutcomeSelected {
		out.OptionID = need(&o, "optionId", aString)
		out.UpdatedInput = orZero(&o, "updatedInput", aFreeObject)
	}
	return out
}
