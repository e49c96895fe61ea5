package protocol

// AppendToolState appends a tool's state in its canonical form.
func AppendToolState(dst []byte, s ToolState) []byte {
	switch s := s.(type) {
	case *PendingState:
		return appendPendingState(dst, s)
	case *InProgressState:
		return appendInProgressState(dst, s)
	case *CompletedState:
		return appendCompletedState(dst, s)
	case *FailedState:
		return appendFailedState(dst, s)
	case *CancelledState:
		return appendCancelledState(dst, s)
	}
	panic("protocol: a tool part without a state")
}

// appendEnd appends what every state and content ends in.
func appendEnd(dst []byte, meta Object) []byte {
	return append(appendOptFree(dst, `,"_meta":`, meta), '}')
}

// Each state begins with the literal of its status; appendEnd closes it.

func appendPendingState(dst []byte, s *PendingState) []byte {
	dst = appendText(dst, `{"status":"pending","partialInput":`, s.PartialInput)
	return appendEnd(dst, s.Meta)
}

func appendInProgressState(dst []byte, s *InProgressState) []byte {
	dst = appendFree(dst, `{"status":"in_progress","input":`, s.Input)
	dst = appendOptText(dst, `,"title":`, s.Title)
	dst = appendInt(dst, `,"time":{"start":`, s.Time.Start)
	return appendEnd(append(dst, '}'), s.Meta)
}

func appendCompletedState(dst []byte, s *CompletedState) []byte {
	dst = appendFree(dst, `{"status":"completed","input":`, s.Input)
	dst = appendText(dst, `,"output":`, s.Output)
	dst = appendOptList(dst, `,"content":`, s.Content, appendToolContent)
	dst = appendOptFree(dst, `,"metadata":`, s.Metadata)
	dst = appendOptText(dst, `,"title":`, s.Title)
	return appendEnd(appendSpan(dst, s.Time), s.Meta)
}

func appendFailedState(dst []byte, s *FailedState) []byte {
	dst = appendFree(dst, `{"status":"failed","input":`, s.Input)
	dst = appendText(dst, `,"error":`, s.Error)
	return appendEnd(appendSpan(dst, s.Time), s.Meta)
}

func appendCancelledState(dst []byte, s *CancelledState) []byte {
	dst = appendFree(dst, `{"status":"cancelled","input":`, s.Input)
	return appendEnd(appendSpan(dst, s.Time), s.Meta)
}

// appendSpan appends a time that is over.
func appendSpan(dst []byte, t Span) []byte {
	dst = appendInt(dst, `,"time":{"start":`, t.Start)
	dst = appendInt(dst, `,"end":`, t.End)
	return append(dst, '}')
}

// appendToolContent appends one piece of a tool's result.
func appendToolContent(dst []byte, c ToolContent) []byte {
	switch c := c.(type) {
	case *TextContent:
		return appendTextContent(dst, c)
	case *ImageContent:
		return appendImageContent(dst, c)
	case *DiffContent:
		return appendDiffContent(dst, c)
	case *TerminalContent:
		return appendTerminalContent(dst, c)
	}
	panic("protocol: tool content that is none")
}

// Each content begins with the literal of its type; appendEnd closes it.

func appendTextContent(dst []byte, c *TextContent) []byte {
	dst = appendText(dst, `{"type":"text","text":`, c.Text)
	return appendEnd(dst, c.Meta)
}

func appendImageContent(dst []byte, c *ImageContent) []byte {
	dst = appendText(dst, `{"type":"image","data":`, c.Data)
	dst = appendText(dst, `,"mimeType":`, c.MimeType)
	return appendEnd(dst, c.Meta)
}

func appendDiffContent(dst []byte, c *DiffContent) []byte {
	dst = appendText(dst, `{"type":"diff","path":`, c.Path)
	dst = appendOptText(dst, `,"oldText":`, c.OldText)
	dst = appendText(dst, `,"newText":`, c.NewText)
	return appendEnd(dst, c.Meta)
}

func appendTerminalContent(dst []byte, c *TerminalContent) []byte {
	dst = appendText(dst, `{"type":"terminal","terminalId":`, c.TerminalID)
	return appendEnd(dst, c.Meta)
}
