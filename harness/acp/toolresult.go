package acp

import (
	"slices"
	"strings"

	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// toolContent is a call's content as ours; what has no place in it is left out.
func toolContent(raw jsontext.Value) []protocol.ToolContent {
	var out []protocol.ToolContent
	for _, c := range list[struct {
		Type       text           `json:"type"`
		Content    jsontext.Value `json:"content"`
		Path       text           `json:"path"`
		OldText    jsontext.Value `json:"oldText"`
		NewText    text           `json:"newText"`
		TerminalID text           `json:"terminalId"`
	}](raw) {
		switch c.Type {
		case "content":
			if b := read[content](c.Content).toolContent(); b != nil {
				out = append(out, b)
			}
		case "diff":
			out = append(out, &protocol.DiffContent{
				Path: string(c.Path), OldText: oldText(c.OldText), NewText: string(c.NewText),
			})
		case "terminal":
			out = append(out, &protocol.TerminalContent{TerminalID: string(c.TerminalID)})
		}
	}
	return out
}

// diffed are the files that a content shows changes of.
func diffed(content []protocol.ToolContent) (files []string) {
	for _, c := range content {
		if d, ok := c.(*protocol.DiffContent); ok {
			files = append(files, d.Path)
		}
	}
	return files
}

// diffs are those among some content. The texts that come with a question are about
// it: they are no result.
func diffs(content []protocol.ToolContent) []protocol.ToolContent {
	return slices.DeleteFunc(slices.Clone(content), func(c protocol.ToolContent) bool {
		_, is := c.(*protocol.DiffContent)
		return !is
	})
}

// oldText is what a diff replaces: agents write null, "" or nothing for a file
// that is new.
func oldText(raw jsontext.Value) *string {
	if raw.Kind() != '"' || len(raw) == len(`""`) {
		return nil
	}
	return new(protocol.Unquote(raw))
}

// toolContent is one block of a tool's result; nil where it has no place.
func (b content) toolContent() protocol.ToolContent {
	switch b.Type {
	case "text":
		if b.Text.Kind() == '"' {
			return &protocol.TextContent{Text: protocol.Unquote(b.Text)}
		}
	case "image":
		if b.Data != "" {
			return &protocol.ImageContent{Data: string(b.Data), MimeType: orElse(b.MimeType, "image/*")}
		}
	case "resource_link":
		return &protocol.TextContent{Text: string(b.URI)}
	case "resource":
		if p, ok := embeddedPart(b.Resource).(*protocol.TextPart); ok {
			return &protocol.TextContent{Text: p.Text}
		}
	}
	return nil
}

// outputText is what the model read, as far as the agent says: the raw output
// where it is text, since content is made for display, else the content's text,
// else whatever the raw output is.
func (tl *tool) outputText() string {
	if tl.output.Kind() == '"' {
		return protocol.Unquote(tl.output)
	}
	if said := saidIn(tl.output, outputMembers...); said != "" {
		return said
	}
	if said := tl.contentText(); said != "" || hasText(tl.output, outputMembers...) {
		return said // the call has said nothing, and that is its result
	}
	return string(object(tl.output))
}

// outputMembers are where agents put a result's text.
var outputMembers = []string{"formatted_output", "aggregated_output", "output", "stdout"}

// errorText is why the call failed; never "".
func (tl *tool) errorText() string {
	if tl.output.Kind() == '"' && len(tl.output) > len(`""`) {
		return protocol.Unquote(tl.output)
	}
	if said := saidIn(tl.output, "error", "message", "formatted_output", "aggregated_output", "stderr"); said != "" {
		return said
	}
	if said := tl.contentText(); said != "" {
		return said
	}
	if raw := object(tl.output); raw != nil {
		return string(raw)
	}
	return "the agent did not say how the call ended"
}

// contentText is the text among the content, a line break between blocks.
func (tl *tool) contentText() string {
	var texts []string
	for _, c := range tl.content {
		if c, ok := c.(*protocol.TextContent); ok && c.Text != "" {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// hasText says whether one of some members is a string.
func hasText(raw jsontext.Value, members ...string) bool {
	values := read[map[string]jsontext.Value](raw)
	return slices.ContainsFunc(members, func(name string) bool { return values[name].Kind() == '"' })
}

// saidIn is the first of some members that is a string with anything in it.
func saidIn(raw jsontext.Value, members ...string) string {
	if raw.Kind() != '{' {
		return ""
	}
	values := read[map[string]jsontext.Value](raw)
	for _, name := range members {
		if v := values[name]; v.Kind() == '"' && len(v) > len(`""`) {
			return protocol.Unquote(v)
		}
	}
	return ""
}
