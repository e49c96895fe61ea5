package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/sourcegraph/jsonrpc2"

	"agent-server/gateway"
	"agent-server/transport"
	"agent-server/verify"
)

// listening serves a gateway over WebSockets on loopback, until the test's end.
func listening(t testing.TB, g *gateway.Gateway, socket transport.SocketOptions) *transport.Listener {
	t.Helper()
	o := transport.ListenOptions{Address: "0", InsecureNoAuth: true, MaxConnections: 2_000, Socket: socket}
	l, err := transport.Listen(context.Background(), o, func(p transport.Peer) (jsonrpc2.Handler, transport.Source) {
		sub := g.Connect(gateway.ConnectOptions{Name: p.Name, Reach: gateway.ReachLoopback})
		return sub, sub
	})
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := l.Shutdown(ctx); err != nil && !t.Failed() {
			t.Logf("connections were cut off: %v", err)
		}
	})
	return l
}

// socket is a WebSocket's lines as a stream of bytes.
type socket struct {
	transport.Framing
	rest []byte
	// writing is held by who writes: a peer may be played by several at once.
	writing sync.Mutex
}

func (s *socket) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		line, err := s.Next()
		if err != nil {
			return 0, err
		}
		s.rest = append(append(s.rest[:0], line...), '\n')
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *socket) Write(b []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	return len(b), s.Framing.Write(b)
}

func (*socket) SetWriteDeadline(time.Time) error { return nil }

// dialed is a peer over a real socket; it closes with the test, or before.
func dialed(t testing.TB, url string) *peer {
	t.Helper()
	f, err := transport.DialClient(context.Background(), url, transport.ClientOptions{})
	if err != nil {
		t.Fatalf("dialling: %v", err)
	}
	p := &peer{t: t, conn: &socket{Framing: f}, judge: verify.NewSet(verify.Options{})}
	p.grown = sync.NewCond(&p.mu)
	read := make(chan struct{})
	go func() { defer close(read); p.read() }()
	t.Cleanup(func() {
		p.hold(false)
		p.settle()
		_ = p.conn.Close()
		<-read
		p.verdict()
	})
	return p
}

// wires are the ways to a gateway, for tests of what must hold on each.
var wires = map[string]func(*testing.T, *gateway.Gateway) *peer{
	"a pipe": func(t *testing.T, g *gateway.Gateway) *peer { return connect(t, g, gateway.ConnectOptions{}) },
	"a WebSocket": func(t *testing.T, g *gateway.Gateway) *peer {
		return dialed(t, listening(t, g, transport.SocketOptions{}).URL())
	},
}

// small gives a connection that takes little in before it is read.
func small(c net.Conn) net.Conn {
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	return c
}

// raw is a WebSocket whose bytes pass only as its reader lets them.
func raw(t testing.TB, url string, through func(net.Conn) net.Conn) *websocket.Conn {
	t.Helper()
	d := websocket.Dialer{NetDial: func(network, addr string) (net.Conn, error) {
		c, err := net.Dial(network, addr)
		if err != nil {
			return nil, err
		}
		if through != nil {
			c = through(c)
		}
		return c, nil
	}}
	ws, resp, err := d.Dial(url, http.Header{})
	if err != nil {
		t.Fatalf("dialling: %v (%v)", err, resp)
	}
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

// drip is a connection that, once it is slow, reads a byte a second.
type drip struct {
	net.Conn
	slow *atomic.Bool
	tick *time.Ticker
	over chan struct{}
}

func (d *drip) Read(b []byte) (int, error) {
	if d.slow.Load() {
		select {
		case <-d.tick.C:
		case <-d.over:
			return 0, io.EOF
		}
		b = b[:min(1, len(b))]
	}
	return d.Conn.Read(b)
}

// chasm is a TCP proxy that from one moment on hands nothing on and closes nothing: a
// network that has vanished.
type chasm struct {
	addr   string
	silent chan struct{}
}

// overChasm proxies to an address until the test's end.
func overChasm(t testing.TB, to string) *chasm {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &chasm{addr: ln.Addr().String(), silent: make(chan struct{})}
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			wg.Go(func() { h.copy(in, out, over) })
			wg.Go(func() { h.copy(out, in, over) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); close(over); wg.Wait() })
	return h
}

// copy hands on until the network vanishes; the ends stay open until the test's end.
func (h *chasm) copy(to, from net.Conn, over <-chan struct{}) {
	defer func() { <-over; _ = from.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 16<<10)
		for {
			n, err := from.Read(b)
			select {
			case <-h.silent:
				return
			default:
			}
			if err != nil {
				return
			}
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
	}()
	select {
	case <-done:
	case <-over:
		_ = from.SetReadDeadline(time.Unix(1, 0))
		<-done
	}
}
