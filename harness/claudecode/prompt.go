package claudecode

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"

	"agent-server/protocol"
)

// userLine is a prompt on its way in.
type userLine struct {
	// Type is user.
	Type string `json:"type"`
	// SessionID is not looked at by the CLI, but its own SDK writes it.
	SessionID string `json:"session_id"`
	// Message is the prompt.
	Message promptMessage `json:"message"`
	// Parent is null: the user speaks to the main agent.
	Parent *string `json:"parent_tool_use_id"`
	// UUID comes back in what the CLI says of this prompt.
	UUID string `json:"uuid"`
}

// promptMessage is a message as the model's API has it.
type promptMessage struct {
	// Role is user.
	Role string `json:"role"`
	// Content is a string or a []promptBlock.
	Content any `json:"content"`
}

// promptBlock is one block of a prompt: text, image or document.
type promptBlock struct {
	// Type is text, image or document.
	Type string `json:"type"`
	// Text is of a text block, not empty.
	Text string `json:"text,omitzero"`
	// Source is of an image or a document.
	Source *promptSource `json:"source,omitzero"`
	// Title is a document's file name.
	Title string `json:"title,omitzero"`
}

// promptSource is where the bytes of an image or a document come from.
type promptSource struct {
	// Type is base64, text or url.
	Type string `json:"type"`
	// MediaType is of base64 and text.
	MediaType string `json:"media_type,omitzero"`
	// Data is of base64 and text.
	Data string `json:"data,omitzero"`
	// URL is of url.
	URL string `json:"url,omitzero"`
}

// promptLine is the line of one prompt, its newline included. A file that the
// model cannot read is an error: it must not get lost in silence.
func promptLine(uuid string, in protocol.Input) ([]byte, error) {
	body := promptMessage{Role: "user", Content: in.Text}
	if !in.IsText {
		blocks := make([]promptBlock, len(in.Items))
		for i, item := range in.Items {
			block, err := promptBlockOf(item)
			if err != nil {
				return nil, fmt.Errorf("input.%d: %w", i, err)
			}
			blocks[i] = block
		}
		body.Content = blocks
	}
	line := protocol.Encode(userLine{Type: "user", Message: body, UUID: uuid})
	return append(line, '\n'), nil
}

// promptBlockOf is one item of a prompt; an error where the model cannot take it.
func promptBlockOf(item protocol.InputItem) (promptBlock, error) {
	switch item.Type {
	case protocol.InputText:
		return promptBlock{Type: "text", Text: item.Text}, nil
	case protocol.InputImage:
		return promptBlock{Type: "image", Source: sourceOf(item)}, nil
	}
	return fileBlock(item)
}

// fileBlock gives a file as the document that the model takes: a PDF as it is,
// text decoded. A text file behind a URL has no such form; the model is told
// where it is.
func fileBlock(item protocol.InputItem) (promptBlock, error) {
	title := ""
	if item.Filename != nil {
		title = *item.Filename
	}
	kind, _, _ := strings.Cut(item.MimeType, ";")
	switch {
	case kind == "application/pdf":
		return promptBlock{Type: "document", Source: sourceOf(item), Title: title}, nil
	case !isTextual(kind):
		return promptBlock{}, fmt.Errorf("no file of type %q can be given to Claude Code", item.MimeType)
	case item.Data == nil:
		return promptBlock{Type: "text", Text: cmp.Or(title, "A file") + " is at " + *item.URL}, nil
	}
	body, err := base64.StdEncoding.DecodeString(*item.Data)
	if err != nil {
		return promptBlock{}, fmt.Errorf("data is not base64: %w", err)
	}
	source := &promptSource{Type: "text", MediaType: "text/plain", Data: strings.ToValidUTF8(string(body), "\uFFFD")}
	return promptBlock{Type: "document", Source: source, Title: title}, nil
}

// sourceOf is where an item's bytes come from; it has data or a URL.
func sourceOf(item protocol.InputItem) *promptSource {
	if item.Data == nil {
		return &promptSource{Type: "url", URL: *item.URL}
	}
	return &promptSource{Type: "base64", MediaType: item.MimeType, Data: *item.Data}
}

// isTextual says whether files of a media type are text.
func isTextual(kind string) bool {
	switch kind {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml",
		"application/toml", "application/javascript", "application/x-sh", "application/sql":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}
