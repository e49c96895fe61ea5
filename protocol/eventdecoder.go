package protocol

import "bytes"

// DecodeEvent reads one event. A known type with a body that does not fit is a
// *MalformedError; an unknown type is an *UnknownEvent, kept byte for byte. The
// event shares no memory with raw.
func DecodeEvent(raw []byte) (Event, error) {
	return decodeEvent(raw, &reading{what: "event"})
}

// DecodeEventBase reads one event as strictly as a base client does, which knows
// four harness ids.
func DecodeEventBase(raw []byte) (Event, error) {
	return decodeEvent(raw, &reading{what: "event", harness: HarnessID.Base})
}

// decodeEvent gives an event or an error, never both: a fault leaves the event
// half read.
func decodeEvent(raw []byte, r *reading) (Event, error) {
	ev := anEvent(r, r.begin(raw))
	if err := r.err(); err != nil {
		return nil, err
	}
	return ev, nil
}

// DecodeEnvelope reads one envelope with its event.
func DecodeEnvelope(raw []byte) (Envelope, error) {
	r := &reading{what: "envelope"}
	env := anEnvelope(r, r.begin(raw))
	if err := r.err(); err != nil {
		return Envelope{}, err
	}
	return env, nil
}

// anEnvelope reads what a subscriber is sent. The event's own sessionId is not
// compared with the envelope's: a fault of the whole gateway has none.
func anEnvelope(r *reading, raw []byte) Envelope {
	o, ok := r.open(raw)
	if !ok {
		return Envelope{}
	}
	return Envelope{
		SessionID: need(&o, "sessionId", aSessionID),
		Seq:       need(&o, "seq", aPositive),
		PrevSeq:   maybe(&o, "prevSeq", aNatural),
		Event:     need(&o, "event", anEvent),
	}
}

// anEvent reads an event of any type.
func anEvent(r *reading, raw []byte) Event {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	switch kind, read := events.of(&o); {
	case read != nil:
		return read(o)
	case kind != "":
		return unknownEvent(&o, kind, raw)
	}
	return nil
}

// events is the registry: one line a type.
var events = registry[EventType, Event]{
	{TypeMessagePartDelta, readMessagePartDelta},
	{TypeMessagePart, readMessagePart},
	{TypeMessageStarted, readMessageStarted},
	{TypeMessageEnded, readMessageEnded},
	{TypeTurnStarted, readTurnStarted},
	{TypeTurnEnded, readTurnEnded},
	{TypeSessionCreated, readSessionCreated},
	{TypeSessionEnded, readSessionEnded},
	{TypeSessionUsage, readSessionUsage},
	{TypeSessionCompaction, readSessionCompaction},
	{TypePermissionRequested, readPermissionRequested},
	{TypePermissionResolved, readPermissionResolved},
	{TypeError, readErrorEvent},
	{TypeRaw, readRaw},
}

// unknownEvent keeps an event whole; its sessionId is looked at only where it is
// a string.
func unknownEvent(o *object, kind EventType, raw []byte) Event {
	ev := &UnknownEvent{Kind: kind, Raw: bytes.Clone(raw)}
	if id := o.find("sessionId"); id != nil && id[0] == '"' {
		ev.SessionID = new(Unquote(id))
	}
	return ev
}

// The readers below are the rows of the protocol's table of events: need reads a
// required member, maybe and orZero optional ones, and the order is that of the
// wire. Strings may be empty, words of a vocabulary may not be blank.

// readSessionCreated: the one event that must name a harness a client can know.
func readSessionCreated(o object) Event {
	return &SessionCreated{
		SessionID:       need(&o, "sessionId", aSessionID),
		NativeSessionID: need(&o, "nativeSessionId", aString),
		Harness:         need(&o, "harness", aHarness),
		Model:           maybe(&o, "model", aString),
		Resumed:         maybe(&o, "resumed", aBool),
		Timestamp:       need(&o, "timestamp", aTimestamp),
		Meta:            o.meta(),
	}
}

// readSessionEnded: the reason is an open word.
func readSessionEnded(o object) Event {
	return &SessionEnded{
		SessionID: need(&o, "sessionId", aSessionID),
		Reason:    need(&o, "reason", aWord[string]),
		Timestamp: need(&o, "timestamp", aTimestamp),
		Meta:      o.meta(),
	}
}

// readSessionUsage: a gauge may be fractional, some providers estimate.
func readSessionUsage(o object) Event {
	return &SessionUsage{
		SessionID: need(&o, "sessionId", aSessionID),
		TurnID:    need(&o, "turnId", aString),
		Used:      need(&o, "used", aNumber),
		Size:      maybe(&o, "size", aNumber),
		Cost:      maybe(&o, "cost", aNumber),
		Timestamp: need(&o, "timestamp", aTimestamp),
		Meta:      o.meta(),
	}
}

// readSessionCompaction: only what has changed need be there; the fold keeps the
// rest.
func readSessionCompaction(o object) Event {
	return &SessionCompaction{
		SessionID:    need(&o, "sessionId", aSessionID),
		TurnID:       need(&o, "turnId", aString),
		CompactionID: need(&o, "compactionId", aString),
		Status:       need(&o, "status", aWord[string]),
		Trigger:      maybe(&o, "trigger", aWord[string]),
		PreTokens:    maybe(&o, "preTokens", aNumber),
		PostTokens:   maybe(&o, "postTokens", aNumber),
		Summary:      maybe(&o, "summary", aString),
		AbstractsIDs: orZero(&o, "abstractsIds", someStrings),
		Timestamp:    need(&o, "timestamp", aTimestamp),
		Meta:         o.meta(),
	}
}

// readTurnStarted: nothing but the address.
func readTurnStarted(o object) Event {
	return &TurnStarted{
		SessionID: need(&o, "sessionId", aSessionID),
		TurnID:    need(&o, "turnId", aString),
		Timestamp: need(&o, "timestamp", aTimestamp),
		Meta:      o.meta(),
	}
}

// readTurnEnded: that an error stands there exactly when the turn failed is a law
// of streams, not of shape; verify judges it.
func readTurnEnded(o object) Event {
	return &TurnEnded{
		SessionID:    need(&o, "sessionId", aSessionID),
		TurnID:       need(&o, "turnId", aString),
		StopReason:   need(&o, "stopReason", aWord[StopReason]),
		FinishReason: maybe(&o, "finishReason", aString),
		Tokens:       orZero(&o, "tokens", aTokenUsage),
		Cost:         maybe(&o, "cost", aNumber),
		Error:        orZero(&o, "error", aTurnError),
		Timestamp:    need(&o, "timestamp", aTimestamp),
		Meta:         o.meta(),
	}
}

// aTokenUsage reads what a turn cost; a count left out is 0.
func aTokenUsage(r *reading, raw []byte) *TokenUsage {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	return &TokenUsage{
		Input:     orZero(&o, "input", aNumber),
		Output:    orZero(&o, "output", aNumber),
		Reasoning: maybe(&o, "reasoning", aNumber),
		Cache:     orZero(&o, "cache", aCacheUsage),
	}
}

// aCacheUsage reads cached input; the two that everyone has default to 0.
func aCacheUsage(r *reading, raw []byte) *CacheUsage {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	return &CacheUsage{
		Read:             orZero(&o, "read", aNumber),
		Write:            orZero(&o, "write", aNumber),
		WriteEphemeral5m: maybe(&o, "writeEphemeral5m", aNumber),
		WriteEphemeral1h: maybe(&o, "writeEphemeral1h", aNumber),
	}
}

// aTurnError reads why a turn failed.
func aTurnError(r *reading, raw []byte) *TurnError {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	return &TurnError{
		Category: need(&o, "category", aWord[ErrorCategory]),
		Message:  need(&o, "message", aString),
	}
}

var aRole = oneOf(RoleUser, RoleAssistant)

// readMessageStarted opens a message; its parent is the tool call of a sub-agent.
func readMessageStarted(o object) Event {
	return &MessageStarted{
		SessionID:        need(&o, "sessionId", aSessionID),
		TurnID:           need(&o, "turnId", aString),
		MessageID:        need(&o, "messageId", aMessageID),
		OutputIndex:      need(&o, "outputIndex", aNumber),
		Role:             need(&o, "role", aRole),
		ParentToolCallID: maybe(&o, "parentToolCallId", aString),
		Model:            maybe(&o, "model", aString),
		Timestamp:        need(&o, "timestamp", aTimestamp),
		Meta:             o.meta(),
	}
}

// readMessagePart: whether the part names the event's own message is verify's.
func readMessagePart(o object) Event {
	return &MessagePart{
		SessionID:   need(&o, "sessionId", aSessionID),
		TurnID:      need(&o, "turnId", aString),
		MessageID:   need(&o, "messageId", aMessageID),
		OutputIndex: need(&o, "outputIndex", aNumber),
		PartIndex:   need(&o, "partIndex", aNumber),
		Part:        need(&o, "part", aPart),
		Timestamp:   need(&o, "timestamp", aTimestamp),
		Meta:        o.meta(),
	}
}

// readMessagePartDelta is the hot one; it stands first in the registry.
func readMessagePartDelta(o object) Event {
	return &MessagePartDelta{
		SessionID:   need(&o, "sessionId", aSessionID),
		TurnID:      need(&o, "turnId", aString),
		MessageID:   need(&o, "messageId", aMessageID),
		OutputIndex: need(&o, "outputIndex", aNumber),
		PartIndex:   need(&o, "partIndex", aNumber),
		PartID:      need(&o, "partId", aString),
		Delta:       need(&o, "delta", aDelta),
		Timestamp:   need(&o, "timestamp", aTimestamp),
		Meta:        o.meta(),
	}
}

// readMessageEnded: nothing but the address.
func readMessageEnded(o object) Event {
	return &MessageEnded{
		SessionID: need(&o, "sessionId", aSessionID),
		TurnID:    need(&o, "turnId", aString),
		MessageID: need(&o, "messageId", aMessageID),
		Timestamp: need(&o, "timestamp", aTimestamp),
		Meta:      o.meta(),
	}
}

// readErrorEvent drops the base's stack, but a stack must be a string.
func readErrorEvent(o object) Event {
	orZero(&o, "stack", aString)
	return &ErrorEvent{
		SessionID:   maybe(&o, "sessionId", aSessionID),
		TurnID:      maybe(&o, "turnId", aString),
		Category:    need(&o, "category", aWord[ErrorCategory]),
		Message:     need(&o, "message", aString),
		Recoverable: need(&o, "recoverable", aBool),
		Timestamp:   need(&o, "timestamp", aTimestamp),
		Meta:        o.meta(),
	}
}

// readRaw: the data is required, and null is data.
func readRaw(o object) Event {
	return &Raw{
		SessionID: need(&o, "sessionId", aSessionID),
		TurnID:    need(&o, "turnId", aString),
		Harness:   need(&o, "harness", aHarness),
		Data:      need(&o, "data", aFreeValue),
		Timestamp: need(&o, "timestamp", aTimestamp),
		Meta:      o.meta(),
	}
}
