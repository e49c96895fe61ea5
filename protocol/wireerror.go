package protocol

import "fmt"

// Code is a JSON-RPC error code. Clients match codes; texts are ours.
type Code int64

// The error codes of the wire.
const (
	// CodeParseError: the line is not JSON.
	CodeParseError Code = -32700
	// CodeInvalidRequest: JSON, but no request; or a line over the limit.
	CodeInvalidRequest Code = -32600
	// CodeMethodNotFound: unknown method.
	CodeMethodNotFound Code = -32601
	// CodeInvalidParams: shape or value wrong; session bound to another harness.
	CodeInvalidParams Code = -32602
	// CodeInternalError: a fault of ours, or a log that cannot be written.
	CodeInternalError Code = -32603
	// CodeHarnessNotAvailable: a known harness that is not available here.
	CodeHarnessNotAvailable Code = -32000
	// CodeUnknownSession: a read of a session never seen, or pruned.
	CodeUnknownSession Code = -32001
	// CodeTurnActive: a second turn on a busy session; close while a turn runs.
	CodeTurnActive Code = -32002
	// CodeShuttingDown: turn/start during shutdown.
	CodeShuttingDown Code = -32003
	// CodeProtocolVersionMismatch: any version but 2.
	CodeProtocolVersionMismatch Code = -32004
	// CodeSessionClosing: turn/start or close while a close is in flight.
	CodeSessionClosing Code = -32005
	// CodeTurnConflict: the same pair of ids with other content.
	CodeTurnConflict Code = -32006
	// CodeSeqUnavailable (added): the log cannot serve the cursor.
	CodeSeqUnavailable Code = -32020
	// CodeOverloaded (added): an admission limit is reached; retry with the
	// same ids.
	CodeOverloaded Code = -32021
)

// Error is the one typed error of the wire.
type Error struct {
	// Code is what clients match.
	Code Code
	// Message is for people; it holds no secret.
	Message string
	// Data is a JSON value; nil: absent, never null.
	Data Object
}

// Error says code and message.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Fault is one thing wrong with a value: where, and what.
type Fault struct {
	// Path is dotted, array places as numbers ("input.0.text"); "" is the root.
	Path string `json:"path"`
	// Message says what is wrong.
	Message string `json:"message"`
}

// The constructors below are the only place where wire errors are worded.

// ErrInvalidParams is -32602 with every fault at once.
func ErrInvalidParams(faults []Fault) *Error {
	return &Error{Code: CodeInvalidParams, Message: "invalid params", Data: marshalData(faults)}
}

// ErrHarnessBound is -32602 for a session that another harness runs; no data.
func ErrHarnessBound(session string, bound HarnessID) *Error {
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("session %s is bound to harness %s", session, bound)}
}

// ErrHarnessNotAvailable is -32000, naming what is available instead.
func ErrHarnessNotAvailable(id HarnessID, available []HarnessID) *Error {
	if available == nil {
		available = []HarnessID{}
	}
	return &Error{Code: CodeHarnessNotAvailable, Message: fmt.Sprintf("harness not available: %s", id),
		Data: marshalData(struct {
			Available []HarnessID `json:"available"`
		}{available})}
}

// ErrUnknownSession is -32001.
func ErrUnknownSession(session string) *Error {
	return &Error{Code: CodeUnknownSession, Message: "unknown session: " + session}
}

// ErrTurnActive is -32002 for a second turn on a busy session.
func ErrTurnActive(session, turn string) *Error {
	return &Error{Code: CodeTurnActive, Message: fmt.Sprintf("session %s already has an active turn", session), Data: turnData(turn)}
}

// ErrCloseWhileActive is -32002 for a close while a turn runs.
func ErrCloseWhileActive(session, turn string) *Error {
	return &Error{Code: CodeTurnActive, Message: fmt.Sprintf("session %s has an active turn", session), Data: turnData(turn)}
}

// ErrShuttingDown is -32003.
func ErrShuttingDown() *Error {
	return &Error{Code: CodeShuttingDown, Message: "server is shutting down"}
}

// ErrVersionMismatch is -32004.
func ErrVersionMismatch(version int64) *Error {
	return &Error{Code: CodeProtocolVersionMismatch, Message: fmt.Sprintf("unsupported protocol version: %d", version),
		Data: Object(`{"supported":[2]}`)}
}

// ErrSessionClosing is -32005.
func ErrSessionClosing(session string) *Error {
	return &Error{Code: CodeSessionClosing, Message: fmt.Sprintf("session %s is closing", session)}
}

// ErrTurnConflict is -32006.
func ErrTurnConflict(session, turn string) *Error {
	return &Error{Code: CodeTurnConflict,
		Message: fmt.Sprintf("turn %s on session %s was already admitted with different input", turn, session), Data: turnData(turn)}
}

// ErrMethodNotFound is -32601.
func ErrMethodNotFound(method string) *Error {
	return &Error{Code: CodeMethodNotFound, Message: "unknown method: " + method}
}

// ErrInternal is -32603; the text must hold nothing secret.
func ErrInternal(text string) *Error {
	return &Error{Code: CodeInternalError, Message: text}
}

// ErrSeqUnavailable is -32020: the log cannot prove that it holds every durable
// event after a cursor.
func ErrSeqUnavailable(session string, after, first, latest int64) *Error {
	return &Error{Code: CodeSeqUnavailable, Message: fmt.Sprintf("session %s cannot be read on from seq %d", session, after),
		Data: marshalData(struct {
			AfterSeq          int64 `json:"afterSeq"`
			FirstAvailableSeq int64 `json:"firstAvailableSeq"`
			LatestSeq         int64 `json:"latestSeq"`
		}{after, first, latest})}
}

// ErrOverloaded is -32021; nothing was admitted.
func ErrOverloaded(text string, retryAfterMs int64) *Error {
	return &Error{Code: CodeOverloaded, Message: text,
		Data: marshalData(struct {
			RetryAfterMs int64 `json:"retryAfterMs"`
		}{retryAfterMs})}
}

func turnData(turn string) Object {
	return marshalData(struct {
		TurnID string `json:"turnId"`
	}{turn})
}
