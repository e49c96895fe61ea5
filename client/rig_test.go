package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agent-server/client"
	"agent-server/gateway"
	"agent-server/harness/acp"
	"agent-server/internal/demoagent"
	"agent-server/protocol"
	"agent-server/transport"
)

// TestMain makes the test binary a gateway, and a harness, for its own tests.
func TestMain(m *testing.M) {
	mode := ""
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	switch mode {
	case "demo-agent":
		check(demoagent.Run(context.Background(), os.Stdin, os.Stdout, os.Stderr, demoagent.Options{}))
	case "serve":
		check(serve())
	case "listen":
		check(listenUntilKilled(os.Args[2], os.Args[3]))
	case "babble":
		fmt.Println("this is no JSON-RPC")
	case "mute":
		_, _ = os.Stdin.Read(make([]byte, 1<<20))
		os.Exit(4)
	default:
		goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("agent-server/harness/process.spawnLoop"))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are a gateway with the demo.
func options() gateway.Options {
	return gateway.Options{Harnesses: []gateway.Registration{
		{Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo}), Path: os.Args[0], Args: []string{"demo-agent"}}}}
}

// serve is the gateway as a command: stdio until its input ends.
func serve() error {
	g, err := gateway.New(options())
	if err != nil {
		return err
	}
	sub := g.Connect(gateway.ConnectOptions{Pause: true})
	s := transport.Open(transport.NDJSON(os.Stdin, os.Stdout, 0, 0, nil), sub, sub, transport.Options{})
	select {
	case <-s.InputEnded():
	case <-g.Done():
	}
	return errors.Join(g.Shutdown(context.Background(), 0), s.Finish(context.Background()), g.Close())
}

// patience bounds every wait of these tests; nothing is measured by it.
const patience = 40 * time.Second

// within is a context that ends a test which hangs.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// start makes a gateway that ends with the test.
func start(t testing.TB, change ...func(*gateway.Options)) *gateway.Gateway {
	t.Helper()
	o := options()
	for _, c := range change {
		c(&o)
	}
	g, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(g.Shutdown(context.Background(), 0), g.Close()); err != nil {
			t.Errorf("ending the gateway: %v", err)
		}
	})
	return g
}

// pipe joins a gateway over a pipe in memory; it ends when the peer does.
func pipe(t testing.TB, g *gateway.Gateway) net.Conn {
	t.Helper()
	here, there := net.Pipe()
	sub := g.Connect(gateway.ConnectOptions{Pause: true})
	s := transport.Open(transport.NDJSON(there, there, 0, 0, there.Close), sub, sub, transport.Options{FlushTimeout: time.Second})
	t.Cleanup(func() {
		_ = here.Close()
		<-s.InputEnded()
		_ = s.Finish(context.Background())
		s.Wait()
	})
	return here
}

// attach is a client of the gateway over such a pipe.
func attach(t testing.TB, g *gateway.Gateway, o client.Options) *client.Client {
	t.Helper()
	conn := pipe(t, g)
	return over(t, transport.NDJSON(conn, conn, client.DefaultMaxLineBytes, 0, conn.Close), o)
}

// over is a client over a framing.
func over(t testing.TB, f transport.Framing, o client.Options) *client.Client {
	t.Helper()
	c, err := client.Attach(within(t), f, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// prompt is a turn on the demo.
func prompt(session, turn, text string) protocol.TurnStartParams {
	p := protocol.TurnStartParams{Input: protocol.TextInput(text), Config: protocol.RunConfig{Harness: protocol.HarnessDemo, Cwd: os.TempDir()}}
	if session != "" {
		p.SessionID = &session
	}
	if turn != "" {
		p.TurnID = &turn
	}
	return p
}

// story is what a turn's events were: seqs, text, end.
type story struct {
	seqs  []int64
	types []string
	text  string
	end   *protocol.TurnEnded
	gaps  []*client.GapError
}

// tell runs a turn to its end.
func tell(t testing.TB, c *client.Client, p protocol.TurnStartParams) story {
	t.Helper()
	var s story
	for env, err := range c.RunTurn(within(t), p) {
		s.add(t, env, err)
	}
	return s
}

func (s *story) add(t testing.TB, env protocol.Envelope, err error) {
	t.Helper()
	var gap *client.GapError
	switch {
	case errors.As(err, &gap):
		s.gaps = append(s.gaps, gap)
		return
	case err != nil:
		t.Fatalf("after %d events: %v", len(s.seqs), err)
	}
	s.seqs = append(s.seqs, env.Seq)
	s.types = append(s.types, string(env.Event.Type()))
	switch ev := env.Event.(type) {
	case *protocol.MessagePart:
		if part, ok := ev.Part.(*protocol.TextPart); ok && part.State == protocol.StateDone && ev.OutputIndex > 0 {
			s.text += part.Text
		}
	case *protocol.TurnEnded:
		s.end = ev
	}
}

// contiguous says what is wrong with the numbers; "": nothing.
func (s story) contiguous(from int64) string {
	for i, seq := range s.seqs {
		if seq != from+int64(i) {
			return fmt.Sprintf("event %d has seq %d, want %d", i, seq, from+int64(i))
		}
	}
	return ""
}

// faulty is a Framing that loses, doubles, changes or adds lines from the server.
type faulty struct {
	transport.Framing
	mu sync.Mutex
	// change gives the lines to hand on instead of one; nil: it, as it is.
	change func(line string) []string
	queue  []string
}

func (f *faulty) Next() ([]byte, error) {
	for {
		f.mu.Lock()
		if len(f.queue) > 0 {
			line := f.queue[0]
			f.queue = f.queue[1:]
			f.mu.Unlock()
			return []byte(line), nil
		}
		f.mu.Unlock()
		line, err := f.Framing.Next()
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		f.queue = f.change(string(bytes.Clone(line)))
		f.mu.Unlock()
	}
}

// spoil joins a gateway through a faulty framing.
func spoil(t testing.TB, g *gateway.Gateway, change func(line string) []string) *client.Client {
	t.Helper()
	conn := pipe(t, g)
	f := &faulty{Framing: transport.NDJSON(conn, conn, client.DefaultMaxLineBytes, 0, conn.Close), change: change}
	return over(t, f, client.Options{})
}

// isEvent says whether a line is an event.
func isEvent(line string) bool { return strings.Contains(line, `"method":"event"`) }

// seqOf is the seq of an event's line.
func seqOf(line string) int64 {
	var seq int64
	if _, rest, ok := strings.Cut(line, `"seq":`); ok {
		_, _ = fmt.Sscanf(rest, "%d", &seq)
	}
	return seq
}

// mute is a server that reads, and says only what it is given: greeting when it is
// asked for initialize, lines whenever they come.
type mute struct {
	greeting string
	lines    chan string
	sent     chan string
	once     sync.Once
	gone     chan struct{}
}

func newMute(greeting string) *mute {
	return &mute{greeting: greeting, lines: make(chan string, 1000), sent: make(chan string, 1000), gone: make(chan struct{})}
}

func (m *mute) Next() ([]byte, error) {
	select {
	case line := <-m.lines:
		return []byte(line), nil
	case <-m.gone:
		return nil, net.ErrClosed
	}
}

func (m *mute) Write(lines []byte) error {
	if m.greeting != "" && strings.Contains(string(lines), `"method":"initialize"`) {
		m.lines <- m.greeting
		return nil
	}
	select {
	case m.sent <- string(lines):
		return nil
	case <-m.gone:
		return net.ErrClosed
	}
}

func (m *mute) Close() error {
	m.once.Do(func() { close(m.gone) })
	return nil
}

// hello is the greeting of a server that knows no harness.
const hello = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2,"server":{"name":"x"},"instanceId":"i","harnesses":{}}}`
