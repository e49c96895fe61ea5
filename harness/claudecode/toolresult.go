package claudecode

import (
	"bytes"
	"strings"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A call's states come from three lines: pending from the block as it begins to
// stream, in progress from the assistant line that completes its input, and the
// end from a user line with its result. No line says that a tool has begun to run,
// and a question about it may come while it is in progress here.

// resultMeta is what the CLI adds to a tool's result.
type resultMeta struct {
	// ID is the call's.
	ID text `json:"id"`
	// NotRun is why the tool did not run, or not to its end; "" where it did.
	NotRun text `json:"non_execution_kind"`
	// Decision is who allowed or refused it; absent where nobody did.
	Decision jsontext.Value `json:"permission_decision"`
}

// onToolResult ends a tool call.
func (t *translator) onToolResult(c content, s spoken) {
	call := t.calls[string(c.ToolUseID)]
	if call == nil {
		t.note("result of an unknown tool call", "")
		return
	}
	delete(t.calls, call.id)
	up := harness.ToolSet{Call: call.id, Owner: call.owner}
	output, images := outputOf(c.Content)
	switch {
	case !bool(c.IsError):
		diffs, locations := diffsOf(call.view, s.Structured)
		up.Locations = locations
		up.State = &protocol.CompletedState{Output: output, Content: append(images, diffs...), Metadata: metadataOf(s.Structured)}
	case t.wasStopped(c, s):
		up.State = &protocol.CancelledState{}
	default:
		up.State = &protocol.FailedState{Error: output}
	}
	t.emit(up)
}

// wasStopped says whether a call ended because the turn was interrupted. Such a
// result reads as the user's refusal, but nobody decided on a permission: a
// refusal names its decision. Without the mark, an older CLI's or that of a
// sub-agent stopped in the background, a cancel of ours is what there is to go by,
// or the CLI's own word for it.
func (t *translator) wasStopped(c content, s spoken) bool {
	marks := objects[resultMeta](s.ResultMeta)
	for _, m := range marks {
		if m.ID == c.ToolUseID {
			return m.NotRun == "user-rejected" && m.Decision.Kind() != '{'
		}
	}
	rejected := len(marks) == 0 && s.Structured.Kind() == '"' && protocol.Unquote(s.Structured) == "User rejected tool use"
	return rejected || t.turn != nil && t.turn.cancelled
}

// outputOf is what the model read: its text, and, where it read more than text,
// everything in order for display.
func outputOf(raw jsontext.Value) (string, []protocol.ToolContent) {
	var lines []string
	var shown []protocol.ToolContent
	pictures := false
	for _, c := range contents(raw) {
		switch c.Type {
		case "text":
			lines = append(lines, string(c.Text))
			shown = append(shown, &protocol.TextContent{Text: string(c.Text)})
		case "image":
			image := imageOf(c.Source)
			lines = append(lines, "[image "+image.MimeType+"]")
			if image.Data != "" {
				shown = append(shown, image)
				pictures = true
			}
		}
	}
	if !pictures {
		shown = nil
	}
	return strings.Join(lines, "\n"), shown
}

// imageOf is an image of a tool's result.
func imageOf(source jsontext.Value) *protocol.ImageContent {
	s := object[struct {
		Data      text `json:"data"`
		MediaType text `json:"media_type"`
	}](source)
	return &protocol.ImageContent{Data: string(s.Data), MimeType: string(s.MediaType)}
}

// fileChange is the structured result of a tool that wrote a file.
type fileChange struct {
	// Type is create or update; "" of an edit.
	Type text `json:"type"`
	// Path is the file.
	Path text `json:"filePath"`
	// Text is the file's whole new text; of a write.
	Text text `json:"content"`
	// Old and New are what was replaced, and by what; of an edit.
	Old text `json:"oldString"`
	New text `json:"newString"`
	// Hunks is a list of hunk; empty of a new file.
	Hunks jsontext.Value `json:"structuredPatch"`
}

// hunk is one stretch of a unified diff.
type hunk struct {
	// NewStart is the first line's number in the new text, from 1.
	NewStart number `json:"newStart"`
	// Lines begin with a space, a minus, a plus, or a backslash (a remark).
	Lines jsontext.Value `json:"lines"`
}

// diffsOf gives what a tool that writes files has changed, one diff a hunk, and
// where. A new file is one diff without an old text.
func diffsOf(v toolView, structured jsontext.Value) ([]protocol.ToolContent, []protocol.Location) {
	if v.kind != protocol.KindEdit || structured.Kind() != '{' {
		return nil, nil
	}
	f := object[fileChange](structured)
	if f.Path == "" {
		return nil, nil
	}
	var diffs []protocol.ToolContent
	var places []protocol.Location
	for _, h := range objects[hunk](f.Hunks) {
		before, after := sides(texts(h.Lines))
		diffs = append(diffs, &protocol.DiffContent{Path: string(f.Path), OldText: &before, NewText: after})
		places = append(places, protocol.Location{Path: string(f.Path), Line: new(protocol.Number(h.NewStart))})
	}
	switch {
	case len(diffs) > 0:
	case f.Type == "create":
		diffs = []protocol.ToolContent{&protocol.DiffContent{Path: string(f.Path), NewText: string(f.Text)}}
	case f.Old != "" || f.New != "":
		diffs = []protocol.ToolContent{&protocol.DiffContent{Path: string(f.Path), OldText: new(string(f.Old)), NewText: string(f.New)}}
	}
	return diffs, places
}

// sides are the two texts of a hunk; its remark about a missing last newline
// belongs to neither.
func sides(lines []string) (before, after string) {
	var a, b strings.Builder
	for _, line := range lines {
		if line == "" || line[0] == '\\' {
			continue
		}
		if line[0] != '+' {
			a.WriteString(line[1:] + "\n")
		}
		if line[0] != '-' {
			b.WriteString(line[1:] + "\n")
		}
	}
	return a.String(), b.String()
}

// largestMember bounds what a member may add to the metadata, in bytes. What is
// longer stands in output or content already: file contents, command output.
const largestMember = 4 << 10

// metadataOf is the structured result without its bulk; nil where it is none. An
// image's bytes and a file's text are in it a second time, whatever their size.
func metadataOf(structured jsontext.Value) protocol.Object {
	var members map[string]jsontext.Value
	if structured.Kind() != '{' || json.Unmarshal(structured, &members, lenient) != nil {
		return nil
	}
	for _, again := range []string{"stdout", "content", "originalFile", "oldString", "newString", "file", "prompt"} {
		delete(members, again)
	}
	for name, value := range members {
		if len(value) > largestMember || bytes.Equal(value, []byte("null")) {
			delete(members, name)
		}
	}
	if len(members) == 0 {
		return nil
	}
	return protocol.Encode(members)
}
