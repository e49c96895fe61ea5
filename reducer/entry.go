package reducer

import "agent-server/protocol"

// Entry is one entry of the timeline: a *Message or a *Compaction.
type Entry interface {
	// Turn is the id of the turn that the entry belongs to.
	Turn() string
	entry()
}

// Message is what one speaker said in one stretch of a turn.
type Message struct {
	// MessageID is unique in the conversation.
	MessageID string `json:"messageId"`
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn the message was first seen in; it never changes.
	TurnID string `json:"turnId"`
	// OutputIndex is its place among the turn's messages; the echo's is 0.
	OutputIndex protocol.Number `json:"outputIndex"`
	// Role says who speaks.
	Role protocol.Role `json:"role"`
	// ParentToolCallID is the tool call whose sub-agent speaks; nil at top level.
	ParentToolCallID *string `json:"parentToolCallId,omitzero"`
	// Model is what wrote it; nil when unknown.
	Model *string `json:"model,omitzero"`
	// Parts are its parts in order of first sight; never nil.
	Parts []protocol.Part `json:"parts"`
	// StartedAt is in epoch milliseconds.
	StartedAt int64 `json:"startedAt"`
	// EndedAt is in epoch milliseconds; nil while the message is open.
	EndedAt *int64 `json:"endedAt,omitzero"`
}

// Compaction is one compaction of the harness's context.
type Compaction struct {
	// CompactionID is unique among the conversation's compactions.
	CompactionID string `json:"compactionId"`
	// TurnID is the turn of its latest update.
	TurnID string `json:"turnId"`
	// Status is that of its latest update; open: in_progress, completed, failed,
	// cancelled.
	Status string `json:"status"`
	// Trigger is open: auto, manual; nil when unknown.
	Trigger *string `json:"trigger,omitzero"`
	// PreTokens counts the context before; nil when unknown.
	PreTokens *protocol.Number `json:"preTokens,omitzero"`
	// PostTokens counts the context after; nil when unknown.
	PostTokens *protocol.Number `json:"postTokens,omitzero"`
	// Summary is what the context was replaced by; nil when unknown.
	Summary *string `json:"summary,omitzero"`
	// AbstractsIDs lists the messages the summary stands for; nil when unknown.
	AbstractsIDs []string `json:"abstractsIds,omitzero"`
	// Timestamp is that of its first update, in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
}

// Turn is the message's turn.
func (m *Message) Turn() string { return m.TurnID }

// Turn is the turn of the compaction's latest update.
func (k *Compaction) Turn() string { return k.TurnID }

func (*Message) entry()    {}
func (*Compaction) entry() {}

// TurnStatus says whether a turn still runs.
type TurnStatus string

// The two states of a turn.
const (
	TurnActive TurnStatus = "active"
	TurnOver   TurnStatus = "ended"
)

// Turn is one prompt and all that followed from it.
type Turn struct {
	// TurnID is unique in the conversation.
	TurnID string `json:"turnId"`
	// Status is active until turn.ended came.
	Status TurnStatus `json:"status"`
	// StopReason is open; "" while the turn is active.
	StopReason protocol.StopReason `json:"stopReason,omitzero"`
	// FinishReason is the harness's own raw word; nil when it has none.
	FinishReason *string `json:"finishReason,omitzero"`
	// Tokens is what the turn cost; nil when unknown.
	Tokens *protocol.TokenUsage `json:"tokens,omitzero"`
	// Cost is what the turn cost in US dollars; nil when unknown.
	Cost *protocol.Number `json:"cost,omitzero"`
	// Error says why the turn failed; nil when it did not.
	Error *protocol.TurnError `json:"error,omitzero"`
	// Errors are those reported in its name, in order, also after its end.
	Errors []ErrorEntry `json:"errors"`
	// StartedAt is in epoch milliseconds.
	StartedAt int64 `json:"startedAt"`
	// EndedAt is in epoch milliseconds; nil while the turn is active.
	EndedAt *int64 `json:"endedAt,omitzero"`
}

// Permission is one request for consent.
type Permission struct {
	// RequestID is unique in the conversation.
	RequestID string `json:"requestId"`
	// TurnID is the turn that waits, or waited.
	TurnID string `json:"turnId"`
	// Title is for people.
	Title string `json:"title"`
	// ToolCall is what was asked for; nil when the harness named no tool.
	ToolCall *protocol.PermissionToolCall `json:"toolCall,omitzero"`
	// Options are the answers that may be chosen, in the order to show them.
	Options []protocol.PermissionOption `json:"options"`
	// RequestedAt is in epoch milliseconds.
	RequestedAt int64 `json:"requestedAt"`
	// Outcome is the first answer; nil while the request is pending.
	Outcome *protocol.PermissionOutcome `json:"outcome,omitzero"`
	// ResolvedAt is in epoch milliseconds; nil while the request is pending.
	ResolvedAt *int64 `json:"resolvedAt,omitzero"`
}

// ErrorEntry is one reported fault.
type ErrorEntry struct {
	// Category is open; see protocol.CategoryAuth and its siblings.
	Category protocol.ErrorCategory `json:"category"`
	// Message is for people.
	Message string `json:"message"`
	// Recoverable is true only for what the harness itself went on from.
	Recoverable bool `json:"recoverable"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
}

// Usage is the latest reading of the context-window gauge.
type Usage struct {
	// Used counts the tokens in the context window.
	Used protocol.Number `json:"used"`
	// Size is the window's size in tokens; once known it stays. nil: unknown.
	Size *protocol.Number `json:"size,omitzero"`
	// Cost is in US dollars; once known it stays. nil: unknown.
	Cost *protocol.Number `json:"cost,omitzero"`
	// UpdatedAt is in epoch milliseconds.
	UpdatedAt int64 `json:"updatedAt"`
}

// Totals is what all ended turns cost together.
type Totals struct {
	// Input counts tokens outside any cache.
	Input protocol.Number `json:"input"`
	// Output counts what the model wrote, reasoning included.
	Output protocol.Number `json:"output"`
	// Reasoning is the part of Output that was thought.
	Reasoning protocol.Number `json:"reasoning"`
	// Cache counts cached input; its optional members are nil until once seen.
	Cache protocol.CacheUsage `json:"cache"`
}

// Ended says that the session was ended; it stays when the session goes on.
type Ended struct {
	// Reason is open: idle, replaced, released, shutdown.
	Reason string `json:"reason"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
}
