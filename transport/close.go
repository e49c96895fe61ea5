package transport

import (
	"errors"
	"fmt"
	"io"

	"github.com/gorilla/websocket"
)

// Codes with which a WebSocket is closed; docs/close-codes.md has the table.
const (
	// CloseNormal answers a peer that has closed; nothing was cut.
	CloseNormal = websocket.CloseNormalClosure
	// CloseGoingAway: this end shuts down; what was due has been sent.
	CloseGoingAway = websocket.CloseGoingAway
	// CloseNoCode: the peer's close named none. It is never sent.
	CloseNoCode = websocket.CloseNoStatusReceived
	// CloseAbnormal: the medium ended without a close. It is never sent.
	CloseAbnormal = websocket.CloseAbnormalClosure
	// ClosePolicy: the token under which the peer came in holds no more.
	ClosePolicy = websocket.ClosePolicyViolation
	// CloseInternal: what is due cannot be read, by a fault of this end.
	CloseInternal = websocket.CloseInternalServerErr
	// CloseTryAgain: the peer fell too far behind; a replay heals it.
	CloseTryAgain = websocket.CloseTryAgainLater
)

// ErrDead is returned when a peer has answered no ping and sent nothing for two
// intervals.
var ErrDead = errors.New("peer answers no pings")

// CloseError says how the peer ended a WebSocket. Where it has said all it will
// (normal, going away, no code) it is io.EOF to errors.Is.
type CloseError struct {
	// Code is the peer's; CloseAbnormal where there was no close at all.
	Code int
	// Reason is the peer's own text: it may hold anything, and is not for logs.
	Reason string
}

// Error names the code alone.
func (e *CloseError) Error() string { return fmt.Sprintf("websocket closed with code %d", e.Code) }

// Is makes an orderly end io.EOF.
func (e *CloseError) Is(target error) bool { return target == io.EOF && orderly(e.Code) }

// Resumable says whether dialling again, with the same token and cursors, is of
// use. Codes that nobody has heard of are.
func (e *CloseError) Resumable() bool {
	switch e.Code {
	case websocket.CloseProtocolError, websocket.CloseUnsupportedData, websocket.CloseInvalidFramePayloadData,
		websocket.CloseMessageTooBig, websocket.CloseMandatoryExtension, ClosePolicy:
		return false
	}
	return true
}

// orderly says whether a code tells that nothing went wrong.
func orderly(code int) bool {
	return code == CloseNormal || code == CloseGoingAway || code == CloseNoCode
}

// closeCoder is what an error of a Source may implement to choose the code with
// which its connection is closed; without it that is CloseInternal.
type closeCoder interface{ CloseCode() int }

// codeOf is the close code for an error of a Source.
func codeOf(err error) int {
	var c closeCoder
	if errors.As(err, &c) {
		return c.CloseCode()
	}
	return CloseInternal
}
