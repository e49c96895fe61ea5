// Package client is the other end of the wire: it initializes, sends requests,
// and delivers every event of every session once, in order.
//
// It decides when a hole is healed and how, who is woken by what, and when the
// connection is read no further. It refuses to know how a gateway is run and what
// a conversation looks like: folding is package reducer's, and the choice what to
// show is the caller's.
//
// # Numbers
//
// Every envelope has a seq, contiguous in its session. One that was delivered is
// not delivered again. One that comes too early shows a hole: the session's live
// events are held back, the hole is filled from the server's log, and all of it is
// delivered in order. Where the log no longer holds what is missing, a *GapError
// stands in its place. A session that is first heard of in mid-life is joined
// there: what was before this connection is no hole, unless somebody waits for the
// session's or a turn's beginning.
//
// # Slowness
//
// Who consumes too slowly holds up the connection, and with it everyone who
// follows something on it: nothing is dropped. A call that waits for its answer
// lifts that, since its answer stands behind what is unread; so a call may be made
// while events are being consumed.
//
// A Client has one goroutine that reads, one that writes, and one for each hole
// that is being healed. All methods are safe for concurrent use; Close ends the
// goroutines and waits for them.
package client

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by every call on a connection that has ended, and by a
// Feed's Next once it is empty then. Where the connection ended by a fault, the
// fault is wrapped beside it.
var ErrClosed = errors.New("connection is closed")

// GapError says that events are lost: the server no longer holds them, or could
// not be asked. It is never silent.
type GapError struct {
	// SessionID is the session.
	SessionID string
	// AfterSeq is the last event that was delivered.
	AfterSeq int64
	// FirstAvailableSeq is where what the server holds begins; 0: it holds
	// nothing, or could not be asked.
	FirstAvailableSeq int64
	// Cause is why the server could not be asked; nil: it was.
	Cause error
}

// Error names session and numbers.
func (e *GapError) Error() string {
	text := fmt.Sprintf("session %s: events after seq %d are lost", e.SessionID, e.AfterSeq)
	switch {
	case e.Cause != nil:
		return text + ": " + e.Cause.Error()
	case e.FirstAvailableSeq > 0:
		return fmt.Sprintf("%s, the server holds them from seq %d on", text, e.FirstAvailableSeq)
	}
	return text + ", the server holds none"
}

// Unwrap gives the cause.
func (e *GapError) Unwrap() error { return e.Cause }
