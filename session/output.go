package session

import (
	"agent-server/harness"
	"agent-server/protocol"
)

// Output is what must be done after a step. The performer does it in the order
// of the members:
//
//  1. one log append of Admit and Events (durable, where the engine is);
//  2. Acks are queued to their connections;
//  3. the head moves: Events become visible;
//  4. Replies are queued, each with a barrier at the last seq of this Output;
//  5. Stop, Spawn, Stdin;
//  6. Timers; Diagnostics go to the log.
type Output struct {
	// Admit is the admission to record with the events; nil: none.
	Admit *Admission
	// Events are stamped, in seq order.
	Events []Stamped
	// Acks are answers that precede this Output's events.
	Acks []Answer
	// Replies are answers that follow this Output's events.
	Replies []Answer
	// Stop ends a process by the ladder; nil: none. It comes before Spawn: a
	// restart stops generation n and spawns n+1 in one Output, and the performer
	// starts n+1 only when n has exited.
	Stop *Stop
	// Spawn starts a process; nil: none. Whenever it comes, it is performed only
	// when every earlier generation has exited: two processes never share a
	// native session. Stdin for it waits until then, and so does its Stop.
	Spawn *Spawn
	// Stdin is for the process of generation StdinGen; whole lines.
	Stdin []byte
	// StdinGen is the generation that Stdin is for.
	StdinGen int
	// Prompt: Stdin holds the open turn's prompt. Where the process is dead already
	// and takes nothing of it, WriteRefused says so.
	Prompt bool
	// Timers are to be set or stopped.
	Timers []Timer
	// Diagnostics go to the log.
	Diagnostics []harness.Diagnostic
	// Ended is true when the session has said session.ended in this Output: its
	// process is being stopped and the owner may let the machine go once that
	// process has exited.
	Ended bool
}

// Stamped is an event with its place.
type Stamped struct {
	// Seq is one above the event before it.
	Seq int64
	// Event is the event; never changed again.
	Event protocol.Event
}

// Admission is what makes a turn idempotent: it is recorded in the same append
// as the turn's first events.
type Admission struct {
	// TurnID is the turn.
	TurnID string
	// Hash is the HMAC-SHA-256 of protocol.TurnIdentity, under Options.HashKey.
	Hash [32]byte
}

// Answer is what a token is owed: Result or Err.
type Answer struct {
	// Token is the request.
	Token Token
	// Result is a result struct of package protocol; nil with Err.
	Result any
	// Err is the error; nil with Result.
	Err *protocol.Error
	// Barrier is, for an Ack that stands among this Output's events or right
	// before its last ones, the seq that is sent before it; 0: none, the Ack
	// precedes all of them. A Reply has none here: its barrier is the last seq
	// of the Output.
	Barrier int64
}

// Spawn asks for a process.
type Spawn struct {
	// Gen is its generation, above every one before.
	Gen int
	// Launch is what Harness.Launch was asked with.
	Launch harness.Launch
	// Command is what Harness.Launch gave for it.
	Command harness.Command
}

// Stop asks for the end of a process.
type Stop struct {
	// Gen is its generation.
	Gen int
	// Kill goes straight to the last rung.
	Kill bool
	// Stdin is the farewell, whole lines, before stdin is closed; nil: there is none.
	Stdin []byte
}

// TimerID names a timer. The machine's own have Gen 0; a translator's have its
// generation, so that those of a dead process are told apart.
type TimerID struct {
	// Gen is the translator's generation; 0 for the machine's own.
	Gen int
	// Name tells timers of one generation apart.
	Name string
}

// Timer asks for a Deadline input.
type Timer struct {
	// ID names it; setting it again moves it.
	ID TimerID
	// At is in epoch milliseconds; 0 stops it.
	At int64
}
