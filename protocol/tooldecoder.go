package protocol

// readToolPart: the kind is open and may be missing; a sub-agent does not make it
// task here, that is the maker's duty.
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

// aLocation reads a place in a file; a line is any number, as in the base.
func aLocation(r *reading, raw []byte) Location {
	o, ok := r.open(raw)
	if !ok {
		return Location{}
	}
	return Location{Path: need(&o, "path", aString), Line: maybe(&o, "line", aNumber)}
}

// aSubagent reads what is known of the agent behind a call: maybe nothing.
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

// The five states have less in common than it seems: only _meta is in all.

// readPendingState: the input is not parsed, it may break off anywhere.
func readPendingState(o *object) ToolState {
	return &PendingState{PartialInput: need(o, "partialInput", aString), Meta: o.meta()}
}

// readInProgressState: from here on the input is an object.
func readInProgressState(o *object) ToolState {
	return &InProgressState{
		Input: need(o, "input", aFreeObject),
		Title: maybe(o, "title", aString),
		Time:  need(o, "time", aSince),
		Meta:  o.meta(),
	}
}

// readCompletedState: output is required even beside content, for it is what every
// renderer falls back on.
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

// readFailedState has an error where a completed one has an output.
func readFailedState(o *object) ToolState {
	return &FailedState{
		Input: need(o, "input", aFreeObject),
		Error: need(o, "error", aString),
		Time:  need(o, "time", aSpan),
		Meta:  o.meta(),
	}
}

// readCancelledState has neither.
func readCancelledState(o *object) ToolState {
	return &CancelledState{
		Input: need(o, "input", aFreeObject),
		Time:  need(o, "time", aSpan),
		Meta:  o.meta(),
	}
}

// aSince reads when something began that goes on.
func aSince(r *reading, raw []byte) Since {
	o, ok := r.open(raw)
	if !ok {
		return Since{}
	}
	return Since{Start: need(&o, "start", anInteger)}
}

// aSpan reads a time that is over. Any integer is one: that the end is not before
// the start, nobody promises.
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
