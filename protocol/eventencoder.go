package protocol

// AppendEvent appends an event in its canonical form: compact, members in the
// order of the protocol's pages. An unknown event is its original object again.
func AppendEvent(dst []byte, ev Event) []byte {
	switch e := ev.(type) {
	case *MessagePartDelta:
		return appendMessagePartDelta(dst, e)
	case *MessagePart:
		return appendMessagePart(dst, e)
	case *SessionCreated:
		return appendSessionCreated(dst, e)
	case *SessionEnded:
		return appendSessionEnded(dst, e)
	case *SessionUsage:
		return appendSessionUsage(dst, e)
	case *SessionCompaction:
		return appendSessionCompaction(dst, e)
	case *TurnStarted:
		return appendTurnStarted(dst, e)
	case *TurnEnded:
		return appendTurnEnded(dst, e)
	case *MessageStarted:
		return appendMessageStarted(dst, e)
	case *MessageEnded:
		return appendMessageEnded(dst, e)
	case *PermissionRequested:
		return appendPermissionRequested(dst, e)
	case *PermissionResolved:
		return appendPermissionResolved(dst, e)
	case *ErrorEvent:
		return appendErrorEvent(dst, e)
	case *Raw:
		return appendRawEvent(dst, e)
	case *UnknownEvent:
		return AppendRaw(dst, e.Raw)
	}
	panic("protocol: AppendEvent of no event")
}

// AppendEnvelope appends an envelope in its canonical form.
func AppendEnvelope(dst []byte, env Envelope) []byte {
	dst = appendText(dst, `{"sessionId":`, env.SessionID)
	dst = appendInt(dst, `,"seq":`, env.Seq)
	dst = appendOptInt(dst, `,"prevSeq":`, env.PrevSeq)
	dst = AppendEvent(append(dst, `,"event":`...), env.Event)
	return append(dst, '}')
}

// AppendNotification appends an envelope as the notification `event`, without
// the newline that ends a line.
func AppendNotification(dst []byte, env Envelope) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"event","params":`...)
	return append(AppendEnvelope(dst, env), '}')
}

// MarshalJSON is AppendEnvelope.
func (env Envelope) MarshalJSON() ([]byte, error) { return AppendEnvelope(nil, env), nil }

// appendTail appends what every known event ends in.
func appendTail(dst []byte, timestamp int64, meta Object) []byte {
	dst = appendInt(dst, `,"timestamp":`, timestamp)
	dst = appendOptFree(dst, `,"_meta":`, meta)
	return append(dst, '}')
}

// The appenders below mirror the readers row by row. Each begins with the literal
// of its type and first member, so that the constant bytes are copied at once.

func appendSessionCreated(dst []byte, e *SessionCreated) []byte {
	dst = appendText(dst, `{"type":"session.created","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"nativeSessionId":`, e.NativeSessionID)
	dst = appendText(dst, `,"harness":`, string(e.Harness))
	dst = appendOptText(dst, `,"model":`, e.Model)
	dst = appendOptBool(dst, `,"resumed":`, e.Resumed)
	return appendTail(dst, e.Timestamp, e.Meta)
}

func appendSessionEnded(dst []byte, e *SessionEnded) []byte {
	dst = appendText(dst, `{"type":"session.ended","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"reason":`, e.Reason)
	return appendTail(dst, e.Timestamp, e.Meta)
}

func appendSessionUsage(dst []byte, e *SessionUsage) []byte {
	dst = appendText(dst, `{"type":"session.usage","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"turnId":`, e.TurnID)
	dst = appendNum(dst, `,"used":`, e.Used)
	dst = appendOptNum(dst, `,"size":`, e.Size)
	dst = appendOptNum(dst, `,"cost":`, e.Cost)
	return appendTail(dst, e.Timestamp, e.Meta)
}

func appendSessionCompaction(dst []byte, e *SessionCompaction) []byte {
	dst = appendText(dst, `{"type":"session.compaction","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"turnId":`, e.TurnID)
	dst = appendText(dst, `,"compactionId":`, e.CompactionID)
	dst = appendText(dst, `,"status":`, e.Status)
	dst = appendOptText(dst, `,"trigger":`, e.Trigger)
	dst = appendOptNum(dst, `,"preTokens":`, e.PreTokens)
	dst = appendOptNum(dst, `,"postTokens":`, e.PostTokens)
	dst = appendOptText(dst, `,"summary":`, e.Summary)
	dst = appendOptList(dst, `,"abstractsIds":`, e.AbstractsIDs, AppendString)
	return appendTail(dst, e.Timestamp, e.Meta)
}

func appendTurnStarted(dst []byte, e *TurnStarted) []byte {
	dst = appendText(dst, `{"type":"turn.started","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"turnId":`, e.TurnID)
	return appendTail(dst, e.Timestamp, e.Meta)
}

func appendTurnEnded(dst []byte, e *TurnEnded) []byte {
	dst = appendText(dst, `{"type":"turn.ended","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"turnId":`, e.TurnID)
	dst = appendText(dst, `,"stopReason":`, string(e.StopReason))
	dst = appendOptText(dst, `,"finishReason":`, e.FinishReason)
	if e.Tokens != nil {
		dst = AppendTokenUsage(append(dst, `,"tokens":`...), e.Tokens)
	}
	dst = appendOptNum(dst, `,"cost":`, e.Cost)
	if e.Error != nil {
		dst = appendText(dst, `,"error":{"category":`, string(e.Error.Category))
		dst = appendText(dst, `,"message":`, e.Error.Message)
		dst = append(dst, '}')
	}
	return appendTail(dst, e.Timestamp, e.Meta)
}

// AppendTokenUsage appends what a turn, or a whole session, cost.
func AppendTokenUsage(dst []byte, u *TokenUsage) []byte {
	dst = appendNum(dst, `{"input":`, u.Input)
	dst = appendNum(dst, `,"output":`, u.Output)
	dst = appendOptNum(dst, `,"reasoning":`, u.Reasoning)
	if c := u.Cache; c != nil {
		dst = appendNum(dst, `,"cache":{"read":`, c.Read)
		dst = appendNum(dst, `,"write":`, c.Write)
		dst = appendOptNum(dst, `,"writeEphemeral5m":`, c.WriteEphemeral5m)
		dst = appendOptNum(dst, `,"writeEphemeral1h":`, c.WriteEphemeral1h)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

func appendMessageStarted(dst []byte, e *MessageStarted) []byte {
	dst = appendText(dst, `{"type":"message.started","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"turnId":`, e.TurnID)
	dst = appendText(dst, `,"messageId":`, e.MessageID)
	dst = appendNum(dst, `,"outputIndex":`, e.OutputIndex)
	dst = appendText(dst, `,"role":`, string(e.Role))
	dst = appendOptText(dst, `,"parentToolCallId":`, e.ParentToolCallID)
	dst = appendOptText(dst, `,"model":`, e.Model)
	return appendTail(dst, e.Timestamp, e.Meta)
}

func appendMessagePart(dst []byte, e *MessagePart) []byte {
	dst = appendText(dst, `{"type":"message.part","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"turnId":`, e.TurnID)
	dst = appendText(dst, `,"messageId":`, e.MessageID)
	dst = appendNum(dst, `,"outputIndex":`, e.OutputIndex)
	dst = appendNum(dst, `,"partIndex":`, e.PartIndex)
	dst = AppendPart(append(dst, `,"part":`...), e.Part)
	return appendTail(dst, e.Timestamp, e.Meta)
}

func appendMessagePartDelta(dst []byte, e *MessagePartDelta) []byte {
	dst = appendText(dst, `{"type":"message.part.delta","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"turnId":`, e.TurnID)
	dst = appendText(dst, `,"messageId":`, e.MessageID)
	dst = appendNum(dst, `,"outputIndex":`, e.OutputIndex)
	dst = appendNum(dst, `,"partIndex":`, e.PartIndex)
	dst = appendText(dst, `,"partId":`, e.PartID)
	dst = appendDelta(append(dst, `,"delta":`...), e.Delta)
	return appendTail(dst, e.Timestamp, e.Meta)
}

func appendMessageEnded(dst []byte, e *MessageEnded) []byte {
	dst = appendText(dst, `{"type":"message.ended","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"turnId":`, e.TurnID)
	dst = appendText(dst, `,"messageId":`, e.MessageID)
	return appendTail(dst, e.Timestamp, e.Meta)
}

func appendPermissionRequested(dst []byte, e *PermissionRequested) []byte {
	dst = appendText(dst, `{"type":"permission.requested","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"turnId":`, e.TurnID)
	dst = appendText(dst, `,"requestId":`, e.RequestID)
	dst = appendText(dst, `,"title":`, e.Title)
	if e.ToolCall != nil {
		dst = AppendPermissionToolCall(append(dst, `,"toolCall":`...), e.ToolCall)
	}
	dst = appendList(dst, `,"options":`, e.Options, AppendPermissionOption)
	return appendTail(dst, e.Timestamp, e.Meta)
}

// AppendPermissionToolCall appends the tool call of a request.
func AppendPermissionToolCall(dst []byte, c *PermissionToolCall) []byte {
	dst = append(dst, '{')
	if c.ToolCallID != nil {
		dst = appendText(dst, `"toolCallId":`, *c.ToolCallID)
		dst = append(dst, ',')
	}
	dst = appendText(dst, `"toolName":`, c.ToolName)
	if c.Kind != nil {
		dst = appendText(dst, `,"kind":`, string(*c.Kind))
	}
	dst = appendOptText(dst, `,"title":`, c.Title)
	dst = appendOptList(dst, `,"locations":`, c.Locations, appendLocation)
	dst = appendOptFree(dst, `,"rawInput":`, c.RawInput)
	return append(dst, '}')
}

// AppendPermissionOption appends one option of a request.
func AppendPermissionOption(dst []byte, o PermissionOption) []byte {
	dst = appendText(dst, `{"optionId":`, o.OptionID)
	dst = appendText(dst, `,"name":`, o.Name)
	dst = appendText(dst, `,"kind":`, string(o.Kind))
	return append(dst, '}')
}

func appendPermissionResolved(dst []byte, e *PermissionResolved) []byte {
	dst = appendText(dst, `{"type":"permission.resolved","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"turnId":`, e.TurnID)
	dst = appendText(dst, `,"requestId":`, e.RequestID)
	dst = AppendPermissionOutcome(append(dst, `,"outcome":`...), e.Outcome)
	return appendTail(dst, e.Timestamp, e.Meta)
}

// AppendPermissionOutcome appends how a request was answered.
func AppendPermissionOutcome(dst []byte, o PermissionOutcome) []byte {
	dst = appendText(dst, `{"outcome":`, string(o.Outcome))
	if o.Outcome == OutcomeSelected {
		dst = appendText(dst, `,"optionId":`, o.OptionID)
		dst = appendOptFree(dst, `,"updatedInput":`, o.UpdatedInput)
	}
	return append(dst, '}')
}

func appendErrorEvent(dst []byte, e *ErrorEvent) []byte {
	dst = append(dst, `{"type":"error"`...)
	dst = appendOptText(dst, `,"sessionId":`, e.SessionID)
	dst = appendOptText(dst, `,"turnId":`, e.TurnID)
	dst = appendText(dst, `,"category":`, string(e.Category))
	dst = appendText(dst, `,"message":`, e.Message)
	dst = appendBool(dst, `,"recoverable":`, e.Recoverable)
	return appendTail(dst, e.Timestamp, e.Meta)
}

func appendRawEvent(dst []byte, e *Raw) []byte {
	dst = appendText(dst, `{"type":"raw","sessionId":`, e.SessionID)
	dst = appendText(dst, `,"turnId":`, e.TurnID)
	dst = appendText(dst, `,"harness":`, string(e.Harness))
	dst = AppendRaw(append(dst, `,"data":`...), e.Data)
	return appendTail(dst, e.Timestamp, e.Meta)
}
