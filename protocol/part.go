package protocol

// PartType is the `type` of a part.
type PartType string

// The part types of the base protocol. TypePlan is added: DecodePart gives it
// as *UnknownPart, typed reading is done by a selector.
const (
	PartText      PartType = "text"
	PartReasoning PartType = "reasoning"
	PartTool      PartType = "tool"
	PartImage     PartType = "image"
	PartFile      PartType = "file"

	PartPlan PartType = "plan"
)

// Part is one piece of a message: a sealed union of *TextPart, *ReasoningPart,
// *ToolPart, *ImagePart, *FilePart and *UnknownPart. Pointers, never changed
// once built.
type Part interface {
	// Type is the part's discriminator.
	Type() PartType
	// Head is what every part has; of an unknown part what it was found to have.
	Head() PartHead
	part()
}

// PartHead is what every part has. Embedded first in each, so that its members
// come first on the wire.
type PartHead struct {
	// ID names the part through all its snapshots.
	ID string `json:"id"`
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// MessageID is the message the part stands in.
	MessageID string `json:"messageId"`
	// ParentToolCallID is the tool call whose sub-agent made it; nil at top level.
	ParentToolCallID *string `json:"parentToolCallId,omitzero"`
	// Meta is the part's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// Head returns the head itself; promoted to every part.
func (h PartHead) Head() PartHead { return h }

// TextPart is text that the user or the model wrote.
type TextPart struct {
	PartHead
	// Text is the whole text so far.
	Text string `json:"text"`
	// State is closed: streaming or done; "" when absent.
	State PartState `json:"state,omitzero"`
}

// ReasoningPart is what the model thought aloud.
type ReasoningPart struct {
	PartHead
	// Text is the whole text so far.
	Text string `json:"text"`
	// State is closed: streaming or done; "" when absent.
	State PartState `json:"state,omitzero"`
	// Time says when it was thought; nil when unknown.
	Time *OpenSpan `json:"time,omitzero"`
	// ProviderMetadata is the provider's own, an object; nil when absent.
	ProviderMetadata Object `json:"providerMetadata,omitzero"`
}

// OpenSpan is a stretch of time that may still go on.
type OpenSpan struct {
	// Start is in epoch milliseconds.
	Start int64 `json:"start"`
	// End is in epoch milliseconds; nil while it goes on.
	End *int64 `json:"end,omitzero"`
}

// Span is a stretch of time that is over.
type Span struct {
	// Start is in epoch milliseconds.
	Start int64 `json:"start"`
	// End is in epoch milliseconds.
	End int64 `json:"end"`
}

// Since is when something still going on began.
type Since struct {
	// Start is in epoch milliseconds.
	Start int64 `json:"start"`
}

// ToolPart is one tool call.
type ToolPart struct {
	PartHead
	// ToolCallID names the call; sub-agents' parts refer to it.
	ToolCallID string `json:"toolCallId"`
	// ToolName is the harness's own name of the tool.
	ToolName string `json:"toolName"`
	// Kind is open; see KindRead and its siblings; "" when absent.
	Kind ToolKind `json:"kind,omitzero"`
	// Title is for people; nil when there is none.
	Title *string `json:"title,omitzero"`
	// Locations are the files concerned; nil when absent.
	Locations []Location `json:"locations,omitzero"`
	// Subagent is set when the call runs a sub-agent; Kind is then task.
	Subagent *Subagent `json:"subagent,omitzero"`
	// State is how far the call has come.
	State ToolState `json:"state"`
}

// Location is a place in a file.
type Location struct {
	// Path is the file's path as the harness gave it.
	Path string `json:"path"`
	// Line counts from 1; nil when unknown.
	Line *Number `json:"line,omitzero"`
}

// Subagent describes the agent that a tool call runs.
type Subagent struct {
	// Type is the harness's own word for its kind; nil when unknown.
	Type *string `json:"type,omitzero"`
	// Description is for people; nil when unknown.
	Description *string `json:"description,omitzero"`
	// Model is what it runs on; nil when unknown.
	Model *string `json:"model,omitzero"`
	// AgentID is the harness's own id of it; nil when unknown.
	AgentID *string `json:"agentId,omitzero"`
}

// ImagePart is an image: exactly one of Data and URL is set.
type ImagePart struct {
	PartHead
	// Data is base64; nil when URL is set.
	Data *string `json:"data,omitzero"`
	// URL points at it; nil when Data is set.
	URL *string `json:"url,omitzero"`
	// MimeType is the media type.
	MimeType string `json:"mimeType"`
}

// FilePart is a file: exactly one of Data and URL is set.
type FilePart struct {
	PartHead
	// Data is base64; nil when URL is set.
	Data *string `json:"data,omitzero"`
	// URL points at it; nil when Data is set.
	URL *string `json:"url,omitzero"`
	// MimeType is the media type.
	MimeType string `json:"mimeType"`
	// Filename is for people; nil when there is none.
	Filename *string `json:"filename,omitzero"`
}

// UnknownPart is a part of a type that this package has no struct for. It is
// kept whole: on the wire it is Raw again, byte for byte.
type UnknownPart struct {
	PartHead
	// Kind is its type: not empty, and none of the known ones.
	Kind PartType
	// Raw is the whole original object.
	Raw Object
}

func (*TextPart) part()      {}
func (*ReasoningPart) part() {}
func (*ToolPart) part()      {}
func (*ImagePart) part()     {}
func (*FilePart) part()      {}
func (*UnknownPart) part()   {}

// Type is PartText.
func (*TextPart) Type() PartType { return PartText }

// Type is PartReasoning.
func (*ReasoningPart) Type() PartType { return PartReasoning }

// Type is PartTool.
func (*ToolPart) Type() PartType { return PartTool }

// Type is PartImage.
func (*ImagePart) Type() PartType { return PartImage }

// Type is PartFile.
func (*FilePart) Type() PartType { return PartFile }

// Type is the part's own type word.
func (p *UnknownPart) Type() PartType { return p.Kind }

// Delta is what a part has grown by: a sealed union of TextDelta,
// ReasoningDelta and ToolInputDelta.
type Delta interface{ delta() }

// DeltaType is closed: what kind of part grows.
type DeltaType string

// The types of a delta.
const (
	DeltaText      DeltaType = "text"
	DeltaReasoning DeltaType = "reasoning"
	DeltaToolInput DeltaType = "tool_input"
)

// TextDelta extends a text part.
type TextDelta struct {
	// Text is what was added; it may be empty.
	Text string `json:"text"`
}

// ReasoningDelta extends a reasoning part.
type ReasoningDelta struct {
	// Text is what was added; it may be empty.
	Text string `json:"text"`
}

// ToolInputDelta extends the JSON text of a tool's input.
type ToolInputDelta struct {
	// ToolCallID names the call.
	ToolCallID string `json:"toolCallId"`
	// ToolName is the harness's own name of the tool.
	ToolName string `json:"toolName"`
	// Input is a piece of JSON text; it need not parse by itself.
	Input string `json:"input"`
}

func (*TextDelta) delta()      {}
func (*ReasoningDelta) delta() {}
func (*ToolInputDelta) delta() {}
