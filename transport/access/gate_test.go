package access

import (
	"fmt"
	"net/http"
	"testing"
)

// TestGate: a Host must be loopback or listed, an Origin absent, the listener's own or
// listed, in whatever spelling.
func TestGate(t *testing.T) {
	t.Parallel()
	g, err := NewGate(Rules{Hosts: []string{"Box.example", "[2001:db8::1]"}, Origins: []string{"https://App.example:443", "http://[::1]:3000"}})
	if err != nil {
		t.Fatal(err)
	}
	for host, good := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1:1234": true, "127.9.9.9": true, "[::1]:80": true, "::1": true, "[::ffff:127.0.0.1]:1": true,
		"box.EXAMPLE:1": true, "[2001:DB8:0::1]:80": true,
		"": false, "0.0.0.0:80": false, "127.1:80": false, "2130706433": false, "[::1%lo]:80": false, "localhost.": false, "localhost.evil.example": false,
		"evil.example": false, "localhost:80:80": false, "localhost:port": false, "localhost:123456": false, "user@localhost": false, "[localhost": false, "local host": false,
	} {
		if err := g.Admit(request(host)); (err == nil) != good {
			t.Errorf("Host %q: %v", host, err)
		}
	}
	for origin, good := range map[string]bool{
		"http://localhost:80": true, "HTTP://LocalHost": true, "https://app.example": true, "http://[0:0::1]:3000": true,
		"https://localhost": false, "http://localhost:81": false, "http://127.0.0.1": false, "http://app.example": false, "https://app.example:444": false, "null": false, "": false,
		"http://localhost/": false, "http://localhost?": false, "http://localhost#": false, "http://me@localhost": false, "http://": false, "localhost": false,
	} {
		if err := g.Admit(request("localhost", origin)); (err == nil) != good {
			t.Errorf("Origin %q: %v", origin, err)
		}
	}
	if g.Admit(request("localhost", "http://localhost", "http://localhost")) == nil {
		t.Error("two Origins are let in")
	}
}

// request is one with a Host and Origins.
func request(host string, origins ...string) *http.Request {
	r := &http.Request{Host: host, Header: http.Header{}}
	for _, o := range origins {
		r.Header.Add("Origin", o)
	}
	return r
}

// TestOwnScheme: a page is the listener's own by the scheme that it was served with.
func TestOwnScheme(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Rules{"true false": {}, "false true": {TLS: true}, "true true": {BehindProxy: true}} {
		g, err := NewGate(r)
		if err != nil {
			t.Fatal(err)
		}
		plain, secure := g.Admit(request("localhost", "http://localhost")), g.Admit(request("localhost", "https://localhost"))
		if got := fmt.Sprint(plain == nil, secure == nil); got != want {
			t.Errorf("%+v lets http and https in: %s, want %s", r, got, want)
		}
	}
}

// TestRulesRefused: what is listed is a host, or an origin, or the start fails.
func TestRulesRefused(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"", "*", "*.example", "box.example:80", "http://box.example", "a b", "[box]"} {
		if _, err := NewGate(Rules{Hosts: []string{host}}); err == nil {
			t.Errorf("host %q is taken", host)
		}
	}
	for _, origin := range []string{"", "*", "box.example", "null", "http://box.example/", "http://box.example/x", "http://u:p@box.example", "http://*.example:x"} {
		if _, err := NewGate(Rules{Origins: []string{origin}}); err == nil {
			t.Errorf("origin %q is taken", origin)
		}
	}
}
