package protocol

// AppendPart appends a part in its canonical form; an unknown one is its
// original object again.
func AppendPart(dst []byte, p Part) []byte {
	switch p := p.(type) {
	case *TextPart:
		return appendTextPart(dst, p)
	case *ReasoningPart:
		return appendReasoningPart(dst, p)
	case *ToolPart:
		return appendToolPart(dst, p)
	case *ImagePart:
		return appendImagePart(dst, p)
	case *FilePart:
		return appendFilePart(dst, p)
	case *UnknownPart:
		return AppendRaw(dst, p.Raw)
	}
	panic("protocol: AppendPart of no part")
}

// appendHead appends what every part begins with.
func appendHead(dst []byte, h *PartHead) []byte {
	dst = appendText(dst, `{"id":`, h.ID)
	dst = appendText(dst, `,"sessionId":`, h.SessionID)
	dst = appendText(dst, `,"messageId":`, h.MessageID)
	dst = appendOptText(dst, `,"parentToolCallId":`, h.ParentToolCallID)
	return appendOptFree(dst, `,"_meta":`, h.Meta)
}

// A part's type stands behind its head, so the literal that names it also closes
// the head.

func appendTextPart(dst []byte, p *TextPart) []byte {
	dst = appendHead(dst, &p.PartHead)
	dst = appendText(dst, `,"type":"text","text":`, p.Text)
	dst = appendOptWord(dst, `,"state":`, p.State)
	return append(dst, '}')
}

func appendReasoningPart(dst []byte, p *ReasoningPart) []byte {
	dst = appendHead(dst, &p.PartHead)
	dst = appendText(dst, `,"type":"reasoning","text":`, p.Text)
	dst = appendOptWord(dst, `,"state":`, p.State)
	if p.Time != nil {
		dst = appendInt(dst, `,"time":{"start":`, p.Time.Start)
		dst = appendOptInt(dst, `,"end":`, p.Time.End)
		dst = append(dst, '}')
	}
	dst = appendOptFree(dst, `,"providerMetadata":`, p.ProviderMetadata)
	return append(dst, '}')
}

func appendImagePart(dst []byte, p *ImagePart) []byte {
	dst = appendHead(dst, &p.PartHead)
	dst = append(dst, `,"type":"image"`...)
	dst = appendOptText(dst, `,"data":`, p.Data)
	dst = appendOptText(dst, `,"url":`, p.URL)
	dst = appendText(dst, `,"mimeType":`, p.MimeType)
	return append(dst, '}')
}

func appendFilePart(dst []byte, p *FilePart) []byte {
	dst = appendHead(dst, &p.PartHead)
	dst = append(dst, `,"type":"file"`...)
	dst = appendOptText(dst, `,"data":`, p.Data)
	dst = appendOptText(dst, `,"url":`, p.URL)
	dst = appendText(dst, `,"mimeType":`, p.MimeType)
	dst = appendOptText(dst, `,"filename":`, p.Filename)
	return append(dst, '}')
}

func appendToolPart(dst []byte, p *ToolPart) []byte {
	dst = appendHead(dst, &p.PartHead)
	dst = appendText(dst, `,"type":"tool","toolCallId":`, p.ToolCallID)
	dst = appendText(dst, `,"toolName":`, p.ToolName)
	dst = appendOptWord(dst, `,"kind":`, p.Kind)
	dst = appendOptText(dst, `,"title":`, p.Title)
	dst = appendOptList(dst, `,"locations":`, p.Locations, appendLocation)
	if p.Subagent != nil {
		dst = appendSubagent(append(dst, `,"subagent":`...), p.Subagent)
	}
	dst = AppendToolState(append(dst, `,"state":`...), p.State)
	return append(dst, '}')
}

// appendLocation appends a place in a file.
func appendLocation(dst []byte, l Location) []byte {
	dst = appendText(dst, `{"path":`, l.Path)
	dst = appendOptNum(dst, `,"line":`, l.Line)
	return append(dst, '}')
}

// appendSubagent appends an object of which every member may be absent.
func appendSubagent(dst []byte, s *Subagent) []byte {
	open := len(dst)
	dst = appendOptText(dst, `,"type":`, s.Type)
	dst = appendOptText(dst, `,"description":`, s.Description)
	dst = appendOptText(dst, `,"model":`, s.Model)
	dst = appendOptText(dst, `,"agentId":`, s.AgentID)
	if len(dst) == open {
		return append(dst, "{}"...)
	}
	dst[open] = '{' // where the first member's comma stands
	return append(dst, '}')
}

// appendDelta appends what a part has grown by.
func appendDelta(dst []byte, d Delta) []byte {
	switch d := d.(type) {
	case *TextDelta:
		return append(appendText(dst, `{"type":"text","text":`, d.Text), '}')
	case *ReasoningDelta:
		return append(appendText(dst, `{"type":"reasoning","text":`, d.Text), '}')
	case *ToolInputDelta:
		return appendToolInputDelta(dst, d)
	}
	panic("protocol: a delta event without a delta")
}

// appendToolInputDelta appends a piece of a tool's input, as text.
func appendToolInputDelta(dst []byte, d *ToolInputDelta) []byte {
	dst = appendText(dst, `{"type":"tool_input","toolCallId":`, d.ToolCallID)
	dst = appendText(dst, `,"toolName":`, d.ToolName)
	dst = appendText(dst, `,"input":`, d.Input)
	return append(dst, '}')
}
