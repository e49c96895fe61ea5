package echo

import "agent-server/protocol"

// partOf is the item as a part. Input items are of three types; the decoder
// has refused any other.
func partOf(head protocol.PartHead, item protocol.InputItem) protocol.Part {
	switch item.Type {
	case protocol.InputImage:
		return imagePart(head, item)
	case protocol.InputFile:
		return filePart(head, item)
	}
	return textPart(head, item)
}

// textPart keeps the text, and its elements in _meta: the base's text part has
// no member for them.
func textPart(head protocol.PartHead, item protocol.InputItem) *protocol.TextPart {
	head.Meta = elementsMeta(item.Elements)
	return &protocol.TextPart{PartHead: head, Text: item.Text, State: protocol.StateDone}
}

// imagePart drops a filename, which the base's image part cannot carry.
func imagePart(head protocol.PartHead, item protocol.InputItem) *protocol.ImagePart {
	return &protocol.ImagePart{PartHead: head, Data: item.Data, URL: item.URL, MimeType: item.MimeType}
}

// filePart keeps the filename.
func filePart(head protocol.PartHead, item protocol.InputItem) *protocol.FilePart {
	return &protocol.FilePart{PartHead: head, Data: item.Data, URL: item.URL, MimeType: item.MimeType, Filename: item.Filename}
}

// elementsMeta is {"elements": […]}; nil where there are none, so that a plain
// text has no _meta at all. An element has byteRange and placeholder only.
func elementsMeta(elements []protocol.TextElement) protocol.Object {
	if len(elements) == 0 {
		return nil
	}
	meta := []byte(`{"elements":[`)
	for i, e := range elements {
		if i > 0 {
			meta = append(meta, ',')
		}
		meta = protocol.AppendTextElement(meta, e)
	}
	return append(meta, "]}"...)
}
