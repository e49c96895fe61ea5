package codexappserver

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // each import lets an image of its kind be read
	_ "image/jpeg"
	_ "image/png"
	"strings"
	"unicode/utf8"

	"agent-server/protocol"
)

// Codex takes text and images. It runs a turn whose image it cannot read all the
// same, tells the model so in words and the client not at all: so images are looked at
// before the prompt is written. Only their heads are: enough to tell what is no image,
// without taking a picture apart in a step that everything else waits for.
//
// Files have no form of their own: those that are text are sent as text, with their
// name, and others are refused.

// inputItem is one item of a prompt, as Codex writes it: text or image.
type inputItem struct {
	// Type says which of the others is there.
	Type string `json:"type"`
	// Text may be empty.
	Text *string `json:"text,omitzero"`
	// URL is where an image is: data:, http: or https:.
	URL string `json:"url,omitzero"`
}

func textItem(text string) inputItem { return inputItem{Type: "text", Text: &text} }

// inputItems are an input as Codex takes it; never nil. What it cannot read is an
// error here, since Codex would run the turn without it and say nothing.
func inputItems(in protocol.Input) ([]inputItem, error) {
	if in.IsText {
		return []inputItem{textItem(in.Text)}, nil
	}
	items := make([]inputItem, 0, len(in.Items))
	for i := range in.Items {
		item, err := oneItem(&in.Items[i])
		if err != nil {
			return nil, fmt.Errorf("input item %d: %w", i, err)
		}
		items = append(items, item)
	}
	return items, nil
}

func oneItem(it *protocol.InputItem) (inputItem, error) {
	switch it.Type {
	case protocol.InputText:
		return textItem(it.Text), nil
	case protocol.InputImage:
		return imageItem(it)
	case protocol.InputFile:
		return fileItem(it)
	}
	return inputItem{}, errors.New("not a text, an image or a file")
}

// imageItem is an image by its address, or with its data.
func imageItem(it *protocol.InputItem) (inputItem, error) {
	if it.Data != nil {
		if err := checkImage(*it.Data); err != nil {
			return inputItem{}, err
		}
		return inputItem{Type: "image", URL: "data:" + it.MimeType + ";base64," + *it.Data}, nil
	}
	if it.URL == nil {
		return inputItem{}, errors.New("an image has neither data nor a url")
	}
	scheme, rest, _ := strings.Cut(*it.URL, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		return inputItem{Type: "image", URL: *it.URL}, nil
	case "data":
		_, data, found := strings.Cut(rest, ";base64,")
		if !found {
			return inputItem{}, errors.New("a data url that is not base64")
		}
		return inputItem{Type: "image", URL: *it.URL}, checkImage(data)
	}
	return inputItem{}, errors.New("an image's url must be http, https or data")
}

// checkImage looks at the head of an image: enough to tell it from what is none.
func checkImage(data string) error {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return fmt.Errorf("reading an image: %w", err)
	}
	if bytes.HasPrefix(raw, []byte("RIFF")) && len(raw) > 16 && string(raw[8:12]) == "WEBP" {
		return nil
	}
	if _, _, err := image.DecodeConfig(bytes.NewReader(raw)); err != nil {
		return fmt.Errorf("reading an image: %w", err)
	}
	return nil
}

// fileItem is a file as text: Codex takes no other.
func fileItem(it *protocol.InputItem) (inputItem, error) {
	name := "attachment"
	if it.Filename != nil && *it.Filename != "" {
		name = *it.Filename
	}
	if it.URL != nil {
		return textItem("Attached: " + name + " at " + *it.URL), nil
	}
	if it.Data == nil {
		return inputItem{}, errors.New("a file has neither data nor a url")
	}
	raw, err := base64.StdEncoding.DecodeString(*it.Data)
	if err != nil || !utf8.Valid(raw) {
		return inputItem{}, errors.New("of files, Codex takes those that are text")
	}
	return textItem("Attached: " + name + "\n\n" + string(raw)), nil
}
