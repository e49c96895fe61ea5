package protocol

// HarnessID names a harness. Inside events a base client knows four; our own
// decoder takes any non-blank id.
type HarnessID string

// The four harness ids of the base, and the embedded demo.
const (
	HarnessClaudeCode     HarnessID = "claude-code"
	HarnessCodexSDK       HarnessID = "codex-sdk"
	HarnessCodexAppServer HarnessID = "codex-app-server"
	HarnessACP            HarnessID = "acp"
	HarnessDemo           HarnessID = "demo"
)

// Base says whether a base client knows this id.
func (h HarnessID) Base() bool {
	return h == HarnessClaudeCode || h == HarnessCodexSDK || h == HarnessCodexAppServer || h == HarnessACP
}

// Role is closed: who speaks in a message.
type Role string

// The two roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// PartState is closed: whether a text or reasoning part may still grow.
type PartState string

// The two states of a text or reasoning part.
const (
	StateStreaming PartState = "streaming"
	StateDone      PartState = "done"
)

// OutcomeKind is closed: how a permission was resolved.
type OutcomeKind string

// The two outcomes of a permission.
const (
	OutcomeSelected  OutcomeKind = "selected"
	OutcomeCancelled OutcomeKind = "cancelled"
)

// CancelOutcome is closed: what turn/cancel answers.
type CancelOutcome string

// The three answers of turn/cancel.
const (
	CancelCancelled    CancelOutcome = "cancelled"
	CancelUnconfirmed  CancelOutcome = "unconfirmed"
	CancelNoActiveTurn CancelOutcome = "no_active_turn"
)

// StopReason is open: why a turn ended. The known ones but error are clean; an
// unknown or absent one is a failure.
type StopReason string

// The known stop reasons.
const (
	StopEndTurn         StopReason = "end_turn"
	StopMaxTokens       StopReason = "max_tokens"
	StopMaxTurnRequests StopReason = "max_turn_requests"
	StopRefusal         StopReason = "refusal"
	StopCancelled       StopReason = "cancelled"
	StopError           StopReason = "error"
)

// Clean says whether a turn that ended so succeeded in the protocol's sense.
func (r StopReason) Clean() bool {
	switch r {
	case StopEndTurn, StopMaxTokens, StopMaxTurnRequests, StopRefusal, StopCancelled:
		return true
	}
	return false
}

// ErrorCategory is open: what kind of fault it was.
type ErrorCategory string

// The known categories, and our one extension.
const (
	CategoryAuth           ErrorCategory = "auth"
	CategoryRateLimit      ErrorCategory = "rate_limit"
	CategoryUsageLimit     ErrorCategory = "usage_limit"
	CategoryContextLimit   ErrorCategory = "context_limit"
	CategoryNetwork        ErrorCategory = "network"
	CategoryAbort          ErrorCategory = "abort"
	CategoryInvalidRequest ErrorCategory = "invalid_request"
	CategoryProcessExit    ErrorCategory = "process_exit"
	CategoryInternal       ErrorCategory = "internal"

	CategoryUpstream ErrorCategory = "_upstream"
)

// ToolKind is open: what a tool does.
type ToolKind string

// The known tool kinds.
const (
	KindRead       ToolKind = "read"
	KindEdit       ToolKind = "edit"
	KindDelete     ToolKind = "delete"
	KindMove       ToolKind = "move"
	KindSearch     ToolKind = "search"
	KindExecute    ToolKind = "execute"
	KindThink      ToolKind = "think"
	KindFetch      ToolKind = "fetch"
	KindSwitchMode ToolKind = "switch_mode"
	KindTask       ToolKind = "task"
	KindOther      ToolKind = "other"
)

// PermissionKind is open: what choosing an option means.
type PermissionKind string

// The known permission option kinds.
const (
	AllowOnce    PermissionKind = "allow_once"
	AllowAlways  PermissionKind = "allow_always"
	RejectOnce   PermissionKind = "reject_once"
	RejectAlways PermissionKind = "reject_always"
)

// PermissionMode is closed: how much a harness may do unasked.
type PermissionMode string

// The permission modes.
const (
	ModeDefault           PermissionMode = "default"
	ModePlan              PermissionMode = "plan"
	ModeAcceptEdits       PermissionMode = "accept_edits"
	ModeDontAsk           PermissionMode = "dont_ask"
	ModeBypassPermissions PermissionMode = "bypass_permissions"
)

// ThinkingLevel is closed: how hard the model is to think.
type ThinkingLevel string

// The thinking levels.
const (
	ThinkingOff    ThinkingLevel = "off"
	ThinkingLow    ThinkingLevel = "low"
	ThinkingMedium ThinkingLevel = "medium"
	ThinkingHigh   ThinkingLevel = "high"
	ThinkingXHigh  ThinkingLevel = "xhigh"
)

// ModelSwitch is closed: how a harness changes its model between turns.
type ModelSwitch string

// The ways to change a model.
const (
	ModelSwitchInSession   ModelSwitch = "in-session"
	ModelSwitchRestart     ModelSwitch = "restart-session"
	ModelSwitchUnsupported ModelSwitch = "unsupported"
)

// Our own keys in a _meta object.
const (
	MetaPartialInput = "agent-server/partialInput"
	MetaHarness      = "agent-server/harness"
	MetaTruncated    = "agent-server/truncated"
	MetaHostDeath    = "agent-server/hostDeath"
	MetaOrigin       = "agent-server/origin"
	MetaBy           = "agent-server/by"
	MetaAbandoned    = "agent-server/abandoned"
	MetaElided       = "agent-server/elided"
	// MetaStanding is true of an answer that later requests are answered by.
	MetaStanding = "agent-server/standing"
	// MetaInput is the turn's input on turn.queued: a queue in memory may be lost,
	// what was written must not be.
	MetaInput = "agent-server/input"
)

// Reasons of session.ended.
const (
	EndIdle     = "idle"
	EndReplaced = "replaced"
	EndReleased = "released"
	EndShutdown = "shutdown"
)

// TokenUsage is what a turn cost. Summed over a session it is what the session
// cost, for every harness.
type TokenUsage struct {
	// Input counts tokens that were neither read from nor written to a cache.
	Input Number `json:"input"`
	// Output counts what the model wrote, reasoning included.
	Output Number `json:"output"`
	// Reasoning is the part of Output that was thought; nil when unknown.
	Reasoning *Number `json:"reasoning,omitzero"`
	// Cache counts cached input; nil when unknown.
	Cache *CacheUsage `json:"cache,omitzero"`
}

// CacheUsage counts cached input tokens.
type CacheUsage struct {
	// Read counts tokens served from a cache.
	Read Number `json:"read"`
	// Write counts tokens written to a cache.
	Write Number `json:"write"`
	// WriteEphemeral5m is the part of Write kept five minutes; nil when unknown.
	WriteEphemeral5m *Number `json:"writeEphemeral5m,omitzero"`
	// WriteEphemeral1h is the part of Write kept an hour; nil when unknown.
	WriteEphemeral1h *Number `json:"writeEphemeral1h,omitzero"`
}
