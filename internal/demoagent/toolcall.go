package demoagent

import "context"

// toolCall is a tool call as a tool_call, in a permission request, and, with
// only what changed, as a tool_call_update.
type toolCall struct {
	// Update is tool_call or tool_call_update; absent in a permission request.
	Update string `json:"sessionUpdate,omitzero"`
	// ID is unique in the session.
	ID string `json:"toolCallId"`
	// Title is for people: the command, or what is done to which file.
	Title string `json:"title,omitzero"`
	// Name is the tool's own; "always" is remembered under it.
	Name string `json:"name,omitzero"`
	// Kind is read, edit or execute.
	Kind string `json:"kind,omitzero"`
	// Status is pending, in_progress, completed or failed, in this order.
	Status string `json:"status,omitzero"`
	// Content replaces all earlier content of the call.
	Content []toolContent `json:"content,omitzero"`
	// Locations are the files concerned.
	Locations []location `json:"locations,omitzero"`
	// RawInput is a fileInput or a commandInput.
	RawInput any `json:"rawInput,omitzero"`
	// RawOutput is a failure, or absent.
	RawOutput any `json:"rawOutput,omitzero"`
	// Meta names the call whose sub-agent made this one; absent at top level.
	Meta *ofSubagent `json:"_meta,omitzero"`
}

// ofSubagent is the _meta of what a sub-agent does; the protocol has no word for it.
type ofSubagent struct {
	// Parent is the id of the call that runs the sub-agent.
	Parent string `json:"agent-server/parentToolCallId"`
}

// toolContent is text, or a diff.
type toolContent struct {
	// Type is content or diff.
	Type string `json:"type"`
	// Content is the text; only in a content.
	Content *textBlock `json:"content,omitzero"`
	// Path is the file, absolute; only in a diff, like the next two.
	Path string `json:"path,omitzero"`
	// OldText is the whole file before.
	OldText *string `json:"oldText,omitzero"`
	// NewText is the whole file after.
	NewText *string `json:"newText,omitzero"`
}

// location is a file that a tool works on.
type location struct {
	// Path is absolute.
	Path string `json:"path"`
}

// openTool announces a tool and makes it the open one. Text after it begins a
// new message, as with a model, which is called again after each tool.
func (t *turn) openTool(ctx context.Context, call toolCall) error {
	if ctx.Err() != nil {
		return errCancelled
	}
	call.Update, call.Status = "tool_call", "pending"
	call.ID = t.session.ids.next("call")
	t.tool = &call
	t.message = openMessage{}
	t.send(call)
	return nil
}

// runTool tells that the open tool is at work.
func (t *turn) runTool(ctx context.Context) error {
	if ctx.Err() != nil {
		return errCancelled
	}
	t.send(toolCall{Update: "tool_call_update", ID: t.tool.ID, Status: "in_progress"})
	return nil
}

// endTool gives the open tool its final status and its text. An update replaces
// the whole content, so that a diff has to be sent again beside the text.
func (t *turn) endTool(status, text string, rawOutput any) {
	block := newText(text)
	content := append(t.tool.Content[:len(t.tool.Content):len(t.tool.Content)],
		toolContent{Type: "content", Content: &block})
	t.send(toolCall{
		Update: "tool_call_update", ID: t.tool.ID, Status: status,
		Content: content, RawOutput: rawOutput,
	})
	t.tool = nil
}

// completeTool ends the open tool well, unless the turn was cancelled meanwhile.
func (t *turn) completeTool(ctx context.Context, text string) error {
	if ctx.Err() != nil {
		return errCancelled
	}
	t.endTool("completed", text, nil)
	return nil
}

// abandonTool fails a tool that the script left open, which it does only when
// it is cancelled; the protocol has no status for that.
func (t *turn) abandonTool() {
	if t.tool != nil {
		t.endTool("failed", errCancelled.Error(), nil)
	}
}
