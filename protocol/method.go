package protocol

// The methods a client may call. Requests go from client to server only.
const (
	MethodInitialize        = "initialize"
	MethodTurnStart         = "turn/start"
	MethodTurnCancel        = "turn/cancel"
	MethodPermissionRespond = "permission/respond"
	MethodEventsReplay      = "events/replay"
	MethodSessionClose      = "session/close"
	MethodShutdown          = "shutdown"

	// NotificationEvent is the one notification of the base, server → client.
	NotificationEvent = "event"
)

// InitializeParams are the params of initialize.
type InitializeParams struct {
	// ProtocolVersion is at least 1; required.
	ProtocolVersion int64 `json:"protocolVersion"`
	// Client says who asks; nil when absent.
	Client *ClientInfo `json:"client,omitzero"`
	// Capabilities ask for additions; nil when absent: a base client.
	Capabilities *ClientCapabilities `json:"capabilities,omitzero"`
}

// ClientInfo says who a client is.
type ClientInfo struct {
	// Name is required.
	Name string `json:"name"`
	// Version is nil when absent.
	Version *string `json:"version,omitzero"`
}

// ClientCapabilities ask for additions to the base.
type ClientCapabilities struct {
	// OpenHarnesses: events name harnesses beyond the base's four; nil: false.
	OpenHarnesses *bool `json:"openHarnesses,omitzero"`
}

// InitializeResult is the result of initialize.
type InitializeResult struct {
	// ProtocolVersion is always Version.
	ProtocolVersion int64 `json:"protocolVersion"`
	// Server says who answers.
	Server ServerInfo `json:"server"`
	// InstanceID is a UUIDv7 made once per process.
	InstanceID string `json:"instanceId"`
	// Harnesses are those available here, by id.
	Harnesses map[HarnessID]AgentCapabilities `json:"harnesses"`
	// Capabilities are the additions served; nil from a base server.
	Capabilities *ServerCapabilities `json:"capabilities,omitzero"`
}

// ServerInfo says who a server is.
type ServerInfo struct {
	// Name is "agent-server".
	Name string `json:"name"`
	// Version is nil when unknown.
	Version *string `json:"version,omitzero"`
}

// ServerCapabilities are the additions that a server offers.
type ServerCapabilities struct {
	// Durability is durable or ephemeral.
	Durability string `json:"durability"`
	// LogID is stable while the logs survive.
	LogID string `json:"logId"`
	// MaxMessageBytes bounds a line from the client.
	MaxMessageBytes int64 `json:"maxMessageBytes"`
	// IfBusy lists the words that turn/start's ifBusy understands.
	IfBusy []string `json:"ifBusy"`
	// Methods lists every method served.
	Methods []string `json:"methods"`
}

// TurnStartParams are the params of turn/start.
type TurnStartParams struct {
	// SessionID is not empty; nil when absent: one is minted.
	SessionID *string `json:"sessionId,omitzero"`
	// TurnID is not empty; nil when absent: one is minted.
	TurnID *string `json:"turnId,omitzero"`
	// Input is what to do; required.
	Input Input `json:"input"`
	// Config is how to do it; required.
	Config RunConfig `json:"config"`
}

// TurnStartResult is the quick ack of turn/start.
type TurnStartResult struct {
	// SessionID is the session, given or minted.
	SessionID string `json:"sessionId"`
	// TurnID is the turn, given or minted.
	TurnID string `json:"turnId"`
	// Deduplicated is true where this very turn was admitted before.
	Deduplicated bool `json:"deduplicated,omitzero"`
}

// TurnCancelParams are the params of turn/cancel.
type TurnCancelParams struct {
	// SessionID is not empty; required.
	SessionID string `json:"sessionId"`
	// TurnID is the stamp: cancel this turn and no other; not empty; nil when absent.
	TurnID *string `json:"turnId,omitzero"`
}

// TurnCancelResult is the result of turn/cancel.
type TurnCancelResult struct {
	// Outcome is closed.
	Outcome CancelOutcome `json:"outcome"`
	// TurnID is the turn cancelled; nil with no_active_turn.
	TurnID *string `json:"turnId,omitzero"`
	// ActiveTurnID is what runs instead of the stamped turn; nil when nothing does.
	ActiveTurnID *string `json:"activeTurnId,omitzero"`
}

// PermissionRespondParams are the params of permission/respond.
type PermissionRespondParams struct {
	// SessionID is required.
	SessionID string `json:"sessionId"`
	// RequestID is required.
	RequestID string `json:"requestId"`
	// Outcome is required.
	Outcome PermissionOutcome `json:"outcome"`
}

// PermissionRespondResult is the result of permission/respond.
type PermissionRespondResult struct {
	// Accepted is false for a request that is unknown, already resolved, or
	// another session's.
	Accepted bool `json:"accepted"`
}

// EventsReplayParams are the params of events/replay.
type EventsReplayParams struct {
	// SessionID is required.
	SessionID string `json:"sessionId"`
	// FromSeq is at least 1; required.
	FromSeq int64 `json:"fromSeq"`
}

// EventsReplayResult is the result of events/replay. Envelopes stay encoded:
// the log holds them so.
type EventsReplayResult struct {
	// Events are all with seq ≥ fromSeq, as envelopes.
	Events []Object `json:"events"`
	// FirstAvailableSeq is the lowest seq held; nil (null on the wire) when
	// nothing is logged.
	FirstAvailableSeq *int64 `json:"firstAvailableSeq"`
	// LatestSeq is the head; nil (null on the wire) when nothing is logged.
	LatestSeq *int64 `json:"latestSeq"`
}

// SessionCloseParams are the params of session/close.
type SessionCloseParams struct {
	// SessionID is required.
	SessionID string `json:"sessionId"`
}

// SessionCloseResult is the result of session/close.
type SessionCloseResult struct {
	// Closed is false for an unknown session.
	Closed bool `json:"closed"`
}
