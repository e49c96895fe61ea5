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

	// Added to the base.
	MethodSessionList        = "session/list"
	MethodSessionSnapshot    = "session/snapshot"
	MethodSessionSubscribe   = "session/subscribe"
	MethodSessionUnsubscribe = "session/unsubscribe"
	MethodHarnessList        = "harness/list"

	// NotificationEvent is the one notification of the base, server → client.
	NotificationEvent = "event"
	// NotificationSynced says that a subscription has caught up; only after
	// session/subscribe.
	NotificationSynced = "events/synced"
	// NotificationLagged says that a session's events stop on this connection;
	// only with chainedSeq.
	NotificationLagged = "events/lagged"
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
	// ChainedSeq: envelopes have prevSeq, numbers may be missing; nil: false.
	ChainedSeq *bool `json:"chainedSeq,omitzero"`
	// Deltas: message.part.delta events are wanted; nil: true. false needs
	// ChainedSeq.
	Deltas *bool `json:"deltas,omitzero"`
	// Events is closed: which sessions' events are sent unasked; "" when absent: all.
	Events EventsMode `json:"events,omitzero"`
}

// EventsMode is closed: which sessions' events a connection is sent unasked.
type EventsMode string

// The modes of capabilities.events.
const (
	// EventsAll: every session's, from the accept on.
	EventsAll EventsMode = "all"
	// EventsSubscribed: none until session/subscribe.
	EventsSubscribed EventsMode = "subscribed"
)

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
	// IfBusy is what to do while another turn is active; no part of the turn's
	// identity; "" when absent: reject.
	IfBusy IfBusy `json:"ifBusy,omitzero"`
	// Meta may hold a W3C trace context (traceparent, tracestate, baggage); no part
	// of the turn's identity; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// IfBusy is closed: what turn/start does on a busy session.
type IfBusy string

// The words of turn/start's ifBusy.
const (
	// BusyReject: -32002.
	BusyReject IfBusy = "reject"
	// BusyQueue: the turn waits its turn.
	BusyQueue IfBusy = "queue"
	// BusySteer: the input goes into the running turn, where the harness can.
	BusySteer IfBusy = "steer"
)

// Disposition is closed: what became of an admitted turn.
type Disposition string

// The words of turn/start's disposition.
const (
	// Started: it runs.
	Started Disposition = "started"
	// Queued: it waits; turn.queued says where.
	Queued Disposition = "queued"
	// Steered: its input went into the running turn.
	Steered Disposition = "steered"
)

// TurnStartResult is the quick ack of turn/start.
type TurnStartResult struct {
	// SessionID is the session, given or minted.
	SessionID string `json:"sessionId"`
	// TurnID is the turn, given or minted.
	TurnID string `json:"turnId"`
	// Deduplicated is true where this very turn was admitted before.
	Deduplicated bool `json:"deduplicated,omitzero"`
	// Disposition is what became of it; "" and absent unless ifBusy was given.
	Disposition Disposition `json:"disposition,omitzero"`
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
	// Limit bounds the events of one answer, above 0; nil: all.
	Limit *int64 `json:"limit,omitzero"`
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
	// NextSeq is the fromSeq of the next page; nil when this was the last, or no
	// limit was given.
	NextSeq *int64 `json:"nextSeq,omitzero"`
}

// SessionCloseParams are the params of session/close.
type SessionCloseParams struct {
	// SessionID is required.
	SessionID string `json:"sessionId"`
	// Force cancels the active turn and unqueues the rest first; nil: false.
	Force *bool `json:"force,omitzero"`
}

// SessionCloseResult is the result of session/close.
type SessionCloseResult struct {
	// Closed is false for an unknown session.
	Closed bool `json:"closed"`
}
