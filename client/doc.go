// Package client is the other end of the wire: it initializes, sends requests,
// and delivers every event of every session once, in order.
//
// It decides when a hole is healed and how, and who is woken by what. It refuses
// to know how a gateway is run and what a conversation looks like: folding is
// package reducer's, and the choice what to show is the caller's.
//
// A Client has one read goroutine; all methods are safe for concurrent use. Close
// ends it and waits for it.
package client

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by every call on a connection that has ended.
var ErrClosed = errors.New("connection is closed")

// GapError says that events are lost: the server no longer holds them. It is
// never silent.
type GapError struct {
	// SessionID is the session.
	SessionID string
	// AfterSeq is the last event that was delivered.
	AfterSeq int64
	// FirstAvailableSeq is where what the server holds begins; 0: it holds nothing.
	FirstAvailableSeq int64
}

// Error names session and both numbers.
func (e *GapError) Error() string {
	return fmt.Sprintf("session %s: events after seq %d are lost, the server holds them from seq %d on", e.SessionID, e.AfterSeq, e.FirstAvailableSeq)
}
