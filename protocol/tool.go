package protocol

// ToolStatus is closed: it never grows.
type ToolStatus string

// How far a tool call has come.
const (
	ToolPending    ToolStatus = "pending"
	ToolInProgress ToolStatus = "in_progress"
	ToolCompleted  ToolStatus = "completed"
	ToolFailed     ToolStatus = "failed"
	ToolCancelled  ToolStatus = "cancelled"
)

// Terminal says whether a call in this state is over.
func (s ToolStatus) Terminal() bool {
	return s == ToolCompleted || s == ToolFailed || s == ToolCancelled
}

// ToolState is how far a tool call has come: a sealed union of *PendingState,
// *InProgressState, *CompletedState, *FailedState and *CancelledState.
type ToolState interface {
	// Status is the state's discriminator.
	Status() ToolStatus
	toolState()
}

// PendingState: the model is still writing the input, or it waits for consent.
type PendingState struct {
	// PartialInput is the JSON text of the input so far.
	PartialInput string `json:"partialInput"`
	// Meta is the state's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// InProgressState: the tool runs.
type InProgressState struct {
	// Input is an object.
	Input Object `json:"input"`
	// Title is for people; nil when there is none.
	Title *string `json:"title,omitzero"`
	// Time says since when it runs.
	Time Since `json:"time"`
	// Meta is the state's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// CompletedState: the tool did what it was asked to.
type CompletedState struct {
	// Input is an object.
	Input Object `json:"input"`
	// Output is what the model read, and every renderer's fallback.
	Output string `json:"output"`
	// Content is for display; nil when absent.
	Content []ToolContent `json:"content,omitzero"`
	// Metadata is for machines, an object; nil when absent.
	Metadata Object `json:"metadata,omitzero"`
	// Title is for people; nil when there is none.
	Title *string `json:"title,omitzero"`
	// Time says when it ran.
	Time Span `json:"time"`
	// Meta is the state's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// FailedState: the tool failed, or was refused.
type FailedState struct {
	// Input is an object.
	Input Object `json:"input"`
	// Error is what the model read.
	Error string `json:"error"`
	// Time says when it ran.
	Time Span `json:"time"`
	// Meta is the state's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// CancelledState: the tool was stopped, or never ran.
type CancelledState struct {
	// Input is an object.
	Input Object `json:"input"`
	// Time says when it ran.
	Time Span `json:"time"`
	// Meta is the state's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

func (*PendingState) toolState()    {}
func (*InProgressState) toolState() {}
func (*CompletedState) toolState()  {}
func (*FailedState) toolState()     {}
func (*CancelledState) toolState()  {}

// Status is ToolPending.
func (*PendingState) Status() ToolStatus { return ToolPending }

// Status is ToolInProgress.
func (*InProgressState) Status() ToolStatus { return ToolInProgress }

// Status is ToolCompleted.
func (*CompletedState) Status() ToolStatus { return ToolCompleted }

// Status is ToolFailed.
func (*FailedState) Status() ToolStatus { return ToolFailed }

// Status is ToolCancelled.
func (*CancelledState) Status() ToolStatus { return ToolCancelled }

// ToolContent is one piece of a tool's result for display: a sealed union of
// *TextContent, *ImageContent, *DiffContent and *TerminalContent.
type ToolContent interface{ toolContent() }

// ContentType is closed: what kind of content a tool's result holds.
type ContentType string

// The types of a tool's content.
const (
	ContentText     ContentType = "text"
	ContentImage    ContentType = "image"
	ContentDiff     ContentType = "diff"
	ContentTerminal ContentType = "terminal"
)

// TextContent is text of a tool's result.
type TextContent struct {
	// Text is the text.
	Text string `json:"text"`
	// Meta is the content's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// ImageContent is an image of a tool's result.
type ImageContent struct {
	// Data is base64.
	Data string `json:"data"`
	// MimeType is the media type.
	MimeType string `json:"mimeType"`
	// Meta is the content's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// DiffContent is a change to one file.
type DiffContent struct {
	// Path is the file.
	Path string `json:"path"`
	// OldText is what was there; nil for a new file.
	OldText *string `json:"oldText,omitzero"`
	// NewText is what is there now.
	NewText string `json:"newText"`
	// Meta is the content's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// TerminalContent refers to a terminal.
type TerminalContent struct {
	// TerminalID names it.
	TerminalID string `json:"terminalId"`
	// Meta is the content's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

func (*TextContent) toolContent()     {}
func (*ImageContent) toolContent()    {}
func (*DiffContent) toolContent()     {}
func (*TerminalContent) toolContent() {}
