package protocol

// The params and results of the methods and notifications added to the base, and
// the typed form of the event types added to it.

// SessionListParams are the params of session/list.
type SessionListParams struct {
	// Limit bounds one page, above 0; nil: 100. At most 1,000 are given.
	Limit *int64 `json:"limit,omitzero"`
	// Cursor is a nextCursor; nil: from the beginning.
	Cursor *string `json:"cursor,omitzero"`
}

// SessionListResult is a page of sessions, the one updated last first.
type SessionListResult struct {
	// Sessions are those of this page.
	Sessions []SessionEntry `json:"sessions"`
	// NextCursor asks for the next page; nil: this was the last.
	NextCursor *string `json:"nextCursor,omitzero"`
}

// SessionStatus is closed: how a session stands in session/list.
type SessionStatus string

// The words of SessionEntry.Status.
const (
	// SessionIdle: no turn is active.
	SessionIdle SessionStatus = "idle"
	// SessionActive: a turn is.
	SessionActive SessionStatus = "active"
	// SessionClosed: it was closed; its log is held.
	SessionClosed SessionStatus = "closed"
)

// SessionEntry is one session in session/list.
type SessionEntry struct {
	// SessionID is the session.
	SessionID string `json:"sessionId"`
	// Harness is the harness that runs it, or ran it last.
	Harness HarnessID `json:"harness"`
	// Cwd is the last turn's directory.
	Cwd string `json:"cwd"`
	// Status is closed.
	Status SessionStatus `json:"status"`
	// LatestSeq is its head.
	LatestSeq int64 `json:"latestSeq"`
	// CreatedAt is the time of its first event, epoch ms.
	CreatedAt int64 `json:"createdAt"`
	// UpdatedAt is the time of its last event, epoch ms.
	UpdatedAt int64 `json:"updatedAt"`
	// Title is what its harness calls it; nil when it has no name.
	Title *string `json:"title,omitzero"`
	// ActiveTurnID is the active turn; nil when there is none.
	ActiveTurnID *string `json:"activeTurnId,omitzero"`
	// QueuedTurns counts the turns that wait.
	QueuedTurns int64 `json:"queuedTurns"`
	// PendingPermissions counts the open requests.
	PendingPermissions int64 `json:"pendingPermissions"`
	// BackgroundTasks counts what its harness runs on beside the turns.
	BackgroundTasks int64 `json:"backgroundTasks"`
}

// SessionSnapshotParams are the params of session/snapshot.
type SessionSnapshotParams struct {
	// SessionID is required.
	SessionID string `json:"sessionId"`
}

// SessionSnapshotResult is the fold at a seq: one consistent read.
type SessionSnapshotResult struct {
	// SessionID is the session.
	SessionID string `json:"sessionId"`
	// Seq is the last event folded.
	Seq int64 `json:"seq"`
	// State is the fold, as reducer encodes it.
	State Object `json:"state"`
}

// SnapshotMode is closed: when session/subscribe answers with a snapshot.
type SnapshotMode string

// The words of session/subscribe's snapshot.
const (
	// SnapshotAuto: where the log cannot serve the cursor, or none is given.
	SnapshotAuto SnapshotMode = "auto"
	// SnapshotAlways: in any case.
	SnapshotAlways SnapshotMode = "always"
	// SnapshotNever: -32020 where the log cannot serve the cursor.
	SnapshotNever SnapshotMode = "never"
)

// SessionSubscribeParams are the params of session/subscribe.
type SessionSubscribeParams struct {
	// SessionID is required.
	SessionID string `json:"sessionId"`
	// AfterSeq is the last seq held, not negative; nil: none.
	AfterSeq *int64 `json:"afterSeq,omitzero"`
	// Snapshot is closed; "" when absent: auto.
	Snapshot SnapshotMode `json:"snapshot,omitzero"`
	// Deltas overrides the connection's; nil: as there.
	Deltas *bool `json:"deltas,omitzero"`
}

// SubscribeMode is closed: what a subscription begins with.
type SubscribeMode string

// The words of session/subscribe's mode.
const (
	// SubscribedSuffix: the events after the cursor follow.
	SubscribedSuffix SubscribeMode = "suffix"
	// SubscribedSnapshot: State is the fold at Seq, the events after it follow.
	SubscribedSnapshot SubscribeMode = "snapshot"
)

// SessionSubscribeResult is the result of session/subscribe; the events after Seq
// follow it, then events/synced.
type SessionSubscribeResult struct {
	// Mode is closed.
	Mode SubscribeMode `json:"mode"`
	// Seq is the cursor that this connection now has.
	Seq int64 `json:"seq"`
	// State is the fold at Seq; nil unless Mode is snapshot.
	State Object `json:"state,omitzero"`
}

// SessionUnsubscribeParams are the params of session/unsubscribe; its result is {}.
type SessionUnsubscribeParams struct {
	// SessionID is required.
	SessionID string `json:"sessionId"`
}

// EventsSynced are the params of events/synced.
type EventsSynced struct {
	// SessionID is the session subscribed to.
	SessionID string `json:"sessionId"`
	// Seq is the head that was passed.
	Seq int64 `json:"seq"`
}

// EventsLagged are the params of events/lagged: the session's events stop on this
// connection until it subscribes again.
type EventsLagged struct {
	// SessionID is the session.
	SessionID string `json:"sessionId"`
	// LastSeq is the last event that was sent.
	LastSeq int64 `json:"lastSeq"`
	// FirstAvailableSeq is the lowest seq still held.
	FirstAvailableSeq int64 `json:"firstAvailableSeq"`
}

// HarnessListResult is the result of harness/list; it has no params.
type HarnessListResult struct {
	// Harnesses are all that are configured, in order of registration.
	Harnesses []HarnessEntry `json:"harnesses"`
}

// HarnessEntry is one harness in harness/list.
type HarnessEntry struct {
	// ID is its id.
	ID HarnessID `json:"id"`
	// Available: its executable resolves and may be run.
	Available bool `json:"available"`
	// Reason says why it is not; nil when it is.
	Reason *string `json:"reason,omitzero"`
	// Version is what the executable says of itself; nil when it was not asked or
	// does not say in time.
	Version *string `json:"version,omitzero"`
	// TestedVersion is the one that its adapter was tested with; nil: none was.
	TestedVersion *string `json:"testedVersion,omitzero"`
	// Path is the executable; nil when it was not found.
	Path *string `json:"path,omitzero"`
	// Login is open: what is known of its login without a network: found, not_found,
	// not_needed, unknown; nil when it is not available.
	Login *string `json:"login,omitzero"`
	// LoginSource is where a login was found: the name of a variable, or a path; nil
	// otherwise. Never a secret.
	LoginSource *string `json:"loginSource,omitzero"`
	// Capabilities are what it can do as it is driven here.
	Capabilities AgentCapabilities `json:"capabilities"`
	// Models are those it names; nil when unknown.
	Models []string `json:"models,omitzero"`
}

// The words of HarnessEntry.Login. None of them says that a login still holds: that,
// only a network tells.
const (
	// LoginFound: there is one, at LoginSource.
	LoginFound = "found"
	// LoginNotFound: there is none where this harness keeps it; it may have one
	// elsewhere, as in a system's key store.
	LoginNotFound = "not_found"
	// LoginNotNeeded: it works without.
	LoginNotNeeded = "not_needed"
	// LoginUnknown: nobody here knows where it would be.
	LoginUnknown = "unknown"
)

// TurnQueued is the body of a turn.queued event: that turn waits. It precedes its
// turn.started.
type TurnQueued struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn.
	TurnID string `json:"turnId"`
	// Position counts those before it and itself, from 1.
	Position int64 `json:"position"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// TurnUnqueued is the body of a turn.unqueued event: that turn will not run.
type TurnUnqueued struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// TurnID is the turn.
	TurnID string `json:"turnId"`
	// Reason is open: cancelled, session_closed, shutdown, host_death.
	Reason string `json:"reason"`
	// Input is the turn's input, so that it goes back to where it was written.
	Input Input `json:"input"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}

// Why a turn was unqueued.
const (
	UnqueuedCancelled     = "cancelled"
	UnqueuedSessionClosed = "session_closed"
	UnqueuedShutdown      = "shutdown"
	UnqueuedHostDeath     = "host_death"
)

// SessionUpdated is the body of a session.updated event: what the harness reports
// beyond the base. Each member that is present replaces what was known.
type SessionUpdated struct {
	// SessionID is the logical session.
	SessionID string `json:"sessionId"`
	// Title is what the harness calls the session; nil when absent.
	Title *string `json:"title,omitzero"`
	// Mode is the harness's own current mode; nil when absent.
	Mode *string `json:"mode,omitzero"`
	// Modes are those it has, as it describes them; nil when absent.
	Modes []Object `json:"modes,omitzero"`
	// Commands are those it has, as it describes them; nil when absent.
	Commands []Object `json:"commands,omitzero"`
	// Model is what it runs on; nil when absent.
	Model *string `json:"model,omitzero"`
	// BackgroundTasks counts what runs on beside the turns; nil when absent.
	BackgroundTasks *int64 `json:"backgroundTasks,omitzero"`
	// Timestamp is in epoch milliseconds.
	Timestamp int64 `json:"timestamp"`
	// Meta is the event's extension object; nil when absent.
	Meta Object `json:"_meta,omitzero"`
}
