package session

import (
	"agent-server/harness"
	"agent-server/protocol"
)

// Input is what can happen to a session: a sealed union of the structs of this
// file. An input that names an older generation changes nothing but a diagnostic.
type Input interface{ input() }

// StartTurn asks for a turn. Params, shutting down of the whole gateway, and
// harness availability have been checked; ids are minted.
type StartTurn struct {
	// Token is answered by an Ack or by an error Reply.
	Token Token
	// TurnID is given or minted; not empty.
	TurnID string
	// Input is the prompt.
	Input protocol.Input
	// Config is how to run it; its harness is the id as the client wrote it.
	Config protocol.RunConfig
	// Trace is a trace context, the _meta of the turn's first and last event; nil:
	// none. It is no part of the turn's identity.
	Trace protocol.Object
	// IfBusy is what to do while another turn is open; "" is reject, and leaves
	// the disposition out of the answer.
	IfBusy protocol.IfBusy
	// Faults are what the caller found wrong on this machine (cwd is no
	// directory, for instance); they are answered after admission was looked
	// up, so that a retry is deduplicated first.
	Faults []protocol.Fault
	// Refusal is what the caller has against any new turn here, whatever it is; it is
	// answered where the session would take the turn, so that a retry is deduplicated
	// first; nil: nothing.
	Refusal *protocol.Error
}

// CancelTurn asks for the end of the active turn.
type CancelTurn struct {
	// Token is answered by a TurnCancelResult, now or later.
	Token Token
	// TurnID is the stamp; "": whatever is active.
	TurnID string
}

// ResolvePermission answers a permission request.
type ResolvePermission struct {
	// Token is answered by a PermissionRespondResult.
	Token Token
	// RequestID is the request.
	RequestID string
	// Outcome is the answer.
	Outcome protocol.PermissionOutcome
}

// Clients tells whether anybody is there to be asked. When the last one goes,
// what is open is denied where Options.DenyWithoutClient says so; how long a
// connection may be away before it counts as gone is the caller's.
type Clients struct {
	// Present is true while a client receives the session.
	Present bool
}

// WriteRefused: the process was dead already when it was to be given the Stdin of
// an Output with Prompt, and has taken nothing of it. It comes before the
// generation's Exited.
type WriteRefused struct {
	// Gen is its generation.
	Gen int
}

// Spawned: the process of a generation runs.
type Spawned struct {
	// Gen is its generation.
	Gen int
}

// SpawnFailed: the process of a generation could not be started.
type SpawnFailed struct {
	// Gen is its generation.
	Gen int
	// Message names path and reason.
	Message string
	// InUse: it was not tried, since another session runs the native session.
	InUse bool
}

// NativeLine: the process wrote a line.
type NativeLine struct {
	// Gen is its generation.
	Gen int
	// Line is valid during the call only.
	Line []byte
}

// LineDropped: the process wrote a line over the budget.
type LineDropped struct {
	// Gen is its generation.
	Gen int
	// Bytes is the line's length.
	Bytes int64
}

// Exited: the process has ended, and its descendants with it.
type Exited struct {
	// Gen is its generation.
	Gen int
	// Status is how.
	Status harness.ExitStatus
}

// Deadline is the expiry of a Timer.
type Deadline struct {
	// Timer is its id.
	Timer TimerID
}

// Close asks for the end of the session. A client's turn that runs or waits
// refuses it, unless Force; a harness turn ends with it.
type Close struct {
	// Token is answered by a SessionCloseResult, with Force when the open turn is
	// over, or an error.
	Token Token
	// Force cancels the open turn and unqueues the rest first.
	Force bool
}

// Shutdown: the gateway ends. A running turn may finish until Drain milliseconds
// have passed, then it is cancelled; at 0 it is cancelled at once.
type Shutdown struct {
	// Drain is in milliseconds.
	Drain int64
}

func (StartTurn) input()         {}
func (CancelTurn) input()        {}
func (ResolvePermission) input() {}
func (Clients) input()           {}
func (WriteRefused) input()      {}
func (Spawned) input()           {}
func (SpawnFailed) input()       {}
func (NativeLine) input()        {}
func (LineDropped) input()       {}
func (Exited) input()            {}
func (Deadline) input()          {}
func (Close) input()             {}
func (Shutdown) input()          {}
