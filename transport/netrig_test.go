package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/sourcegraph/jsonrpc2"

	"agent-server/transport"
)

// secret is the token of these tests. It must not turn up anywhere.
const secret = "canary-4c1d9e8f72-canary"

// door is a listener on loopback and all the Sources it gave out.
type door struct {
	*transport.Listener
	t *testing.T

	mu      sync.Mutex
	sources []*source
	prepare func(*source)
}

// listen opens a door; it is shut at the test's end. Without a token's file it lets
// everybody in.
func listen(t testing.TB, h jsonrpc2.Handler, o transport.ListenOptions) *door {
	t.Helper()
	d := &door{}
	d.open(t, h, o)
	return d
}

// open is listen for a door that has something set.
func (d *door) open(t testing.TB, h jsonrpc2.Handler, o transport.ListenOptions) {
	t.Helper()
	if o.Address == "" {
		o.Address = "0"
	}
	o.InsecureNoAuth = o.TokenFile == "" && o.StateDir == ""
	l, err := transport.Listen(context.Background(), o, func(transport.Peer) (jsonrpc2.Handler, transport.Source) { return h, d.source() })
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	d.Listener = l
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := l.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		for i, s := range d.all() {
			if n := s.closes(); n != 1 {
				t.Errorf("source %d was closed %d times, want once", i, n)
			}
		}
	})
}

// source makes one connection's Source.
func (d *door) source() *source {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := newSource()
	if d.prepare != nil {
		d.prepare(s)
	}
	d.sources = append(d.sources, s)
	return s
}

func (d *door) all() []*source {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*source(nil), d.sources...)
}

// gone says whether the connection with that number has ended.
func (d *door) gone(i int) func() bool {
	return func() bool {
		all := d.all()
		return len(all) > i && all[i].closes() > 0
	}
}

// tokenFile writes the secret into a file of its own.
func tokenFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	writeToken(t, path, secret)
	return path
}

// writeToken replaces a token's file.
func writeToken(t testing.TB, path, token string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// peer is a WebSocket client that shows each frame as it is.
type peer struct {
	*websocket.Conn
	t testing.TB
	// rest are lines of a message that were not heard yet.
	rest []string
}

// meet connects a peer, with headers or none.
func meet(t testing.TB, url string, header http.Header) *peer {
	t.Helper()
	p, err := tryMeet(t, url, header)
	if err != nil {
		t.Fatalf("connecting to %s: %v", strings.SplitN(url, "?", 2)[0], err)
	}
	return p
}

func tryMeet(t testing.TB, url string, header http.Header) (*peer, error) {
	d := websocket.Dialer{HandshakeTimeout: patience}
	ws, resp, err := d.Dial(url, header)
	if resp != nil && err != nil {
		return nil, &transport.HandshakeError{Status: resp.StatusCode}
	}
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = ws.Close() })
	_ = ws.SetReadDeadline(time.Now().Add(patience))
	return &peer{Conn: ws, t: t}, nil
}

// tell sends a text message.
func (p *peer) tell(text string) {
	p.t.Helper()
	if err := p.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		p.t.Fatalf("writing: %v", err)
	}
}

// message gives the next message, which must be text, without a newline at its end.
func (p *peer) message() string {
	p.t.Helper()
	kind, b, err := p.ReadMessage()
	if err != nil {
		p.t.Fatalf("reading a message: %v", err)
	}
	if kind != websocket.TextMessage || strings.HasSuffix(string(b), "\n") {
		p.t.Errorf("a message of type %d that ends in %q, want text of whole lines", kind, b[max(0, len(b)-1):])
	}
	return string(b)
}

// hear gives the next line.
func (p *peer) hear() string {
	p.t.Helper()
	if len(p.rest) == 0 {
		p.rest = strings.Split(p.message(), "\n")
	}
	line := p.rest[0]
	p.rest = p.rest[1:]
	return line
}

// end reads to the end of the connection and gives the close code.
func (p *peer) end() int {
	p.t.Helper()
	for {
		_, _, err := p.ReadMessage()
		var c *websocket.CloseError
		switch {
		case errors.As(err, &c):
			return c.Code
		case errors.Is(err, os.ErrDeadlineExceeded):
			p.t.Fatal("the connection did not end")
		case err != nil:
			return websocket.CloseAbnormalClosure
		}
	}
}

// request is the line of a request.
func request(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"m"}` }

// answerTo is what echo answers to it.
func answerTo(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":"m absent"}` }

// ask sends a request and expects its answer.
func (p *peer) ask(id string) {
	p.t.Helper()
	p.tell(request(id))
	if got := p.hear(); got != answerTo(id) {
		p.t.Errorf("answer %s, want %s", got, answerTo(id))
	}
}

// read reads a response's body to its end.
func read(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading a response: %v", err)
	}
	return string(b)
}
