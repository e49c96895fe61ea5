package transport

import (
	"errors"
	"fmt"
	"io"

	"github.com/gorilla/websocket"
)

// messages is what a peer's messages hold, text and binary alike, one after the
// other, each with a newline at its end: a line never spans two messages.
type messages struct {
	s *socket
	// message is being read; nil between two. last is its byte before, a newline at
	// its beginning: no byte that a peer can send may stand for none.
	message io.Reader
	last    byte
	// owed: the message's end is yet to be shown as a newline.
	owed bool
	// err is the connection's end; it stays.
	err error
}

// Read implements io.Reader.
func (m *messages) Read(p []byte) (int, error) {
	for m.err == nil && len(p) > 0 {
		switch {
		case m.owed:
			m.owed, p[0] = false, '\n'
			return 1, nil
		case m.message == nil:
			m.next()
		default:
			if n := m.some(p); n > 0 {
				return n, nil
			}
		}
	}
	return 0, m.err
}

// next waits for the next message.
func (m *messages) next() {
	_, r, err := m.s.ws.NextReader()
	if err != nil {
		m.err = m.s.inputEnded(err)
		return
	}
	m.message, m.last = r, '\n'
}

// some reads of the message what there is.
func (m *messages) some(p []byte) int {
	n, err := m.message.Read(p)
	if n > 0 {
		m.last = p[n-1]
		m.s.alive.Add(1)
	}
	switch {
	case err == io.EOF: // bare: the message's own end
		m.message = nil
		m.owed = m.last != '\n'
	case err != nil:
		// Half a message holds half a line: no end makes it a whole one.
		err = m.s.inputEnded(err)
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("reading a message: %w", io.ErrUnexpectedEOF)
		}
		m.err = err
	}
	return n
}

// inputEnded says why there is no more to read. A peer that has closed may still
// be sent what is due; in any other case the medium is of no more use.
func (s *socket) inputEnded(err error) error {
	var closed *websocket.CloseError
	switch {
	case s.silent.Load():
		return ErrDead
	case errors.As(err, &closed) && closed.Code != CloseAbnormal:
		s.intend(closed.Code, "")
		return &CloseError{Code: closed.Code, Reason: closed.Text}
	}
	s.abandon()
	if closed != nil {
		return &CloseError{Code: CloseAbnormal}
	}
	return fmt.Errorf("reading a message: %w", err)
}
