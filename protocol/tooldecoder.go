package protocol

func readToolPart(o object) Part {
	return &ToolPart{
		PartHead:   readHead(&o),
		ToolCallID: need(&o, "toolCallId", aString),
		ToolName:   need(&o, "toolName", aString),
		Kind:       orZero(&o, "kind", aWord[ToolKind]),
		Title:      maybe(&o, "title", aString),
		Locations:  orZero(&o, "locations", someLocations),
		Subagent:   orZero(&o, "subagent", aSubagent),
		State:      need(&o, "state", aToolState),
	}
}

var someLocations = listOf(aLocation)

func aLocation(r *reading, raw []byte) Location {
	o, ok := r.open(raw)
	if !ok {
		return Location{}
	}
	return Location{Path: need(&o, "path", aString), Line: maybe(&o, "line", aNumber)}
}

func aSubagent(r *reading, raw []byte) *Subagent {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	return &Subagent{
		Type:        maybe(&o, "type", aString),
		Description: maybe(&o, "description", aString),
		Model:       maybe(&o, "model", aString),
		AgentID:     maybe(&o, "agentId", aString),
	}
}

var aToolStatus = oneOf(ToolPending, ToolInProgress, ToolCompleted, ToolFailed, ToolCancelled)

// aToolState reads how far a tool call has come.
func aToolState(r *reading, raw []byte) ToolState {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	switch need(&o, "status", aToolStatus) {
	case ToolPending:
		return readPendingState(&o)
	case ToolInProgress:
		return readInProgressState(&o)
	case ToolCompleted:
		return readCompletedState(&o)
	case ToolFailed:
		return readFailedState(&o)
	case ToolCancelled:
		return readCancelledState(&o)
	}
	return nil
}

func readPendingState(o *object) ToolState {
	return &PendingState{PartialInput: need(o, "partialInput", aString), Meta: o.meta()}
}

func readInProgressState(o *object) ToolState {
	return &InProgressState{
		Input: need(o, "input", aFreeObject),
		Title: maybe(o, "title", aString),
		Time:  need(o, "time", aSince),
		Meta:  o.meta(),
	}
}

func readCompletedState(o *object) ToolState {
	return &CompletedState{
		Input:    need(o, "input", aFreeObject),
		Output:   need(o, "output", aString),
		Content:  orZero(o, "content", someContent),
		Metadata: orZero(o, "metadata", aFreeObject),
		Title:    maybe(o, "title", aString),
		Time:     need(o, "time", aSpan),
		Meta:     o.meta(),
	}
}

func readFailedState(o *object) ToolState {
	return &FailedState{
		Input: need(o, "input", aFreeObject),
		Error: need(o, "error", aString),
		Time:  need(o, "time", aSpan),
		Meta:  o.meta(),
	}
}

func readCancelledState(o *object) ToolState {
	return &CancelledState{
		Input: need(o, "input", aFreeObject),
		Time:  need(o, "time", aSpan),
		Meta:  o.meta(),
	}
}

func aSince(r *reading, raw []byte) Since {
	o, ok := r.open(raw)
	if !ok {
		return Since{}
	}
	return Since{Start: need(&o, "start", anInteger)}
}

func aSpan(r *reading, raw []byte) Span {
	o, ok := r.open(raw)
	if !ok {
		return Span{}
	}
	return Span{Start: need(&o, "start", anInteger), End: need(&o, "end", anInteger)}
}

var (
	aContentType = oneOf(ContentText, ContentImage, ContentDiff, ContentTerminal)
	someContent  = listOf(aToolContent)
)

// aToolContent reads one piece of a tool's result.
func aToolContent(r *reading, raw []byte) ToolContent {
	o, ok := r.open(raw)
	if !ok {
		return nil
	}
	switch need(&o, "type", aContentType) {
	case ContentText:
		return &TextContent{Text: need(&o, "text", aString), Meta: o.meta()}
	case ContentImage:
		return readImageContent(&o)
	case ContentDiff:
		return readDiffContent(&o)
	case ContentTerminal:
		return &TerminalContent{TerminalID: need(&o, "terminalId", aString), Meta: o.meta()}
	}
	return nil
}

func readImageContent(o *object) ToolContent {
	return &ImageContent{
		Data:     need(o, "data", aString),
		MimeType: need(o, "mimeType", aString),
		Meta:     o.meta(),
	}
}

func readDiffContent(o *object) ToolContent {
	return &DiffContent{
		Path:    need(o, "path", aString),
		OldText: maybe(o, "oldText", aString),
		NewText: need(o, "newText", aString),
		Meta:    o.meta(),
	}
}
