package transport_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"agent-server/transport"
)

// form is one way of filling one part of a handshake.
type form struct {
	name string
	// lines are headers as they stand on the wire; PORT is the listener's.
	lines []string
	// query is appended to the path.
	query string
	good  bool
}

const (
	wrong     = "canary-4c1d9e8f72-canarx"
	listed    = "gateway.example"
	listedWeb = "https://app.example"
)

// hostForms are what Host may be. The DNS-rebinding ones are names that an attacker
// points at 127.0.0.1.
var hostForms = []form{
	{"address and port", []string{"Host: 127.0.0.1:PORT"}, "", true},
	{"localhost", []string{"Host: LocalHost:PORT"}, "", true},
	{"IPv6 loopback", []string{"Host: [::1]:PORT"}, "", true},
	{"another loopback address", []string{"Host: 127.9.9.9"}, "", true},
	{"mapped loopback", []string{"Host: [::ffff:127.0.0.1]:PORT"}, "", true},
	{"listed", []string{"Host: Gateway.Example:443"}, "", true},
	{"listed address", []string{"Host: 192.0.2.7"}, "", true},
	{"rebound name", []string{"Host: evil.example:PORT"}, "", false},
	{"name that contains localhost", []string{"Host: localhost.evil.example:PORT"}, "", false},
	{"name that ends like a listed one", []string{"Host: evil-gateway.example"}, "", false},
	{"below a listed one", []string{"Host: x.gateway.example"}, "", false},
	{"below localhost", []string{"Host: x.localhost"}, "", false},
	{"every address", []string{"Host: 0.0.0.0:PORT"}, "", false},
	{"a public address", []string{"Host: 192.0.2.8:PORT"}, "", false},
	{"an address in another spelling", []string{"Host: 127.1:PORT"}, "", false},
	{"a number", []string{"Host: 2130706433"}, "", false},
	{"a zone", []string{"Host: [::1%25lo]:PORT"}, "", false},
	{"a port that is none", []string{"Host: 127.0.0.1:x"}, "", false},
	{"loopback as a user", []string{"Host: 127.0.0.1@evil.example"}, "", false},
	{"nothing", []string{"Host: "}, "", false},
	{"absent", nil, "", false},
	{"two", []string{"Host: 127.0.0.1", "Host: evil.example"}, "", false},
}

// originForms are what Origin may be; own is that of a page of the listener itself,
// for the Host of the request.
var originForms = []form{
	{"absent", nil, "", true},
	{"listed", []string{"Origin: https://app.example"}, "", true},
	{"listed, default port", []string{"Origin: https://APP.example:443"}, "", true},
	{"own", []string{"Origin: http://OWN"}, "", true},
	{"another site", []string{"Origin: https://evil.example"}, "", false},
	{"own with another scheme", []string{"Origin: https://OWN"}, "", false},
	{"another port of this machine", []string{"Origin: http://127.0.0.1:3000"}, "", false},
	{"listed with another port", []string{"Origin: https://app.example:8443"}, "", false},
	{"listed with another scheme", []string{"Origin: http://app.example"}, "", false},
	{"below a listed one", []string{"Origin: https://x.app.example"}, "", false},
	{"listed as a user", []string{"Origin: https://app.example@evil.example"}, "", false},
	{"listed and a path", []string{"Origin: https://app.example/"}, "", false},
	{"null", []string{"Origin: null"}, "", false},
	{"empty", []string{"Origin: "}, "", false},
	{"a file", []string{"Origin: file://"}, "", false},
	{"an extension", []string{"Origin: chrome-extension://abcdefgh"}, "", false},
	{"two, the first one listed", []string{"Origin: https://app.example", "Origin: https://evil.example"}, "", false},
	{"two in one", []string{"Origin: https://app.example https://evil.example"}, "", false},
}

// tokenForms are how the token may be shown.
var tokenForms = []form{
	{"header", []string{"Authorization: Bearer " + secret}, "", true},
	{"header, another case", []string{"authorization: bearer  " + secret}, "", true},
	{"subprotocol", []string{"Sec-WebSocket-Protocol: bearer, " + secret}, "", true},
	{"subprotocol in two headers", []string{"Sec-WebSocket-Protocol: bearer", "Sec-WebSocket-Protocol: " + secret}, "", true},
	{"query", nil, "?token=" + secret, true},
	{"query among others", nil, "?a=b&token=" + secret + "&c", true},
	{"all three", []string{"Authorization: Bearer " + secret, "Sec-WebSocket-Protocol: bearer, " + secret}, "?token=" + secret, true},
	{"none", nil, "", false},
	{"wrong header", []string{"Authorization: Bearer " + wrong}, "", false},
	{"a prefix", []string{"Authorization: Bearer " + secret[:len(secret)-1]}, "", false},
	{"and more", []string{"Authorization: Bearer " + secret + "x"}, "", false},
	{"another case", []string{"Authorization: Bearer " + strings.ToUpper(secret)}, "", false},
	{"empty", []string{"Authorization: Bearer "}, "", false},
	{"basic", []string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+secret))}, "", false},
	{"no scheme", []string{"Authorization: " + secret}, "", false},
	{"wrong subprotocol", []string{"Sec-WebSocket-Protocol: bearer, " + wrong}, "", false},
	{"subprotocol without its name", []string{"Sec-WebSocket-Protocol: " + secret}, "", false},
	{"subprotocol the other way round", []string{"Sec-WebSocket-Protocol: " + secret + ", bearer"}, "", false},
	{"wrong query", nil, "?token=" + wrong, false},
	{"query of another name", nil, "?Token=" + secret + "&access_token=" + secret, false},
	{"cookie", []string{"Cookie: token=" + secret}, "", false},
	{"header right, query wrong", []string{"Authorization: Bearer " + secret}, "?token=" + wrong, false},
	{"header wrong, query right", []string{"Authorization: Bearer " + wrong}, "?token=" + secret, false},
	{"two headers, one wrong", []string{"Authorization: Bearer " + secret, "Authorization: Bearer " + wrong}, "", false},
}

// upgradeForms are what makes a request a WebSocket handshake.
var upgradeForms = []form{
	{"proper", []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=="}, "", true},
	{"among others", []string{"Connection: keep-alive, upgrade", "Upgrade: WebSocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=="}, "", true},
	{"none", nil, "", false},
	{"no Connection", []string{"Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=="}, "", false},
	{"another upgrade", []string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"}, "", false},
	{"no version", []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=="}, "", false},
	{"an old version", []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 8", "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=="}, "", false},
	{"no key", []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"}, "", false},
	{"a short key", []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: c2hvcnQ="}, "", false},
}

// startForms are method, path and version, as far as the query.
var startForms = []struct {
	name, method, path, version string
	good                        bool
}{
	{"root", "GET", "/", "HTTP/1.1", true},
	{"a path", "GET", "/some/path", "HTTP/1.1", true},
	{"almost a path of its own", "GET", "/healthz/", "HTTP/1.1", true},
	{"a strange path", "GET", "//..%2f%00/../x", "HTTP/1.1", true},
	{"health", "GET", "/healthz", "HTTP/1.1", false},
	{"ready", "GET", "/readyz", "HTTP/1.1", false},
	{"metrics", "GET", "/metrics", "HTTP/1.1", false},
	{"POST", "POST", "/", "HTTP/1.1", false},
	{"HEAD", "HEAD", "/", "HTTP/1.1", false},
	{"OPTIONS", "OPTIONS", "*", "HTTP/1.1", false},
	{"CONNECT", "CONNECT", "127.0.0.1:80", "HTTP/1.1", false},
	{"a whole URL", "GET", "http://127.0.0.1/", "HTTP/1.1", false},
	{"HTTP/2 by its preface", "PRI", "*", "HTTP/2.0", false},
}

// forgery is a handshake made of one form of each part.
type forgery struct{ start, host, origin, token, upgrade int }

// forgeries are every pair of Host and Origin with a token that changes along,
// every token with a Host and an Origin that change along, and every start line
// with every upgrade and with a right and a wrong one of the rest.
func forgeries() []forgery {
	var all []forgery
	for h := range hostForms {
		for o := range originForms {
			all = append(all, forgery{0, h, o, 0, 0}, forgery{1, h, o, (h + o) % len(tokenForms), 0})
		}
	}
	for k := range tokenForms {
		for i := range 8 {
			all = append(all, forgery{i % 4, i % len(hostForms), i % 4, k, i % 2})
		}
	}
	for s := range startForms {
		for u := range upgradeForms {
			all = append(all, forgery{s, 0, 0, 0, u}, forgery{s, 0, 0, 7, u}, forgery{s, 7, 0, 0, u}, forgery{s, 0, 4, 4, u})
		}
	}
	return all
}

// text is the request on the wire.
func (f forgery) text(port string) string {
	start := startForms[f.start]
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, "%s %s%s %s\r\n", start.method, start.path, tokenForms[f.token].query, start.version)
	own := ""
	for _, part := range []form{hostForms[f.host], originForms[f.origin], tokenForms[f.token], upgradeForms[f.upgrade]} {
		for _, line := range part.lines {
			if h, ok := strings.CutPrefix(line, "Host: "); ok && own == "" {
				own = strings.ReplaceAll(strings.ToLower(h), "port", port)
			}
			b.WriteString(strings.NewReplacer("OWN", own, "PORT", port).Replace(line) + "\r\n")
		}
	}
	return strings.ReplaceAll(b.String(), "PORT", port) + "\r\n"
}

// want is the status that is due; 0: any but an upgrade.
func (f forgery) want() int {
	start, up := startForms[f.start], upgradeForms[f.upgrade]
	origin := originForms[f.origin]
	good := hostForms[f.host].good && origin.good
	switch {
	case !start.good || f.host >= len(hostForms)-4:
		return 0 // its own test tells them apart, or the HTTP library does
	case !good:
		return http.StatusForbidden
	case f.upgrade >= 2 && f.upgrade <= 4:
		return http.StatusUpgradeRequired
	case !tokenForms[f.token].good:
		return http.StatusUnauthorized
	case !up.good:
		return http.StatusBadRequest
	}
	return http.StatusSwitchingProtocols
}

func (f forgery) String() string {
	return fmt.Sprintf("%s | Host %s | Origin %s | token %s | upgrade %s", startForms[f.start].name, hostForms[f.host].name,
		originForms[f.origin].name, tokenForms[f.token].name, upgradeForms[f.upgrade].name)
}

// TestForgedHandshakes: of more than a thousand handshakes none gets in but those
// in which every part is right, and those all do. What is refused reaches neither
// Connect nor a log with anything of its own.
func TestForgedHandshakes(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	var connects atomic.Int32
	d := &door{prepare: func(*source) { connects.Add(1) }}
	d.open(t, handler(echo), transport.ListenOptions{TokenFile: tokenFile(t), AllowedHosts: []string{listed, "192.0.2.7"},
		AllowedOrigins: []string{listedWeb}, Logger: zap.New(core)})
	_, port, _ := net.SplitHostPort(d.Addr().String())
	in, want := 0, 0
	all := forgeries()
	for _, f := range all {
		status := knock(t, d.Addr().String(), f.text(port))
		if due := f.want(); (due != 0 && status != due) || (due == 0 && status == http.StatusSwitchingProtocols) {
			t.Errorf("%s: status %d, want %d", f, status, due)
		}
		if status == http.StatusSwitchingProtocols {
			in++
		}
		if f.want() == http.StatusSwitchingProtocols {
			want++
		}
	}
	if len(all) < 1000 || in != want || want < 100 {
		t.Errorf("%d of %d handshakes got in, want %d", in, len(all), want)
	}
	// A handshake whose form alone was wrong came as far as Connect.
	if n := int(connects.Load()); n < want || n > want+100 {
		t.Errorf("%d connections were made for %d handshakes", n, want)
	}
	noSecret(t, logs)
}

// knock sends a request and gives the status of the answer, which must hold nothing
// secret; 0: it was hung up on.
func knock(t *testing.T, addr, request string) int {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		return 0
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		if p := resp.Header.Get("Sec-Websocket-Protocol"); p != "" && p != "bearer" {
			t.Errorf("subprotocol %q was agreed on", p)
		}
		return resp.StatusCode
	}
	all := fmt.Sprint(resp.Header) + read(t, resp)
	for _, s := range []string{secret, wrong, "evil"} {
		if strings.Contains(all, s) {
			t.Errorf("an answer holds %q: %s", s, all)
		}
	}
	return resp.StatusCode
}

// noSecret looks for what peers sent in everything that was logged.
func noSecret(t *testing.T, logs *observer.ObservedLogs) {
	t.Helper()
	if logs.Len() == 0 {
		t.Error("nothing was logged at all")
	}
	for _, e := range logs.All() {
		text := fmt.Sprint(e.Message, e.ContextMap())
		for _, s := range []string{secret, wrong, "evil", "canary"} {
			if strings.Contains(text, s) {
				t.Errorf("the log holds %q: %s", s, text)
			}
		}
	}
}

// TestHTTPAnswers: each kind of refusal has its status and says what to do.
func TestHTTPAnswers(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{TokenFile: tokenFile(t)})
	get := func(method, path string, header http.Header) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+d.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header.Clone()
		if header == nil {
			req.Header = http.Header{}
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	bearer := http.Header{"Authorization": {"Bearer " + secret}}
	tests := []struct {
		method, path string
		header       http.Header
		status       int
		name, value  string
	}{
		{"GET", "/", nil, 426, "Upgrade", "websocket"},
		{"GET", "/any?token=" + wrong, nil, 426, "Upgrade", "websocket"},
		{"POST", "/", bearer, 405, "Allow", "GET"},
		{"GET", "/metrics", nil, 401, "Www-Authenticate", "Bearer"},
		{"GET", "/metrics", bearer, 404, "", ""},
		{"GET", "/metrics", http.Header{"Origin": {"https://evil.example"}, "Authorization": bearer["Authorization"]}, 403, "", ""},
		{"GET", "/healthz", nil, 200, "Cache-Control", "no-store"},
		{"GET", "/readyz", nil, 200, "X-Content-Type-Options", "nosniff"},
	}
	for _, tt := range tests {
		resp := get(tt.method, tt.path, tt.header)
		body := read(t, resp)
		if resp.StatusCode != tt.status || resp.Header.Get(tt.name) != tt.value || body == "" {
			t.Errorf("%s %s: %d, %s %q, %q; want %d and %q", tt.method, tt.path, resp.StatusCode, tt.name, resp.Header.Get(tt.name), body, tt.status, tt.value)
		}
	}
}

// TestBehindProxyOrigin: what scheme the proxy speaks is not known; both are the
// server's own.
func TestBehindProxyOrigin(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{TokenFile: tokenFile(t), BehindProxy: true, AllowedHosts: []string{listed}})
	for origin, want := range map[string]bool{"https://gateway.example": true, "http://gateway.example": true, "https://evil.example": false, "ftp://gateway.example": false} {
		p, err := tryMeet(t, d.URL()+"?token="+secret, http.Header{"Host": {listed}, "Origin": {origin}})
		if (err == nil) != want {
			t.Errorf("Origin %s: error %v, want one: %v", origin, err, !want)
		}
		if err == nil {
			p.ask("1")
		}
	}
}

// TestNoAuth: without a token everybody on this machine gets in, web pages do not.
func TestNoAuth(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) { echo(c, r) }), transport.ListenOptions{})
	if got := d.TokenFile(); got != "" {
		t.Errorf("a token's file %q, want none", got)
	}
	meet(t, d.URL(), http.Header{"Authorization": {"Bearer whatever"}}).ask("1")
	for _, h := range []http.Header{{"Origin": {"https://evil.example"}}, {"Host": {"evil.example"}}} {
		if _, err := tryMeet(t, d.URL(), h); err == nil {
			t.Errorf("%v got in", h)
		}
	}
}
