package protocol

// EventType is the `type` of an event: dotted, lower case.
type EventType string

// The event types of the base protocol. Added types (TypeTurnQueued,
// TypeTurnUnqueued, TypeSessionUpdated) have structs for typed reading only:
// DecodeEvent gives them as *UnknownEvent, so that a base reducer and ours
// agree on every stream.
const (
	TypeSessionCreated      EventType = "session.created"
	TypeSessionEnded        EventType = "session.ended"
	TypeSessionUsage        EventType = "session.usage"
	TypeSessionCompaction   EventType = "session.compaction"
	TypeTurnStarted         EventType = "turn.started"
	TypeTurnEnded           EventType = "turn.ended"
	TypeMessageStarted      EventType = "message.started"
	TypeMessagePart         EventType = "message.part"
	TypeMessagePartDelta    EventType = "message.part.delta"
	TypeMessageEnded        EventType = "message.ended"
	TypePermissionRequested EventType = "permission.requested"
	TypePermissionResolved  EventType = "permission.resolved"
	TypeError               EventType = "error"
	TypeRaw                 EventType = "raw"

	TypeTurnQueued     EventType = "turn.queued"
	TypeTurnUnqueued   EventType = "turn.unqueued"
	TypeSessionUpdated EventType = "session.updated"
)

// Event is one lifecycle event: a sealed union of the structs of this file and
// *UnknownEvent. Implementations are pointers and are never changed once built.
type Event interface {
	// Type is the event's discriminator.
	Type() EventType
	// Session is the sessionId; "" where the event carries none.
	Session() string
	// Turn is the turnId; "" where the event carries none.
	Turn() string
	// Time is the timestamp in epoch milliseconds; 0 for an unknown event.
	Time() int64
	event()
}

// SessionCreated says that a native session is known: once a turn, as soon as
// the native id is.
type SessionCreated struct {
	// SessionID is the logical session, chosen by the client.
	SessionID string `json:"sessionId"`
	// NativeSessionID is the harness's own id of the conversation.
	NativeSessionID string `json:"nativeSessionId"`
	// Harness is the id of the harness that runs the session.
	Harness HarnessID `json:"harness"`
	// Model is config.model where it was given; nil otherwise.
	Model *string `json:"model,omitzero"`
	// Resumed is set when a native session was to be resumed; false means that
	// its context was lost.
	Resumed *bool `json:"resumed,omitzero"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// SessionEnded says that the logical session is over for now.
type SessionEnded struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// Reason is an open vocabulary: idle, replaced, released, shutdown.
	Reason string `json:"reason"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// SessionUsage is the context-window gauge; it is not billing.
type SessionUsage struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn in which the gauge was read.
	TurnID string `json:"turnId"`
	// Used counts the tokens now in the context window.
	Used Number `json:"used"`
	// Size is the window's size in tokens; nil when unknown.
	Size *Number `json:"size,omitzero"`
	// Cost is in US dollars; nil when unknown.
	Cost *Number `json:"cost,omitzero"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// SessionCompaction is an upsert, by CompactionID, of one compaction.
type SessionCompaction struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn that reports it.
	TurnID string `json:"turnId"`
	// CompactionID names the compaction through all its updates.
	CompactionID string `json:"compactionId"`
	// Status is open: in_progress, completed, failed, cancelled.
	Status string `json:"status"`
	// Trigger is open: auto, manual; nil when unknown.
	Trigger *string `json:"trigger,omitzero"`
	// PreTokens counts the context before; nil when unknown.
	PreTokens *Number `json:"preTokens,omitzero"`
	// PostTokens counts the context after; nil when unknown.
	PostTokens *Number `json:"postTokens,omitzero"`
	// Summary is what the context was replaced by; nil when unknown.
	Summary *string `json:"summary,omitzero"`
	// AbstractsIDs lists the messages that the summary stands for; nil when absent.
	AbstractsIDs []string `json:"abstractsIds,omitzero"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// TurnStarted opens a turn; the user echo follows it.
type TurnStarted struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn.
	TurnID string `json:"turnId"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// TurnEnded closes a turn, once.
type TurnEnded struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn.
	TurnID string `json:"turnId"`
	// StopReason is open; see StopEndTurn and its siblings.
	StopReason StopReason `json:"stopReason"`
	// FinishReason is the harness's own raw word; nil when it has none.
	FinishReason *string `json:"finishReason,omitzero"`
	// Tokens is what this turn cost; nil when unknown.
	Tokens *TokenUsage `json:"tokens,omitzero"`
	// Cost is what this turn cost in US dollars; nil when unknown.
	Cost *Number `json:"cost,omitzero"`
	// Error is set exactly when StopReason is error or an unknown word.
	Error *TurnError `json:"error,omitzero"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// TurnError says why a turn failed.
type TurnError struct {
	// Category is open; see CategoryAuth and its siblings.
	Category ErrorCategory `json:"category"`
	// Message is for people; it holds no secret.
	Message string `json:"message"`
}

// MessageStarted opens a message of a turn.
type MessageStarted struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn.
	TurnID string `json:"turnId"`
	// MessageID is the message.
	MessageID string `json:"messageId"`
	// OutputIndex counts every message of the turn; the echo is 0.
	OutputIndex Number `json:"outputIndex"`
	// Role is closed: user or assistant.
	Role Role `json:"role"`
	// ParentToolCallID is the tool call whose sub-agent speaks; nil at top level.
	ParentToolCallID *string `json:"parentToolCallId,omitzero"`
	// Model is config.model, unless the harness names its own; nil when neither.
	Model *string `json:"model,omitzero"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// MessagePart is a full snapshot of one part: an upsert by Part.ID.
type MessagePart struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn.
	TurnID string `json:"turnId"`
	// MessageID is the message the part stands in.
	MessageID string `json:"messageId"`
	// OutputIndex is that message's place in the turn.
	OutputIndex Number `json:"outputIndex"`
	// PartIndex is the part's place in the message, by first appearance.
	PartIndex Number `json:"partIndex"`
	// Part is the snapshot.
	Part Part `json:"part"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// MessagePartDelta is what a part has grown by. It is never durable: a snapshot
// restates it.
type MessagePartDelta struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn.
	TurnID string `json:"turnId"`
	// MessageID is the message the part stands in.
	MessageID string `json:"messageId"`
	// OutputIndex is that message's place in the turn.
	OutputIndex Number `json:"outputIndex"`
	// PartIndex is the part's place in the message.
	PartIndex Number `json:"partIndex"`
	// PartID is the part that grows; a snapshot of it came before.
	PartID string `json:"partId"`
	// Delta is what was added.
	Delta Delta `json:"delta"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// MessageEnded closes a message, once.
type MessageEnded struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn.
	TurnID string `json:"turnId"`
	// MessageID is the message.
	MessageID string `json:"messageId"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// PermissionRequested asks whoever is connected to allow or refuse something.
type PermissionRequested struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn that waits.
	TurnID string `json:"turnId"`
	// RequestID names the request in permission/respond.
	RequestID string `json:"requestId"`
	// Title is for people: toolCall.title, else "Allow tool: <toolName>".
	Title string `json:"title"`
	// ToolCall is what is asked for; nil when the harness names no tool.
	ToolCall *PermissionToolCall `json:"toolCall,omitzero"`
	// Options are the answers that may be chosen, in the order to show them.
	Options []PermissionOption `json:"options"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// PermissionToolCall is the tool call that a permission is asked for.
type PermissionToolCall struct {
	// ToolCallID joins it to the tool's part; nil when unknown.
	ToolCallID *string `json:"toolCallId,omitzero"`
	// ToolName is the harness's own name of the tool.
	ToolName string `json:"toolName"`
	// Kind is open; see KindRead and its siblings; nil when unknown.
	Kind *ToolKind `json:"kind,omitzero"`
	// Title is for people; nil when there is none.
	Title *string `json:"title,omitzero"`
	// Locations are the files concerned; nil when absent.
	Locations []Location `json:"locations,omitzero"`
	// RawInput is the tool's input, an object; nil when absent.
	RawInput Object `json:"rawInput,omitzero"`
}

// PermissionOption is one answer that may be chosen.
type PermissionOption struct {
	// OptionID is what permission/respond sends back.
	OptionID string `json:"optionId"`
	// Name is for people.
	Name string `json:"name"`
	// Kind is open: allow_once, allow_always, reject_once, reject_always.
	Kind PermissionKind `json:"kind"`
}

// PermissionResolved says how a request was answered, once.
type PermissionResolved struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn that waited.
	TurnID string `json:"turnId"`
	// RequestID is the request.
	RequestID string `json:"requestId"`
	// Outcome is what was answered.
	Outcome PermissionOutcome `json:"outcome"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// PermissionOutcome is closed: selected with an option, or cancelled.
type PermissionOutcome struct {
	// Outcome is selected or cancelled.
	Outcome OutcomeKind `json:"outcome"`
	// OptionID is the option chosen; "" and absent when cancelled.
	OptionID string `json:"optionId,omitzero"`
	// UpdatedInput replaces the tool's input, an object; nil when it stays.
	UpdatedInput Object `json:"updatedInput,omitzero"`
}

// ErrorEvent reports a fault; a failing turn's end is preceded by one.
type ErrorEvent struct {
	// SessionID is the logical session; nil for a fault of the whole gateway.
	SessionID *string `json:"sessionId,omitzero"`
	// TurnID is the turn concerned; nil when none is.
	TurnID *string `json:"turnId,omitzero"`
	// Category is open; see CategoryAuth and its siblings.
	Category ErrorCategory `json:"category"`
	// Message is for people; it holds no secret.
	Message string `json:"message"`
	// Recoverable is true only for what the harness itself goes on from.
	Recoverable bool `json:"recoverable"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// Raw is one native line, sent only with config.includeRaw. Its shape is the
// harness's and may change with every release of it.
type Raw struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn; "" where there was none.
	TurnID string `json:"turnId"`
	// Harness is the id of the harness that wrote the line.
	Harness HarnessID `json:"harness"`
	// Data is the line's JSON value; it may be null, but is never absent.
	Data Object `json:"data"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// UnknownEvent is an event of a type that this package has no struct for. It is
// kept whole: on the wire it is Raw again, byte for byte.
type UnknownEvent struct {
	// Kind is its type: not empty, and none of the known ones.
	Kind EventType
	// SessionID is set only where sessionId is a string.
	SessionID *string
	// Raw is the whole original object.
	Raw Object
}

// Envelope is one event of a session with its place in the session's order.
type Envelope struct {
	// SessionID is the session whose log holds the event.
	SessionID string `json:"sessionId"`
	// Seq counts from 1, +1 each, in log order.
	Seq int64 `json:"seq"`
	// PrevSeq is the seq before it in what this connection is sent; nil unless
	// the connection asked for chainedSeq.
	PrevSeq *int64 `json:"prevSeq,omitzero"`
	// Event is the event.
	Event Event `json:"event"`
}
