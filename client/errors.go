package client

import (
	"errors"
	"fmt"

	"agent-server/protocol"
)

// ErrClosed is returned by every call on a connection that has ended for good, and
// by a Feed's Next once it is empty then. Where the connection ended by a fault, the
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

// HostLostError says that another host answers than before, and that its log is
// another one: the sessions died with the host that held them. Turns that ran there
// end with it for who consumes them, and calls that were under way; how they ended
// nobody can say. Nothing of them is sent to the new host. On other feeds the
// session's numbers begin anew behind it.
type HostLostError struct {
	// InstanceID is the host that is gone.
	InstanceID string
	// NewInstanceID is the one that answers now.
	NewInstanceID string
}

// Error names both.
func (e *HostLostError) Error() string {
	return fmt.Sprintf("the host %s is gone with its sessions, %s answers now", e.InstanceID, e.NewInstanceID)
}

// FateError says that a request was sent and the connection ended before its
// answer: it may have been done. It is given for what is not safe to send twice:
// a close, a shutdown, a cancel of whichever turn is active, a permission's answer.
// turn/start, a cancel of a named turn, and everything that only reads are sent
// again by the client itself.
type FateError struct {
	// Method is what was called.
	Method string
}

// Error names the method.
func (e *FateError) Error() string {
	return "the connection ended before the answer to " + e.Method + " came; it may have been done"
}

// VersionError says that the server speaks another version of the protocol.
type VersionError struct {
	// Server is the server's.
	Server int64
}

// Error names both.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the server speaks protocol %d, this client %d", e.Server, protocol.Version)
}

// UnreadableError says that the server sent what cannot be read: it is none, or
// none of this protocol.
type UnreadableError struct {
	// What was to be read.
	What string
	// Cause is why it cannot.
	Cause error
}

// Error says what and why.
func (e *UnreadableError) Error() string { return e.What + ": " + e.Cause.Error() }

// Unwrap gives the cause.
func (e *UnreadableError) Unwrap() error { return e.Cause }
