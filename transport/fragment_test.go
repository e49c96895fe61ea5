package transport

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// counted is a connection that knows how much is written under one deadline.
type counted struct {
	net.Conn
	now, most, deadline *atomic.Int64
}

func (c counted) SetWriteDeadline(t time.Time) error {
	if c.deadline.Swap(t.UnixNano()) != t.UnixNano() {
		c.now.Store(0)
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c counted) Write(p []byte) (int, error) {
	if n := c.now.Add(int64(len(p))); n > c.most.Load() {
		c.most.Store(n)
	}
	return c.Conn.Write(p)
}

// countedListener counts what it accepts.
type countedListener struct {
	net.Listener
	now, most, deadline atomic.Int64
}

func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return counted{c, &l.now, &l.most, &l.deadline}, nil
}

// TestADeadlineForEachFragment: of a long message no more than 64 KiB, and a frame's
// header, is written under one deadline; and it is one message all the same.
func TestADeadlineForEachFragment(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("0123456789abcdef"), 80_000)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := &countedListener{Listener: inner}
	sockets := make(chan *socket, 1)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Errorf("upgrading: %v", err)
			return
		}
		s := newSocket(ws, SocketOptions{})
		sockets <- s
		if err := s.Write(append(text, '\n')); err != nil {
			t.Errorf("Write: %v", err)
		}
		_ = s.Close()
		s.wait()
	}))
	_ = srv.Listener.Close()
	srv.Listener = ln
	srv.Start()
	defer srv.Close()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(srv.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.Close() }()
	_, r, err := ws.NextReader()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%d bytes came, error %v, want %d", len(got), err, len(text))
	}
	_, _, _ = ws.NextReader() // answers the close
	(<-sockets).wait()
	if most := ln.most.Load(); most > fragment+16 || most < fragment {
		t.Errorf("%d bytes were written under one deadline, want %d and a header", most, fragment)
	}
}
