package protocol

import "bytes"

// DecodePart reads one part. A known type with a body that does not fit is a
// *MalformedError; an unknown type is an *UnknownPart, kept byte for byte. The
// part shares no memory with raw.
func DecodePart(raw []byte) (Part, error) {
	r := &reading{what: "part"}
	p := aPart(r, r.begin(raw))
	if err := r.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// aPart reads a part of any type.
func aPart(r *reading, raw []byte) Part {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	switch kind, read := parts.of(&o); {
	case read != nil:
		return read(o)
	case kind != "":
		return unknownPart(&o, kind, raw)
	}
	return nil
}

// parts is the registry: one line a type.
var parts = registry[PartType, Part]{
	{PartText, readTextPart},
	{PartReasoning, readReasoningPart},
	{PartTool, readToolPart},
	{PartImage, readImagePart},
	{PartFile, readFilePart},
}

// readHead reads what every part has.
func readHead(o *object) PartHead {
	return PartHead{
		ID:               need(o, "id", aString),
		SessionID:        need(o, "sessionId", aSessionID),
		MessageID:        need(o, "messageId", aMessageID),
		ParentToolCallID: maybe(o, "parentToolCallId", aString),
		Meta:             o.meta(),
	}
}

// unknownPart keeps a part whole. Its ids must be there, since the fold needs
// them; of the optional members those are taken that have the right kind.
func unknownPart(o *object, kind PartType, raw []byte) Part {
	p := &UnknownPart{Kind: kind, Raw: bytes.Clone(raw)}
	p.ID = need(o, "id", aString)
	p.SessionID = need(o, "sessionId", aSessionID)
	p.MessageID = need(o, "messageId", aMessageID)
	if parent := o.find("parentToolCallId"); parent != nil && parent[0] == '"' {
		p.ParentToolCallID = new(Unquote(parent))
	}
	if meta := o.find("_meta"); meta != nil && meta[0] == '{' {
		p.Meta = bytes.Clone(meta)
	}
	return p
}

var aTextState = oneOf(StateStreaming, StateDone)

// readTextPart: a state that is missing is not done and not streaming; it stays
// missing.
func readTextPart(o object) Part {
	return &TextPart{
		PartHead: readHead(&o),
		Text:     need(&o, "text", aString),
		State:    orZero(&o, "state", aTextState),
	}
}

// readReasoningPart: what the provider needs back, signatures for instance, stays
// whole.
func readReasoningPart(o object) Part {
	return &ReasoningPart{
		PartHead:         readHead(&o),
		Text:             need(&o, "text", aString),
		State:            orZero(&o, "state", aTextState),
		Time:             orZero(&o, "time", anOpenSpan),
		ProviderMetadata: orZero(&o, "providerMetadata", aFreeObject),
	}
}

// anOpenSpan reads a time whose end may be missing, never null.
func anOpenSpan(r *reading, raw []byte) *OpenSpan {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	return &OpenSpan{Start: need(&o, "start", anInteger), End: maybe(&o, "end", anInteger)}
}

// readImagePart: the source is checked by presence; an empty one is one.
func readImagePart(o object) Part {
	o.exactlyOne("data", "url")
	return &ImagePart{
		PartHead: readHead(&o),
		Data:     maybe(&o, "data", aString),
		URL:      maybe(&o, "url", aString),
		MimeType: need(&o, "mimeType", aString),
	}
}

// readFilePart: as of an image.
func readFilePart(o object) Part {
	o.exactlyOne("data", "url")
	return &FilePart{
		PartHead: readHead(&o),
		Data:     maybe(&o, "data", aString),
		URL:      maybe(&o, "url", aString),
		MimeType: need(&o, "mimeType", aString),
		Filename: maybe(&o, "filename", aString),
	}
}

var aDeltaType = oneOf(DeltaText, DeltaReasoning, DeltaToolInput)

// aDelta reads what a part has grown by.
func aDelta(r *reading, raw []byte) Delta {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	switch need(&o, "type", aDeltaType) {
	case DeltaText:
		return &TextDelta{Text: need(&o, "text", aString)}
	case DeltaReasoning:
		return &ReasoningDelta{Text: need(&o, "text", aString)}
	case DeltaToolInput:
		return readToolInputDelta(&o)
	}
	return nil
}

// readToolInputDelta: the input is a piece of JSON text, so it is not parsed.
func readToolInputDelta(o *object) Delta {
	return &ToolInputDelta{
		ToolCallID: need(o, "toolCallId", aString),
		ToolName:   need(o, "toolName", aString),
		Input:      need(o, "input", aString),
	}
}
