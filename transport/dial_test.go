package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"agent-server/transport"
)

// acceptor is the other end of a dialling gateway: a client that listens.
type acceptor struct {
	t     *testing.T
	url   string
	peers chan *peer
}

// accept listens for dialling gateways. judge may refuse one, by a status.
func accept(t *testing.T, judge func(r *http.Request) (status int)) *acceptor {
	t.Helper()
	a := &acceptor{t: t, peers: make(chan *peer, 100)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if judge != nil {
			if status := judge(r); status != 0 {
				w.WriteHeader(status)
				return
			}
		}
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Errorf("upgrading: %v", err)
			return
		}
		_ = ws.SetReadDeadline(time.Now().Add(patience))
		a.peers <- &peer{Conn: ws, t: t}
	}))
	a.url = "ws" + strings.TrimPrefix(srv.URL, "http")
	t.Cleanup(func() {
		srv.Close()
		for {
			select {
			case p := <-a.peers:
				_ = p.Close()
			default:
				return
			}
		}
	})
	return a
}

// next waits for the next gateway that dials.
func (a *acceptor) next() *peer {
	a.t.Helper()
	p := await(a.t, a.peers, "a dial")
	a.t.Cleanup(func() { _ = p.Close() })
	return p
}

// outward is a Dialer and its Sources.
type outward struct {
	*transport.Dialer
	*door
}

// Shutdown is the Dialer's.
func (o *outward) Shutdown(ctx context.Context) error { return o.Dialer.Shutdown(ctx) }

// dialOut dials until the test's end, with short waits.
func dialOut(t *testing.T, h jsonrpc2.Handler, o transport.DialOptions) *outward {
	t.Helper()
	if o.MinBackoff == 0 {
		o.MinBackoff, o.MaxBackoff = time.Millisecond, 4*time.Millisecond
	}
	d := &outward{door: &door{}}
	var err error
	if d.Dialer, err = transport.Dial(context.Background(), o, func(transport.Peer) (jsonrpc2.Handler, transport.Source) { return h, d.source() }); err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := d.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		for i, s := range d.all() {
			if n := s.closes(); n != 1 {
				t.Errorf("source %d was closed %d times, want once", i, n)
			}
		}
	})
	return d
}

// dialClient connects a client's Framing until the test's end.
func dialClient(t *testing.T, url string, o transport.ClientOptions) transport.Framing {
	t.Helper()
	f, err := transport.DialClient(t.Context(), url, o)
	if err != nil {
		t.Fatalf("DialClient: %v", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestDialServes: the acceptor is the client; it hears nothing before it asks, and
// is sent events like everybody.
func TestDialServes(t *testing.T) {
	t.Parallel()
	a := accept(t, nil)
	d := dialOut(t, handler(echo), transport.DialOptions{URL: a.url + "/some/path?x=1"})
	p := a.next()
	p.ask("1") // the first message it hears is this answer
	s := d.all()[0]
	s.log("s", 2)
	s.show("s")
	if got := p.hear() + p.hear(); got != "s:1s:2" {
		t.Errorf("events %q", got)
	}
	eventually(t, "the connection to show", d.Connected)
	go func() { _ = d.Shutdown(context.Background()) }()
	if got := p.end(); got != transport.CloseGoingAway {
		t.Errorf("close code %d, want %d", got, transport.CloseGoingAway)
	}
}

// TestDialAgain: whatever ends a connection, another follows, with a Source of its
// own.
func TestDialAgain(t *testing.T) {
	t.Parallel()
	a := accept(t, nil)
	d := dialOut(t, handler(echo), transport.DialOptions{URL: a.url})
	for i, end := range []func(*peer){
		func(p *peer) { p.bye(websocket.CloseNormalClosure) },
		func(p *peer) { p.bye(websocket.CloseServiceRestart) },
		func(p *peer) { _ = p.Close() },
		func(p *peer) { _ = p.NetConn().(*net.TCPConn).SetLinger(0); _ = p.Close() },
	} {
		p := a.next()
		p.ask("1")
		end(p)
		eventually(t, "the connection's end", d.gone(i))
	}
	a.next().ask("1")
}

// TestDialUntilLetIn: a refusal, of whatever kind, is no end: the token's file is
// read again each time.
func TestDialUntilLetIn(t *testing.T) {
	t.Parallel()
	var dials atomic.Int32
	path := tokenFile(t)
	a := accept(t, func(r *http.Request) int {
		n := dials.Add(1)
		switch {
		case n == 1:
			return http.StatusServiceUnavailable
		case r.Header.Get("Authorization") != "Bearer the-token-that-is-right":
			return http.StatusUnauthorized
		}
		return 0
	})
	core, logs := observer.New(zap.WarnLevel)
	d := dialOut(t, handler(echo), transport.DialOptions{URL: a.url, TokenFile: path, Logger: zap.New(core)})
	eventually(t, "some refusals", func() bool { return dials.Load() > 5 })
	if n := logs.Len(); n != 2 {
		t.Errorf("%d warnings, want one for each kind of refusal", n)
	}
	if d.Connected() {
		t.Error("connected with the wrong token")
	}
	writeToken(t, path, "the-token-that-is-right")
	a.next().ask("1")
}

// TestDialNobody: where nobody listens dialling goes on, and a shutdown ends it.
func TestDialNobody(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	d := dialOut(t, handler(echo), transport.DialOptions{URL: "ws://" + addr})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := d.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if n := len(d.all()); n != 0 {
		t.Errorf("%d Sources were made for nobody", n)
	}
}

// TestDialStalled: an acceptor that takes the connection and says nothing holds up
// no shutdown.
func TestDialStalled(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	d := dialOut(t, handler(echo), transport.DialOptions{URL: "ws://" + ln.Addr().String(), HandshakeTimeout: time.Hour})
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := d.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// TestDialAnsweredBadly: an answer without an end is not held, and one that is no
// HTTP is not quoted: it may be what we have sent.
func TestDialAnsweredBadly(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]struct{ first, again, want string }{
		"headers without end":  {"HTTP/1.1 101 Switching Protocols\r\n", "X-Long: " + strings.Repeat("x", 1<<10) + "\r\n", "too long"},
		"a header without end": {"HTTP/1.1 101 Switching Protocols\r\nX-Long: ", strings.Repeat("x", 1<<10), "too long"},
		"no HTTP":              {secret + "\r\n", "", "no HTTP server"},
		"no header":            {"HTTP/1.1 101 Switching Protocols\r\n" + secret + "\r\n\r\n", "", "no HTTP server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ln.Close() }()
			sent := make(chan int, 1)
			go func() { sent <- answerBadly(ln, answer.first, answer.again) }()
			_, err = transport.DialClient(t.Context(), "ws://"+ln.Addr().String(), transport.ClientOptions{})
			if err == nil || !strings.Contains(err.Error(), answer.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("error %v, want %q", err, answer.want)
			}
			if n := await(t, sent, "the answer"); n >= tooMuch {
				t.Errorf("%d bytes were taken", n)
			}
		})
	}
}

// tooMuch is what nobody takes for an answer, the system's buffers included.
const tooMuch = 64 << 20

// answerBadly takes one connection and says first, then again until it is not heard
// any more; it gives how much that was.
func answerBadly(ln net.Listener, first, again string) (n int) {
	c, err := ln.Accept()
	if err != nil {
		return 0
	}
	defer func() { _ = c.Close() }()
	for text := first; text != "" && n < tooMuch; text = again {
		wrote, err := c.Write([]byte(text))
		n += wrote
		if err != nil {
			break
		}
	}
	return n
}

// TestDialEndsWithItsContext: the context is its life.
func TestDialEndsWithItsContext(t *testing.T) {
	t.Parallel()
	a := accept(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	src := newSource()
	d, err := transport.Dial(ctx, transport.DialOptions{URL: a.url}, func(transport.Peer) (jsonrpc2.Handler, transport.Source) { return handler(echo), src })
	if err != nil {
		t.Fatal(err)
	}
	p := a.next()
	p.ask("1")
	cancel()
	if got := p.end(); got != transport.CloseGoingAway {
		t.Errorf("close code %d, want %d", got, transport.CloseGoingAway)
	}
	if err := d.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// TestDialRefuses: what can never work is an error at once, and no error holds the
// URL.
func TestDialRefuses(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "http://x/", "ws:///", "ws://x:y?token=" + secret, "ws://user:" + secret + "@x/", "ws://%zz" + secret, "ws://x/#" + secret} {
		_, err := transport.Dial(t.Context(), transport.DialOptions{URL: url}, nil)
		_, cerr := transport.DialClient(t.Context(), url, transport.ClientOptions{})
		for _, err := range []error{err, cerr} {
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: error %v, want one that does not quote it", url, err)
			}
		}
	}
	if _, err := transport.Dial(t.Context(), transport.DialOptions{URL: "ws://x/", TokenFile: "nowhere"}, nil); err == nil {
		t.Error("a token's file that is not there was taken")
	}
}

// TestClientEnds: a client tells from the error whether to come again.
func TestClientEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		end       func(d *door)
		eof       bool
		code      int
		resumable bool
	}{
		{"shutdown", func(d *door) { go func() { _ = d.Shutdown(context.Background()) }() }, true, transport.CloseGoingAway, true},
		{"a fault", func(d *door) { d.all()[0].fail(errors.New("disk")) }, false, transport.CloseInternal, true},
		{"too far behind", func(d *door) { d.all()[0].fail(lagged{}) }, false, transport.CloseTryAgain, true},
		{"the token changed", func(d *door) { writeToken(d.t, d.TokenFile(), "another-token-entirely") }, false, transport.ClosePolicy, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := &door{t: t}
			d.open(t, handler(echo), transport.ListenOptions{TokenFile: tokenFile(t), TokenPoll: 5 * time.Millisecond})
			f := dialClient(t, d.URL(), transport.ClientOptions{TokenFile: d.TokenFile()})
			tt.end(d)
			_, err := f.Next()
			var c *transport.CloseError
			if !errors.As(err, &c) || c.Code != tt.code || c.Resumable() != tt.resumable || errors.Is(err, io.EOF) != tt.eof {
				t.Errorf("error %v (resumable %v, EOF %v), want code %d, %v, %v", err, c != nil && c.Resumable(), errors.Is(err, io.EOF), tt.code, tt.resumable, tt.eof)
			}
		})
	}
}

// TestClientAnswersTheClose: a server that ends waits for no client that is slow to
// let go.
func TestClientAnswersTheClose(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{Socket: transport.SocketOptions{CloseTimeout: time.Hour}})
	f := dialClient(t, d.URL(), transport.ClientOptions{})
	done := make(chan error, 1)
	go func() { done <- d.Shutdown(context.Background()) }()
	if _, err := f.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v, want io.EOF", err)
	}
	if err := await(t, done, "Shutdown"); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// TestClientRefused: a handshake's refusal has its status, and says whether to try
// again.
func TestClientRefused(t *testing.T) {
	t.Parallel()
	path := tokenFile(t)
	d := listen(t, handler(echo), transport.ListenOptions{TokenFile: path, MaxConnections: 1})
	dialClient(t, d.URL(), transport.ClientOptions{Token: secret})
	for token, want := range map[string]struct {
		status int
		retry  bool
		after  time.Duration
	}{secret: {503, true, 5 * time.Second}, "some-other-token-" + secret: {401, false, 0}} {
		_, err := transport.DialClient(t.Context(), d.URL(), transport.ClientOptions{Token: token})
		var h *transport.HandshakeError
		if !errors.As(err, &h) || h.Status != want.status || h.Retryable() != want.retry || h.RetryAfter != want.after {
			t.Errorf("error %v, want %v", err, want)
		}
	}
}

// TestClientOfADialler: the client's end of an accepted socket, as an embedder has it.
func TestClientOfADialler(t *testing.T) {
	t.Parallel()
	framings := make(chan transport.Framing, 1000) // the gateway dials again and again
	var upgrading sync.WaitGroup
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrading.Add(1)
		defer upgrading.Done()
		if f, err := transport.Upgrade(w, r, transport.SocketOptions{}); err == nil {
			framings <- f
		}
	}))
	defer srv.Close()
	d := dialOut(t, handler(echo), transport.DialOptions{URL: "ws" + strings.TrimPrefix(srv.URL, "http")})
	f := await(t, framings, "a dial")
	if err := f.Write([]byte(request("1") + "\n" + request("2") + "\n")); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} {
		if line, err := f.Next(); err != nil || string(line) != answerTo(id) {
			t.Errorf("line %s, error %v", line, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := f.Next(); err == nil {
		t.Error("a line after Close")
	}
	if err := f.Write([]byte("x\n")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("writing after Close: %v, want net.ErrClosed", err)
	}
	if resp, err := http.Get(srv.URL); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a plain GET: %v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	if err := d.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	srv.Close()
	upgrading.Wait()
	for len(framings) > 0 {
		_ = (<-framings).Close()
	}
}
