package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gorilla/websocket"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/transport"
)

// canary is the token of these tests, and stands in for every other secret. It
// must not turn up anywhere.
const canary = "canary-7f3a91c2e5-canary"

// served is a serve on the network.
type served struct {
	t   *testing.T
	cmd *exec.Cmd
	// stdin is open until the end.
	stdin     io.WriteCloser
	out, talk heard
	// url is where it listens; file has its token.
	url, file string
	// dir is its state directory; every process of it carries it as TMPDIR.
	dir string
	// wait is its exit code, once.
	wait func() int
}

// serveOn starts one and waits until it listens. Its token is the canary.
func serveOn(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{t: t, dir: t.TempDir()}
	s.file = secretFile(t, s.dir, "token")
	s.begin(append([]string{"serve", "--listen", "0", "--state-dir", s.dir, "--claude-path", "/no/such/cli"}, args...))
	s.listens()
	return s
}

// listens waits until it does, and notes where.
func (s *served) listens() {
	s.t.Helper()
	re := regexp.MustCompile(`listening on (ws+://[^\s"]+)|"url":"(ws[^"]+)"`)
	if !s.talk.await(re) {
		s.t.Fatalf("it does not listen: %s", s.talk.String())
	}
	found := re.FindStringSubmatch(s.talk.String())
	s.url = found[1] + found[2]
}

// begin starts the command; whatever a test forgets is killed at its end.
func (s *served) begin(args []string) {
	s.t.Helper()
	s.start(exec.Command("agent-server", args...))
}

// start is begin for any command, and with further variables.
func (s *served) start(cmd *exec.Cmd, env ...string) {
	s.t.Helper()
	s.cmd = cmd
	s.cmd.Env = append(append(os.Environ(), "AGENT_SERVER_DEMO_SEED=x", tempDirEnv+"="+s.dir), env...)
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.stdin, s.cmd.Stdout, s.cmd.Stderr = stdin, &s.out, &s.talk
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.wait = sync.OnceValue(func() int {
		_ = s.cmd.Wait() // the code says it
		return s.cmd.ProcessState.ExitCode()
	})
	s.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		s.wait()
		if canLook && !within(func() bool { return len(carrying(s.dir)) == 0 }) {
			s.t.Errorf("left processes: %q", carrying(s.dir))
		}
	})
}

// ends tells it to end, and holds it to its exit code.
func (s *served) ends(sig os.Signal, want int) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	if code := s.wait(); code != want {
		s.t.Errorf("it ended with %d, want %d\n%s", code, want, s.talk.String())
	}
}

// beside starts a command that connects to it.
func (s *served) beside(args ...string) *served {
	s.t.Helper()
	c := &served{t: s.t, dir: s.t.TempDir(), file: s.file, url: s.url}
	c.begin(append(args, "--connect", s.url, "--token-file", s.file))
	return c
}

// types writes a line to its stdin.
func (s *served) types(line string) {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.stdin, line); err != nil {
		s.t.Fatal(err)
	}
}

// says waits until it has said something, on stdout or stderr.
func (s *served) says(from *heard, pattern string) {
	s.t.Helper()
	if !from.await(regexp.MustCompile("(?m)" + pattern)) {
		s.t.Fatalf("it never said %q\nstdout: %s\nstderr: %s", pattern, s.out.String(), s.talk.String())
	}
}

// secretFile writes the canary into a file as a token.
func secretFile(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// connect gives a client on it.
func (s *served) connect() *client.Client {
	s.t.Helper()
	f, err := transport.DialClient(s.t.Context(), s.url, transport.ClientOptions{TokenFile: s.file})
	if err != nil {
		s.t.Fatal(err)
	}
	return clientOn(s.t, f)
}

// clientOn initializes over a connection.
func clientOn(t *testing.T, f transport.Framing) *client.Client {
	t.Helper()
	c, err := client.Attach(t.Context(), f, client.Options{OpenHarnesses: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// raw gives a plain WebSocket on it.
func (s *served) raw() *websocket.Conn {
	s.t.Helper()
	ws, resp, err := websocket.DefaultDialer.DialContext(s.t.Context(), s.url, http.Header{"Authorization": {"Bearer " + canary}})
	if err != nil {
		s.t.Fatalf("%v: %+v", err, resp)
	}
	s.t.Cleanup(func() { _ = ws.Close() })
	return ws
}

// demoTurn is a turn's params with a session of its own.
func demoTurn(t *testing.T, prompt string) protocol.TurnStartParams {
	return protocol.TurnStartParams{SessionID: new(client.NewID()), TurnID: new(client.NewID()), Input: protocol.TextInput(prompt),
		Config: protocol.RunConfig{Harness: protocol.HarnessDemo, Cwd: t.TempDir()}}
}

// untilType takes a feed's envelopes up to one of a type.
func untilType(t *testing.T, feed *client.Feed, last protocol.EventType) (out []protocol.Envelope) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		env, err := feed.Next(ctx)
		if err != nil {
			t.Fatalf("%s never came: %v", last, err)
		}
		if out = append(out, env); env.Event.Type() == last {
			return out
		}
	}
}

// spelled is how envelopes look on the wire.
func spelled(envs []protocol.Envelope) (out []string) {
	for _, env := range envs {
		out = append(out, string(protocol.AppendEnvelope(nil, env)))
	}
	return out
}

// TestTransportsAtOnce: stdio, two sockets and one that was dialled see the same
// bytes of the same session in the same order.
func TestTransportsAtOnce(t *testing.T) {
	t.Parallel()
	hub, dialled := acceptor(t)
	s := serveOn(t, "--stdio", "--dial", hub, "--dial-token-file", secretFile(t, t.TempDir(), "hub"))
	clients := []*client.Client{s.connect(), s.connect(), clientOn(t, <-dialled)}
	p := demoTurn(t, "tool")
	var feeds []*client.Feed
	for _, c := range clients {
		feeds = append(feeds, c.FollowNew(*p.SessionID))
	}
	started, err := clients[1].StartTurn(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	started.Close()
	first := spelled(untilType(t, feeds[0], protocol.TypeTurnEnded))
	for i, feed := range feeds[1:] {
		if got := spelled(untilType(t, feed, protocol.TypeTurnEnded)); strings.Join(got, "\n") != strings.Join(first, "\n") {
			t.Errorf("client %d saw\n%s\nthe first\n%s", i+1, strings.Join(got, "\n"), strings.Join(first, "\n"))
		}
	}
	// Stdio did not ask for open harness ids: one event may be spelt otherwise.
	if !s.out.await(regexp.MustCompile(regexp.QuoteMeta(first[len(first)-1]))) {
		t.Errorf("stdio saw %s", s.out.String())
	}
	// The host that has started it goes: so does it, and tells everyone.
	if err := s.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(); code != 0 {
		t.Errorf("it ended with %d: %s", code, s.talk.String())
	}
	for i, feed := range feeds {
		ended := untilType(t, feed, protocol.TypeSessionEnded)
		if _, err := feed.Next(t.Context()); !errors.Is(err, client.ErrClosed) || clients[i].Err() != nil {
			t.Errorf("after %s client %d has %v, %v", spelled(ended), i, err, clients[i].Err())
		}
	}
}

// acceptor takes connections of gateways that dial out, if they show the canary.
func acceptor(t *testing.T) (url string, accepted <-chan transport.Framing) {
	t.Helper()
	frames := make(chan transport.Framing, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+canary {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if f, err := transport.Upgrade(w, r, transport.SocketOptions{}); err == nil {
			frames <- f
		}
	})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() { _ = server.Close() })
	return "ws://" + ln.Addr().String() + "/agents", frames
}

// TestDrainOverSockets: on SIGTERM a running turn may end, every event of it and of
// its session comes, then the close with 1001, and the exit is 0.
func TestDrainOverSockets(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	ws := s.raw()
	p := demoTurn(t, "deltas 200 10000")
	started, err := s.connect().StartTurn(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	started.Close()
	seen, told := "", false
	for {
		_, message, err := ws.ReadMessage()
		if err != nil {
			var end *websocket.CloseError
			if !errors.As(err, &end) || end.Code != websocket.CloseGoingAway {
				t.Errorf("the socket ended with %v, want 1001", err)
			}
			break
		}
		if seen += string(message) + "\n"; !told && strings.Contains(seen, `delta 1\n`) {
			told = true
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, want := range []string{`delta 200\n`, `"stopReason":"end_turn"`, `"type":"session.ended"`} {
		if !strings.Contains(seen, want) {
			t.Errorf("%s did not come", want)
		}
	}
	if code := s.wait(); code != 0 {
		t.Errorf("it ended with %d: %s", code, s.talk.String())
	}
}
