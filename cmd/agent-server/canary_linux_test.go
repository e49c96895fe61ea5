package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"

	"agent-server/client"
	"agent-server/protocol"
)

// Secrets of these tests, one for each way in, so that a leak says by which.
const (
	apiKeyCanary = "canary-apikey-1b77e0-canary"
	envCanary    = "canary-env-5590ac-canary"
	headerCanary = "canary-header-0d31fe-canary"
	wrongCanary  = "canary-wrong-token-88c2-canary"
	lineCanary   = "canary-line-f09aa1-canary"
)

// secrets are all of them.
var secrets = []string{canary, apiKeyCanary, envCanary, headerCanary, wrongCanary, lineCanary}

// TestCanary: a secret in every input of a gateway with all of its talk on is found
// nowhere but where it belongs: the token in its file, what a harness is to have in
// that harness's environment.
func TestCanary(t *testing.T) {
	t.Parallel()
	s := serveOn(t, "--stdio", "--log-level", "debug", "--log-format", "json")
	look := s.connect().Follow("")
	knock(t, s.url)
	said := speak(t, s)
	p := demoTurn(t, "ask")
	p.Config.Env = map[string]string{"DEMO_SECRET": envCanary}
	p.Config.APIKey = new(apiKeyCanary)
	p.Config.MCPServers = map[string]protocol.MCPServer{"tools": {Type: protocol.MCPHTTP, URL: "http://127.0.0.1:1/" + headerCanary,
		Headers: map[string]string{"Authorization": headerCanary}}}
	c := s.connect()
	started, err := c.StartTurn(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	started.Close()
	a := s.beside("attach", *p.SessionID, "--json")
	a.says(&a.talk, `choose: `)
	processes(t)
	files(t, s.dir, p.Config.Cwd)
	if _, err := c.Cancel(t.Context(), *p.SessionID, *p.TurnID); err != nil {
		t.Error(err)
	}
	events := strings.Join(spelled(untilType(t, look, protocol.TypeTurnEnded)), "\n")
	snapshot := replayed(t, c, *p.SessionID)
	a.ends(os.Interrupt, 0)
	s.ends(syscall.SIGTERM, 0)
	for where, text := range map[string]string{"the log": s.talk.String(), "stdio": s.out.String(), "an event": events, "the past": snapshot,
		"an answer": said, "attach's stdout": a.out.String(), "attach's stderr": a.talk.String()} {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s", where, secret)
			}
		}
	}
	if !strings.Contains(s.talk.String(), "refused a request") || !strings.Contains(events, p.Config.Cwd[1:]) && !strings.Contains(events, "permission.requested") {
		t.Errorf("nothing was said at all: the test looked in the wrong place")
	}
	files(t, s.dir, p.Config.Cwd)
}

// knock shows wrong tokens in every form, and the right one where all read it.
func knock(t *testing.T, url string) {
	t.Helper()
	for _, try := range []struct {
		url    string
		header http.Header
	}{
		{url, http.Header{"Authorization": {"Bearer " + wrongCanary}}},
		{url, http.Header{"Sec-Websocket-Protocol": {"bearer, " + wrongCanary}}},
		{url + "?token=" + wrongCanary, nil},
		{url + wrongCanary + "?x=" + wrongCanary, http.Header{"Origin": {"http://" + wrongCanary + ".example"}}},
		{url, http.Header{"Host": {wrongCanary + ".example"}}},
		{url + "?token=" + canary, nil},
	} {
		if ws, _, err := websocket.DefaultDialer.DialContext(t.Context(), try.url, try.header); err == nil {
			ws.Close()
		}
	}
}

// speak sends lines that are refused, with secrets in them, and gives the answers.
func speak(t *testing.T, s *served) string {
	t.Helper()
	ws := s.raw()
	lines := []string{
		`{"jsonrpc":"2.0","id":2,"method":"turn/start","params":{"input":"x","config":{"harness":"demo","cwd":"/","apiKey":["` + lineCanary + `"]}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"turn/start","params":{"input":"x","config":{"harness":"demo","cwd":"/","env":{"LD_PRELOAD":"` + lineCanary + `"}}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"turn/start","params":{"input":"x","config":{"harness":"demo","cwd":"/","mcpServers":{"a":{"type":"http","url":5,"headers":{"x":"` + lineCanary + `"}}}}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"` + lineCanary + `"}}`,
		lineCanary,
	}
	var out []string
	for _, line := range lines {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(line)); err != nil {
			t.Fatal(err)
		}
		_, answer, err := ws.ReadMessage()
		if err != nil || !bytes.Contains(answer, []byte(`"error"`)) {
			t.Fatalf("%s is answered %s, %v", line, answer, err)
		}
		out = append(out, string(answer))
	}
	ws.Close()
	return strings.Join(out, "\n")
}

// replayed is what the log holds of a session, as it is sent.
func replayed(t *testing.T, c *client.Client, session string) string {
	t.Helper()
	envs, _, err := c.Replay(t.Context(), session, 1)
	if err != nil || len(envs) == 0 {
		t.Fatalf("%d events, %v", len(envs), err)
	}
	return strings.Join(spelled(envs), "\n")
}

// processes holds every process of this machine to having no secret in its
// arguments, and in its environment only what a harness was to be given.
func processes(t *testing.T) {
	t.Helper()
	given := false
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		argv, _ := os.ReadFile(filepath.Join(path, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(path, "environ"))
		harness := bytes.Contains(argv, []byte(demoCommand))
		for _, secret := range secrets {
			if bytes.Contains(argv, []byte(secret)) {
				t.Errorf("%s has %s among its arguments: %q", path, secret, argv)
			}
			has := bytes.Contains(environ, []byte(secret))
			given = given || has && harness && secret == envCanary
			if has && !(harness && (secret == envCanary || secret == apiKeyCanary)) {
				t.Errorf("%s has %s in its environment: %q", path, secret, argv)
			}
		}
	}
	if !given {
		t.Errorf("the harness has not what it was to be given: the test looked in the wrong place")
	}
}

// files holds every file below some directories to the same: the token's own is the
// one place for it.
func files(t *testing.T, dirs ...string) {
	t.Helper()
	seen := 0
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			seen++
			for _, secret := range secrets {
				if bytes.Contains(text, []byte(secret)) && !(secret == canary && filepath.Base(path) == "token") {
					t.Errorf("%s holds %s", path, secret)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if seen == 0 {
		t.Error("there is no file at all: the test looked in the wrong place")
	}
}

// TestKilledClient: a client that dies, its machine's way, changes nothing: its turn
// runs on, its question stands, and whoever is left can answer it.
func TestKilledClient(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	feed := s.connect().Follow("")
	r := s.beside("run", "ask", "--verify")
	asked := untilType(t, feed, protocol.TypePermissionRequested)
	request := asked[len(asked)-1].Event.(*protocol.PermissionRequested)
	r.says(&r.talk, `choose: `)
	r.ends(syscall.SIGKILL, -1)
	c := s.connect()
	ok, err := c.Respond(t.Context(), request.SessionID, request.RequestID, protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: "allow"})
	if err != nil || !ok {
		t.Fatalf("nobody else can answer: %v, %v", ok, err)
	}
	rest := untilType(t, feed, protocol.TypeTurnEnded)
	ended := rest[len(rest)-1].Event.(*protocol.TurnEnded)
	if ended.StopReason != protocol.StopEndTurn {
		t.Errorf("the turn ended %s", ended.StopReason)
	}
	var seqs []int64
	for _, env := range append(asked, rest...) {
		seqs = append(seqs, env.Seq)
	}
	for i, seq := range seqs {
		if seq != int64(i+1) {
			t.Fatalf("seqs %s", fmt.Sprint(seqs))
		}
	}
	s.ends(syscall.SIGTERM, 0)
}
