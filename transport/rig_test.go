package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/goleak"

	"agent-server/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests; nothing is measured by it.
const patience = 20 * time.Second

// handler is a jsonrpc2.Handler made of a func.
type handler func(conn *jsonrpc2.Conn, req *jsonrpc2.Request)

func (h handler) Handle(_ context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) { h(conn, req) }

// echo answers a request with what it was: method, and params as they came.
func echo(conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	params := "absent"
	if req.Params != nil {
		params = string(*req.Params)
	}
	text, _ := json.Marshal(req.Method + " " + params)
	send(conn, req, string(text))
}

// send answers with a result, given as JSON.
func send(conn *jsonrpc2.Conn, req *jsonrpc2.Request, result string) {
	raw := json.RawMessage(result)
	_ = conn.SendResponse(context.Background(), &jsonrpc2.Response{ID: req.ID, Result: &raw})
}

// sendAfter answers behind a barrier.
func sendAfter(conn *jsonrpc2.Conn, req *jsonrpc2.Request, result string, b transport.Barrier) {
	raw := json.RawMessage(result)
	meta, _ := json.Marshal(b)
	_ = conn.SendResponse(context.Background(), &jsonrpc2.Response{ID: req.ID, Result: &raw, Meta: (*json.RawMessage)(&meta)})
}

// say serves an input to its end and gives the lines that came back.
func say(t *testing.T, in string, h handler, limit int64) []string {
	t.Helper()
	var out bytes.Buffer
	f := transport.NDJSON(strings.NewReader(in), &out, limit, 0, nil)
	src := newSource()
	s := transport.Open(f, h, src, transport.Options{})
	await(t, s.InputEnded(), "the end of input")
	if err := s.Finish(t.Context()); err != nil {
		t.Errorf("Finish: %v", err)
	}
	s.Wait()
	if n := src.closes(); n != 1 {
		t.Errorf("the source was closed %d times, want once", n)
	}
	return lines(t, out.String())
}

// lines splits what was written; every line must be whole.
func lines(t *testing.T, out string) []string {
	t.Helper()
	if out == "" {
		return nil
	}
	if !strings.HasSuffix(out, "\n") {
		t.Errorf("the last line is not whole: %q", out)
	}
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

// await waits for a channel to be closed or to give something.
func await[T any](t *testing.T, ch <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(patience):
		t.Fatalf("waited too long for %s", what)
	}
	return v
}

// wire is a live stream and its peer.
type wire struct {
	t      *testing.T
	stream *transport.Stream
	src    *source
	peer   net.Conn
	lines  *bufio.Reader
}

// dial opens a stream over a pipe in memory, which hands on each write as it is
// read: nothing is buffered between.
func dial(t *testing.T, h handler, o transport.Options) *wire {
	t.Helper()
	here, there := net.Pipe()
	w := &wire{t: t, src: newSource(), peer: here, lines: bufio.NewReader(here)}
	w.stream = transport.Open(transport.NDJSON(there, there, 0, 0, there.Close), h, w.src, o)
	return w
}

// hangUp ends the connection from the peer's side and waits for all of it.
func (w *wire) hangUp() {
	w.t.Helper()
	_ = w.peer.Close()
	await(w.t, w.stream.InputEnded(), "the end of input")
	_ = w.stream.Finish(context.Background())
	w.stream.Wait()
}

// tell writes a line.
func (w *wire) tell(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.peer, line+"\n"); err != nil {
		w.t.Fatalf("writing %s: %v", line, err)
	}
}

// hear reads a line.
func (w *wire) hear() string {
	w.t.Helper()
	_ = w.peer.SetReadDeadline(time.Now().Add(patience))
	line, err := w.lines.ReadString('\n')
	if err != nil {
		w.t.Fatalf("reading a line: %v (so far %q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

// source is a Source over logs in memory, as the gateway's is: appended is not
// yet visible.
type source struct {
	wake chan struct{}

	mu     sync.Mutex
	logs   map[string][]string
	head   map[string]int64
	mark   map[string]int64
	sent   map[string]int64
	order  []string
	closed int
	err    error
}

func newSource() *source {
	return &source{wake: make(chan struct{}, 1), logs: map[string][]string{}, head: map[string]int64{},
		mark: map[string]int64{}, sent: map[string]int64{}}
}

// log appends events to a session; they are not visible yet.
func (s *source) log(session string, n int) (last int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs[session] == nil {
		s.order = append(s.order, session)
	}
	for range n {
		s.logs[session] = append(s.logs[session], event(session, int64(len(s.logs[session])+1)))
	}
	return int64(len(s.logs[session]))
}

// show moves the head to all that was appended.
func (s *source) show(session string) {
	s.mu.Lock()
	s.head[session] = int64(len(s.logs[session]))
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// event is the line of an event.
func event(session string, seq int64) string { return fmt.Sprintf("%s:%d", session, seq) }

func (s *source) closes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *source) Wake() <-chan struct{} { return s.wake }

func (s *source) Mark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range s.head {
		s.mark[k] = v
	}
}

func (s *source) Read(dst []byte, session string, seq int64, budget int) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return dst, false, s.err
	}
	limit := len(dst) + budget
	upto, names := func(string) int64 { return seq }, []string{session}
	if session == "" {
		upto, names = func(n string) int64 { return s.mark[n] }, s.order
	}
	for _, n := range names {
		for s.sent[n] < upto(n) && s.sent[n] < int64(len(s.logs[n])) {
			if len(dst) >= limit {
				return dst, true, nil
			}
			dst = append(append(dst, s.logs[n][s.sent[n]]...), '\n')
			s.sent[n]++
		}
	}
	return dst, false, nil
}

// Effect implements transport.Effector: session s goes on behind seq n.
func (s *source) Effect(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent["s"] = n
}

func (s *source) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
}
