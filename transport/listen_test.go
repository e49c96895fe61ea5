package transport_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/sourcegraph/jsonrpc2"

	"agent-server/transport"
)

// TestWhereToListen: loopback unless said otherwise, and beyond it only with TLS, or
// a proxy that brings it, and a token.
func TestWhereToListen(t *testing.T) {
	t.Parallel()
	token := tokenFile(t)
	cert, key := certificate(t)
	with := func(address string, change func(*transport.ListenOptions)) transport.ListenOptions {
		o := transport.ListenOptions{Address: address, TokenFile: token}
		change(&o)
		return o
	}
	as := func(*transport.ListenOptions) {}
	noAuth := func(o *transport.ListenOptions) { o.TokenFile, o.InsecureNoAuth = "", true }
	proxy := func(o *transport.ListenOptions) { o.BehindProxy = true }
	tests := []struct {
		name string
		o    transport.ListenOptions
		good bool
	}{
		{"a port", with("0", as), true},
		{"a colon and a port", with(":0", as), true},
		{"localhost", with("localhost:0", as), true},
		{"an address", with("127.0.0.1:0", as), true},
		{"another loopback address", with("127.0.0.2:0", as), true},
		{"no token on loopback", with("127.0.0.1:0", noAuth), true},
		{"everywhere", with("0.0.0.0:0", as), false},
		{"everywhere, IPv6", with("[::]:0", as), false},
		{"everywhere, no token", with("0.0.0.0:0", noAuth), false},
		{"everywhere, behind a proxy", with("0.0.0.0:0", proxy), true},
		{"everywhere, behind a proxy, no token", with("0.0.0.0:0", func(o *transport.ListenOptions) { noAuth(o); proxy(o) }), false},
		{"everywhere, TLS", with("0.0.0.0:0", func(o *transport.ListenOptions) { o.TLSCert, o.TLSKey = cert, key }), true},
		{"everywhere, TLS, no token", with("0.0.0.0:0", func(o *transport.ListenOptions) { noAuth(o); o.TLSCert, o.TLSKey = cert, key }), false},
		{"a certificate without its key", with("0", func(o *transport.ListenOptions) { o.TLSCert = cert }), false},
		{"a key without its certificate", with("0", func(o *transport.ListenOptions) { o.TLSKey = key }), false},
		{"no certificate", with("0", func(o *transport.ListenOptions) { o.TLSCert, o.TLSKey = key, key }), false},
		{"token and no token", with("0", func(o *transport.ListenOptions) { o.InsecureNoAuth = true }), false},
		{"neither", with("0", func(o *transport.ListenOptions) { o.TokenFile = "" }), false},
		{"no port", with("127.0.0.1", as), false},
		{"an empty port", with("127.0.0.1:", as), false},
		{"no number", with("127.0.0.1:http", as), false},
		{"no address at all", with("[::1:0", as), false},
		{"a host with a port", with("0", func(o *transport.ListenOptions) { o.AllowedHosts = []string{"x.example:80"} }), false},
		{"a host with a star", with("0", func(o *transport.ListenOptions) { o.AllowedHosts = []string{"*.example"} }), false},
		{"an empty host", with("0", func(o *transport.ListenOptions) { o.AllowedHosts = []string{""} }), false},
		{"an IPv6 host", with("0", func(o *transport.ListenOptions) {
			o.AllowedHosts = []string{"2001:DB8:0::1", "[2001:db8::2]", "Gateway.Example"}
		}), true},
		{"an origin without a scheme", with("0", func(o *transport.ListenOptions) { o.AllowedOrigins = []string{"app.example"} }), false},
		{"an origin with a path", with("0", func(o *transport.ListenOptions) { o.AllowedOrigins = []string{"https://app.example/x"} }), false},
		{"the null origin", with("0", func(o *transport.ListenOptions) { o.AllowedOrigins = []string{"null"} }), false},
		{"any origin", with("0", func(o *transport.ListenOptions) { o.AllowedOrigins = []string{"*"} }), false},
	}
	for _, tt := range tests {
		expectStart(t, tt.name, tt.o, tt.good)
	}
	if host, _, _ := net.SplitHostPort(listen(t, handler(echo), transport.ListenOptions{Address: ":0"}).Addr().String()); host != "127.0.0.1" {
		t.Errorf("without a host it listens on %s", host)
	}
}

// certificate makes a certificate for 127.0.0.1 and its key, as files.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secretPart, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secretPart)
}

// TestURLOfEverywhere: who listens on every address tells one that can be dialled,
// and whose Host is let in.
func TestURLOfEverywhere(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"0.0.0.0:0": "ws://127.0.0.1:", "[::]:0": "ws://127.0.0.1:", "127.0.0.1:0": "ws://127.0.0.1:"} {
		l, err := transport.Listen(context.Background(), transport.ListenOptions{Address: address, TokenFile: tokenFile(t), BehindProxy: true},
			func(transport.Peer) (jsonrpc2.Handler, transport.Source) { return nil, newSource() })
		if err != nil && strings.HasPrefix(address, "[") {
			t.Logf("no IPv6 here: %v", err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := l.URL(); !strings.HasPrefix(got, want) {
			t.Errorf("listening on %s, the URL is %s, want %s…", address, got, want)
		}
		if err := l.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// TestTLS: the same over TLS, listening and dialling; and to HTTP/2 nobody is led.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	d := listen(t, handler(echo), transport.ListenOptions{TokenFile: tokenFile(t), TLSCert: cert, TLSKey: key})
	roots := x509.NewCertPool()
	b, err := os.ReadFile(cert)
	if err != nil || !roots.AppendCertsFromPEM(b) {
		t.Fatal("no certificate", err)
	}
	o := transport.ClientOptions{Token: secret, TLS: &tls.Config{RootCAs: roots}}
	if !strings.HasPrefix(d.URL(), "wss://") {
		t.Errorf("URL %s", d.URL())
	}
	f := dialClient(t, d.URL(), o)
	long := request("1")[:len(request("1"))-1] + `,"params":"` + strings.Repeat("x", 300_000) + `"}`
	if err := f.Write([]byte(long + "\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := f.Next(); err != nil || len(line) < 300_000 {
		t.Errorf("an answer of %d bytes, error %v", len(line), err)
	}
	if _, err := transport.DialClient(t.Context(), d.URL(), transport.ClientOptions{Token: secret}); err == nil {
		t.Error("a certificate that nobody vouches for was taken")
	}
	if c, err := tls.Dial("tcp", d.Addr().String(), &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}}); err == nil {
		t.Errorf("protocol %q was agreed on", c.ConnectionState().NegotiatedProtocol)
		_ = c.Close()
	}
	go func() { _ = d.Shutdown(context.Background()) }()
	if _, err := f.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v, want io.EOF", err)
	}
}

// TestAllPlacesTaken: one too many is told to come again, and gets in when it does.
func TestAllPlacesTaken(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{MaxConnections: 2})
	first := meet(t, d.URL(), nil)
	meet(t, d.URL(), nil).ask("1")
	first.ask("1")
	if n := d.Connections(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	_, resp, err := websocket.DefaultDialer.Dial(d.URL(), nil)
	if err == nil || resp == nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a third one: %v, %v", resp, err)
	}
	_ = first.Close()
	eventually(t, "a place", func() bool { return d.Connections() == 1 })
	eventually(t, "a third one to get in", func() bool {
		_, err := tryMeet(t, d.URL(), nil)
		return err == nil
	})
}

// TestThousandConnections: each is sent what it is due, and each is told when all
// ends.
func TestThousandConnections(t *testing.T) {
	t.Parallel()
	const n, events = 1000, 20
	d := &door{prepare: func(s *source) { s.log("s", events) }}
	d.open(t, handler(echo), transport.ListenOptions{})
	peers := make([]*peer, n)
	for i := range peers {
		peers[i] = meet(t, d.URL(), nil)
	}
	for _, s := range d.all() {
		s.show("s")
	}
	for i, p := range peers {
		for seq := int64(1); seq <= events; seq++ {
			if got := p.hear(); got != event("s", seq) {
				t.Fatalf("peer %d heard %q, want seq %d", i, got, seq)
			}
		}
	}
	if got := d.Connections(); got != n {
		t.Errorf("%d connections, want %d", got, n)
	}
	done := make(chan error, 1)
	go func() { done <- d.Shutdown(context.Background()) }()
	var wg sync.WaitGroup
	for _, p := range peers {
		wg.Go(func() {
			if got := p.end(); got != transport.CloseGoingAway {
				t.Errorf("close code %d", got)
			}
		})
	}
	wg.Wait()
	if err := await(t, done, "Shutdown"); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// TestReconnectStorm: many come, ask, and leave in any manner, again and again;
// nothing of them is left.
func TestReconnectStorm(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{})
	steady := meet(t, d.URL(), nil)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			for j := range 10 {
				ws, _, err := websocket.DefaultDialer.Dial(d.URL(), nil)
				if err != nil {
					t.Errorf("dialling: %v", err)
					return
				}
				switch (i + j) % 4 {
				case 0:
					_ = ws.WriteMessage(websocket.TextMessage, []byte(request("1")))
				case 1:
					_ = ws.WriteControl(websocket.CloseMessage, nil, time.Now().Add(patience))
				case 2:
					_ = ws.NetConn().(*net.TCPConn).SetLinger(0)
				}
				_ = ws.Close()
			}
		})
	}
	wg.Wait()
	eventually(t, "all but one to be gone", func() bool { return d.Connections() == 1 })
	steady.ask("1")
}

// TestNoHandshake: who connects and says nothing is hung up on after a while.
func TestNoHandshake(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{HeaderTimeout: 200 * time.Millisecond})
	hungUp := strangers(t, d, 100)
	eventually(t, "all to be hung up on", func() bool { return hungUp.Load() == 100 })
	meet(t, d.URL(), nil).ask("1")
}

// TestStrangersAreBounded: of those that say nothing there may be 256 at once.
func TestStrangersAreBounded(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{HeaderTimeout: time.Hour})
	hungUp := strangers(t, d, 300)
	eventually(t, "those above the bound to be hung up on", func() bool { return hungUp.Load() == 300-256 })
}

// strangers connect and say nothing; it counts those that were hung up on.
func strangers(t *testing.T, d *door, n int) *atomic.Int32 {
	t.Helper()
	var hungUp atomic.Int32
	var wg sync.WaitGroup
	var conns []net.Conn
	for range n {
		c, err := net.Dial("tcp", d.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		wg.Go(func() {
			_, _ = io.Copy(io.Discard, c)
			hungUp.Add(1)
		})
	}
	t.Cleanup(func() {
		for _, c := range conns {
			_ = c.Close()
		}
		wg.Wait()
	})
	return &hungUp
}

// TestHeadersAreBounded: a header that does not end is no way to fill the memory.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{})
	c, err := net.Dial("tcp", d.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	go func() {
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "+strings.Repeat("x", 1<<20))
	}()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil && resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// TestOwnHandlers: what the caller has to say on the paths of its own is said.
func TestOwnHandlers(t *testing.T) {
	t.Parallel()
	say := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, text) })
	}
	d := listen(t, handler(echo), transport.ListenOptions{Health: say("health"), Ready: say("ready"), Metrics: say("metrics")})
	for path, want := range map[string]string{"/healthz": "health", "/readyz": "ready", "/metrics": "metrics"} {
		resp, err := http.Get("http://" + d.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); got != want {
			t.Errorf("%s says %q", path, got)
		}
	}
}

// TestShutdownDrains: what is due is sent before the close, all of it.
func TestShutdownDrains(t *testing.T) {
	t.Parallel()
	const n = 50_000
	d := &door{prepare: func(s *source) { s.log("s", n) }}
	d.open(t, handler(echo), transport.ListenOptions{})
	p := meet(t, d.URL(), nil)
	d.all()[0].show("s")
	done := make(chan error, 1)
	go func() { done <- d.Shutdown(context.Background()) }()
	for seq := int64(1); seq <= n; seq++ {
		if got := p.hear(); got != event("s", seq) {
			t.Fatalf("line %q, want seq %d", got, seq)
		}
	}
	if got := p.end(); got != transport.CloseGoingAway {
		t.Errorf("close code %d", got)
	}
	if err := await(t, done, "Shutdown"); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	await(t, d.Done(), "Done")
	if err := d.Err(); err != nil {
		t.Errorf("Err: %v", err)
	}
	if _, err := tryMeet(t, d.URL(), nil); err == nil {
		t.Error("somebody got in after the end")
	}
	if err := d.Shutdown(context.Background()); err != nil {
		t.Errorf("a second Shutdown: %v", err)
	}
}

// TestShutdownAmongUnreadInput: what was sent last arrives, though the peer has sent
// what nobody will read: a medium let go at once would take it back.
func TestShutdownAmongUnreadInput(t *testing.T) {
	t.Parallel()
	const n = 3000
	name := strings.Repeat("s", 500)
	d := &door{prepare: func(s *source) { s.log(name, n) }}
	var asked atomic.Int32
	d.open(t, handler(func(*jsonrpc2.Conn, *jsonrpc2.Request) { asked.Add(1) }), transport.ListenOptions{
		Stream: transport.Options{MaxInFlight: 1}, Socket: transport.SocketOptions{CloseTimeout: patience}})
	p := meet(t, d.URL(), nil)
	for range 100 {
		p.tell(request("1"))
	}
	eventually(t, "a request that is never answered", func() bool { return asked.Load() == 1 })
	d.all()[0].show(name)
	eventually(t, "all to be handed out", func() bool { return d.all()[0].at(name) == n })
	done := make(chan error, 1)
	go func() { done <- d.Shutdown(context.Background()) }()
	eventually(t, "the stream's end", d.gone(0))
	for seq := int64(1); seq <= n; seq++ {
		if got := p.hear(); got != event(name, seq) {
			t.Fatalf("line %q, want seq %d", got, seq)
		}
	}
	if got := p.end(); got != transport.CloseGoingAway {
		t.Errorf("close code %d", got)
	}
	if err := await(t, done, "Shutdown"); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// TestShutdownCutsOff: a peer that takes nothing holds up the end no longer than its
// bound, and that is said.
func TestShutdownCutsOff(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("s", 1000)
	srcs := make(chan *source, 1)
	l, err := transport.Listen(context.Background(), transport.ListenOptions{Address: "0", InsecureNoAuth: true},
		func(transport.Peer) (jsonrpc2.Handler, transport.Source) {
			s := newSource()
			s.log(name, 12_000)
			srcs <- s
			return handler(echo), s
		})
	if err != nil {
		t.Fatal(err)
	}
	p := meet(t, l.URL(), nil)
	_ = p.NetConn().(*net.TCPConn).SetReadBuffer(4096)
	s := await(t, srcs, "a Source")
	s.show(name)
	eventually(t, "the writer to begin", func() bool { return s.at(name) > 0 }) // it can never end
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v, want what cut it short", err)
	}
	if n := s.closes(); n != 1 {
		t.Errorf("the Source was closed %d times", n)
	}
}

// at says how far a session was handed out.
func (s *source) at(name string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent[name]
}

// TestListenEndsWithItsContext: the context is its life.
func TestListenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	src := newSource()
	l, err := transport.Listen(ctx, transport.ListenOptions{Address: "0", InsecureNoAuth: true},
		func(transport.Peer) (jsonrpc2.Handler, transport.Source) { return handler(echo), src })
	if err != nil {
		t.Fatal(err)
	}
	p := meet(t, l.URL(), nil)
	p.ask("1")
	cancel()
	if got := p.end(); got != transport.CloseGoingAway {
		t.Errorf("close code %d", got)
	}
	await(t, l.Done(), "Done")
	if err := l.Shutdown(context.Background()); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// TestConnectBeforeTheAccept: a peer that knows it is connected has missed nothing
// from then on.
func TestConnectBeforeTheAccept(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{})
	for i := range 50 {
		p := meet(t, d.URL(), nil)
		if n := len(d.all()); n != i+1 {
			t.Fatalf("%d Sources when peer %d knew of its connection", n, i)
		}
		_ = p.Close()
	}
}
