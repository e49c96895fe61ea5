package protocol

// In the JSON of a folded state, unknown events and parts stand wrapped: what is
// known of them, then the whole original as `raw`. On the wire they never do.

// AppendEventState appends an event as a state holds it: an unknown one as
// {type, sessionId?, raw}, any other as on the wire.
func AppendEventState(dst []byte, ev Event) []byte {
	e, ok := ev.(*UnknownEvent)
	if !ok {
		return AppendEvent(dst, ev)
	}
	dst = appendText(dst, `{"type":`, string(e.Kind))
	dst = appendOptText(dst, `,"sessionId":`, e.SessionID)
	dst = AppendRaw(append(dst, `,"raw":`...), e.Raw)
	return append(dst, '}')
}

// AppendPartState appends a part as a state holds it: an unknown one as {type,
// id, sessionId, messageId, parentToolCallId?, _meta?, raw}, any other as on the
// wire.
func AppendPartState(dst []byte, part Part) []byte {
	p, ok := part.(*UnknownPart)
	if !ok {
		return AppendPart(dst, part)
	}
	dst = appendText(dst, `{"type":`, string(p.Kind))
	dst = appendText(dst, `,"id":`, p.ID)
	dst = appendText(dst, `,"sessionId":`, p.SessionID)
	dst = appendText(dst, `,"messageId":`, p.MessageID)
	dst = appendOptText(dst, `,"parentToolCallId":`, p.ParentToolCallID)
	dst = appendOptFree(dst, `,"_meta":`, p.Meta)
	dst = AppendRaw(append(dst, `,"raw":`...), p.Raw)
	return append(dst, '}')
}

// DecodePartState reads a part as AppendPartState writes it. A wrapper is taken
// as it is: what its raw holds is not looked at.
func DecodePartState(raw []byte) (Part, error) {
	r := &reading{what: "part of a state"}
	p := aPartState(r, r.begin(raw))
	if err := r.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// aPartState differs from aPart in what is unknown: there raw is made, here it
// is looked for.
func aPartState(r *reading, raw []byte) Part {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	switch kind, read := parts.of(&o); {
	case read != nil:
		return read(o)
	case kind != "":
		return &UnknownPart{PartHead: readHead(&o), Kind: kind, Raw: need(&o, "raw", aFreeObject)}
	}
	return nil
}

// DecodeUnknownEventState reads an unknown event as AppendEventState writes it;
// its wrapper is taken as it is.
func DecodeUnknownEventState(raw []byte) (*UnknownEvent, error) {
	r := &reading{what: "unknown event of a state"}
	ev := anUnknownEventState(r, r.begin(raw))
	if err := r.err(); err != nil {
		return nil, err
	}
	return ev, nil
}

// anUnknownEventState does not ask whether the type is unknown: a state of a newer
// gateway may hold as unknown what we know, and is taken as it is.
func anUnknownEventState(r *reading, raw []byte) *UnknownEvent {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	return &UnknownEvent{
		Kind:      need(&o, "type", aFilled[EventType]),
		SessionID: maybe(&o, "sessionId", aString),
		Raw:       need(&o, "raw", aFreeObject),
	}
}
