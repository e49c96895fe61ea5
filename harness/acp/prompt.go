package acp

import (
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"agent-server/harness"
	"agent-server/protocol"
)

// promptParams are those of session/prompt.
type promptParams struct {
	// SessionID is the open session.
	SessionID string `json:"sessionId"`
	// Prompt may be empty, never null.
	Prompt []block `json:"prompt"`
}

// block is one content block of a prompt: text, image, resource_link or
// resource.
type block struct {
	// Type says which of the others are there.
	Type string `json:"type"`
	// Text may be empty where it is the whole input.
	Text *string `json:"text,omitzero"`
	// MimeType is the media type of an image or a link.
	MimeType string `json:"mimeType,omitzero"`
	// Data is an image in base64.
	Data string `json:"data,omitzero"`
	// URI and Name are those of a link.
	URI  string `json:"uri,omitzero"`
	Name string `json:"name,omitzero"`
	// Resource is a file with its content.
	Resource *embeddedBlock `json:"resource,omitzero"`
}

// embeddedBlock is a resource with its content: text or blob.
type embeddedBlock struct {
	// URI names it; it need not be reachable.
	URI string `json:"uri"`
	// MimeType is the media type.
	MimeType string `json:"mimeType,omitzero"`
	// Text is the content as text; nil where Blob is set.
	Text *string `json:"text,omitzero"`
	// Blob is the content in base64.
	Blob string `json:"blob,omitzero"`
}

// prompt writes the turn's prompt. The protocol has no word for an agent having
// taken it: a cancel can follow as soon as it is written.
func (t *translator) prompt() {
	blocks, err := t.blocks(t.turn.in.Input)
	if err != nil {
		t.reject(protocol.TurnError{Category: protocol.CategoryInvalidRequest, Message: err.Error()})
		return
	}
	t.closePart() // of what came late
	t.speech = speech{n: t.speech.n}
	turn := t.turn
	turn.written = true
	t.fenced = fence{}
	t.call("session/prompt", promptParams{t.session, blocks}, (*translator).prompted)
	t.out.Timers = append(t.out.Timers, harness.Timer{Name: handshakeTimer})
	t.emit(harness.PromptWritten{}, harness.Registered{})
	t.catchUp()
}

// blocks are an input as content blocks; never nil. What the agent cannot read
// is an error: a prompt without its image means something else.
func (t *translator) blocks(in protocol.Input) ([]block, error) {
	if in.IsText {
		return []block{{Type: "text", Text: &in.Text}}, nil
	}
	blocks := make([]block, 0, len(in.Items))
	for i := range in.Items {
		b, err := t.block(&in.Items[i])
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// block is one item as a content block: what has an address becomes a link,
// which every agent takes.
func (t *translator) block(it *protocol.InputItem) (block, error) {
	switch {
	case it.Type == protocol.InputText:
		return block{Type: "text", Text: &it.Text}, nil
	case it.URL != nil:
		return block{Type: "resource_link", URI: *it.URL, Name: nameOf(it), MimeType: it.MimeType}, nil
	case it.Data == nil:
		return block{}, errors.New("an input item has neither data nor a url")
	case it.Type == protocol.InputImage && bool(t.can.Prompt.Image):
		return block{Type: "image", MimeType: it.MimeType, Data: *it.Data}, nil
	case it.Type == protocol.InputImage:
		return block{}, errors.New("the agent takes no images")
	case bool(t.can.Prompt.EmbeddedContext):
		return block{Type: "resource", Resource: embedded(it)}, nil
	}
	return block{}, errors.New("the agent takes no embedded files, only their addresses")
}

// embedded is a file with its content; text is sent as text.
func embedded(it *protocol.InputItem) *embeddedBlock {
	b := &embeddedBlock{URI: "attachment:///" + url.PathEscape(nameOf(it)), MimeType: it.MimeType}
	if strings.HasPrefix(it.MimeType, "text/") {
		if raw, err := base64.StdEncoding.DecodeString(*it.Data); err == nil && utf8.Valid(raw) {
			b.Text = new(string(raw))
			return b
		}
	}
	b.Blob = *it.Data
	return b
}

// nameOf is what to call an item.
func nameOf(it *protocol.InputItem) string {
	if it.Filename != nil && *it.Filename != "" {
		return *it.Filename
	}
	if it.URL != nil {
		if u, err := url.Parse(*it.URL); err == nil {
			if name := u.Path[strings.LastIndexByte(u.Path, '/')+1:]; name != "" {
				return name
			}
		}
	}
	return string(it.Type)
}
