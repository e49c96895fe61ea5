package main

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"

	"agent-server/transport"
)

// TestForgedHandshakes: the command has its trust on without being told, and its
// flags open exactly what they name. The whole table of forms is package
// transport's.
func TestForgedHandshakes(t *testing.T) {
	t.Parallel()
	s := serveOn(t, "--allowed-host", "box.example", "--allowed-origin", "https://app.example")
	bearer := http.Header{"Authorization": {"Bearer " + canary}}
	with := func(name, value string) http.Header {
		h := bearer.Clone()
		h.Set(name, value)
		return h
	}
	tests := []struct {
		name   string
		url    string
		header http.Header
		status int // 101: let in
	}{
		{"no token", s.url, nil, http.StatusUnauthorized},
		{"another token", s.url, http.Header{"Authorization": {"Bearer " + canary + "x"}}, http.StatusUnauthorized},
		{"a token of another scheme", s.url, http.Header{"Authorization": {"Basic " + canary}}, http.StatusUnauthorized},
		{"a right and a wrong token", s.url + "?token=wrong", bearer, http.StatusUnauthorized},
		{"an empty token", s.url + "?token=", nil, http.StatusUnauthorized},
		{"the token", s.url, bearer, http.StatusSwitchingProtocols},
		{"in the URL", s.url + "?token=" + canary, nil, http.StatusSwitchingProtocols},
		{"as a subprotocol", s.url, http.Header{"Sec-Websocket-Protocol": {"bearer, " + canary}}, http.StatusSwitchingProtocols},
		{"a page of elsewhere", s.url, with("Origin", "https://evil.example"), http.StatusForbidden},
		{"a page of nowhere", s.url, with("Origin", "null"), http.StatusForbidden},
		{"a page of elsewhere, no token", s.url, http.Header{"Origin": {"https://evil.example"}}, http.StatusForbidden},
		{"a listed page", s.url, with("Origin", "https://app.example"), http.StatusSwitchingProtocols},
		{"its own page", s.url, with("Origin", "http"+strings.TrimSuffix(strings.TrimPrefix(s.url, "ws"), "/")), http.StatusSwitchingProtocols},
		{"a rebound name", s.url, with("Host", "evil.example"), http.StatusForbidden},
		{"a rebound name that is its own origin", s.url, func() http.Header {
			h := with("Host", "evil.example")
			h.Set("Origin", "http://evil.example")
			return h
		}(), http.StatusForbidden},
		{"a listed name", s.url, with("Host", "box.example:7777"), http.StatusSwitchingProtocols},
	}
	for _, tt := range tests {
		ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(), tt.url, tt.header)
		if ws != nil {
			ws.Close()
		}
		if resp == nil || resp.StatusCode != tt.status {
			t.Errorf("%s: %v, %+v, want %d", tt.name, err, resp, tt.status)
		}
	}
	s.ends(syscall.SIGTERM, 0)
	if strings.Contains(s.talk.String()+s.out.String(), canary) {
		t.Errorf("the token was told: %s", s.talk.String())
	}
}

// get asks a serve's HTTP side.
func (s *served) get(path, token string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http"+strings.TrimPrefix(strings.TrimSuffix(s.url, "/"), "ws")+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestProbes: whoever asks for health gets it without a token; once the end has
// begun, no new turns are wanted.
func TestProbes(t *testing.T) {
	t.Parallel()
	s := serveOn(t, "--drain-timeout", "1h", "--log-level", "info")
	for _, path := range []string{transport.HealthPath, transport.ReadyPath} {
		if status, body := s.get(path, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	p := demoTurn(t, "hang")
	c := s.connect()
	started, err := c.StartTurn(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !within(func() bool {
		status, _ := s.get(transport.ReadyPath, "")
		return status == http.StatusServiceUnavailable
	}) {
		t.Errorf("it goes on being ready")
	}
	if status, body := s.get(transport.HealthPath, ""); status != http.StatusOK {
		t.Errorf("%s while it drains: %d %s", transport.HealthPath, status, body)
	}
	if _, err := c.Cancel(t.Context(), *p.SessionID, *p.TurnID); err != nil {
		t.Errorf("a client can no longer cancel: %v", err)
	}
	if code := s.wait(); code != 0 {
		t.Errorf("it ended with %d: %s", code, s.talk.String())
	}
}
