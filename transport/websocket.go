package transport

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// SocketOptions bound one WebSocket. The zero value is useful.
type SocketOptions struct {
	// MaxMessageBytes bounds a line of the peer; 0: 10 MiB. One that is longer is
	// reported and skipped, the connection lives. A message may hold any number
	// of lines, and is never held whole.
	MaxMessageBytes int64
	// PingInterval is how often the peer is pinged; 0: 25 s. After two intervals
	// without a sign of life it is dead.
	PingInterval time.Duration
	// WriteTimeout is what the peer may take for the next 64 KiB; 0: 10 s.
	WriteTimeout time.Duration
	// CloseTimeout bounds the closing handshake; 0: 2 s.
	CloseTimeout time.Duration
	// Compression offers permessage-deflate; without it none is used.
	Compression bool
}

// withDefaults is the one place where SocketOptions are completed.
func (o SocketOptions) withDefaults() SocketOptions {
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = defaultMaxMessageBytes
	}
	if o.PingInterval == 0 {
		o.PingInterval = 25 * time.Second
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 10 * time.Second
	}
	if o.CloseTimeout == 0 {
		o.CloseTimeout = 2 * time.Second
	}
	return o
}

const (
	// fragment is how much is written under one deadline: a long message goes out
	// in frames of this size, so that a slow peer is not mistaken for a stuck one.
	fragment = 64 << 10
	// socketChunk is what an idle connection holds for reading.
	socketChunk = 4 << 10
)

// socket frames a WebSocket: it is the Framing of every connection that was
// accepted or dialled. A goroutine of its own, the keeper, pings and says the
// farewell, so that Close never waits for the peer.
type socket struct {
	o  SocketOptions
	ws *websocket.Conn

	// reading is held by who reads: Next, and the farewell after it. It guards
	// lines, which takes the messages apart.
	reading sync.Mutex
	lines   *ndjson
	// messages is what lines are read from.
	messages *messages
	// waiting: Next waits for the peer; alive counts its signs of life; silent:
	// the keeper has given it up.
	waiting atomic.Bool
	alive   atomic.Int64
	silent  atomic.Bool

	// closing is closed by whoever ends the connection first; gone when the keeper
	// has let the medium go.
	closing chan struct{}
	gone    chan struct{}

	// mu guards what follows: how the connection ends. Who says so first counts.
	mu     sync.Mutex
	closed bool
	// code and reason are what Close will say; code 0: nothing was said yet.
	code   int
	reason string
	// broken: the medium is no more use, for a farewell least of all.
	broken bool
	// bound cuts the medium when the farewell has taken too long.
	bound *time.Timer
}

// newSocket frames a connection and starts its keeper.
func newSocket(ws *websocket.Conn, o SocketOptions) *socket {
	s := &socket{o: o.withDefaults(), ws: ws, closing: make(chan struct{}), gone: make(chan struct{})}
	// Framing by lines is NDJSON's, oversize and all; here are only messages.
	s.messages = &messages{s: s}
	s.lines = &ndjson{r: bufio.NewReaderSize(s.messages, socketChunk), limit: s.o.MaxMessageBytes}
	ws.SetPongHandler(func(string) error { s.alive.Add(1); return nil })
	ws.SetPingHandler(s.pong)
	// A close is answered by the farewell: what is due goes out before it.
	ws.SetCloseHandler(func(int, string) error { return nil })
	go s.keep()
	return s
}

// Next implements Framing. A *CloseError says how the peer ended it, ErrDead that
// it has fallen silent; after Close it is net.ErrClosed.
func (s *socket) Next() ([]byte, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	// Who does not listen hears no pong: silence counts only while Next waits.
	s.alive.Add(1)
	s.waiting.Store(true)
	defer s.waiting.Store(false)
	line, err := s.lines.Next()
	if err == nil && s.isClosing() {
		// What a peer says that was told to go is not listened to.
		return nil, fmt.Errorf("reading a line: %w", net.ErrClosed)
	}
	return line, err
}

// Write implements Framing: all lines are one text message, whose end stands for
// the last newline.
func (s *socket) Write(lines []byte) error {
	if s.isClosing() {
		return fmt.Errorf("writing %d bytes: %w", len(lines), net.ErrClosed)
	}
	if n := len(lines); n > 0 && lines[n-1] == '\n' {
		lines = lines[:n-1]
	}
	if err := s.send(lines); err != nil {
		return fmt.Errorf("writing %d bytes: %w", len(lines), err)
	}
	return nil
}

func (s *socket) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// send sends one text message, in one frame or, where it is long, in several.
func (s *socket) send(text []byte) error {
	s.extend()
	if len(text) <= fragment {
		return s.ws.WriteMessage(websocket.TextMessage, text)
	}
	// One message all the same: a line never spans two.
	w, err := s.ws.NextWriter(websocket.TextMessage)
	if err != nil {
		return err
	}
	for len(text) > 0 {
		n := min(fragment, len(text))
		s.extend()
		if _, err := w.Write(text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	s.extend()
	return w.Close()
}

// extend gives the peer the whole timeout for what is written next.
func (s *socket) extend() { _ = s.ws.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)) }

// pong answers a ping. One that finds the writer stuck is dropped: the writer's
// own deadline judges the peer.
func (s *socket) pong(data string) error {
	s.alive.Add(1)
	_ = s.ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(s.o.WriteTimeout))
	return nil
}

// Close implements Framing. It does not wait: the keeper says the farewell, and
// CloseTimeout later the medium is gone in any case.
func (s *socket) Close() error {
	s.because(CloseNormal, "")
	return nil
}
