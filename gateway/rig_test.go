package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agent-server/gateway"
	"agent-server/harness/acp"
	"agent-server/internal/demoagent"
	"agent-server/protocol"
	"agent-server/transport"
	"agent-server/verify"
)

// TestMain makes the test binary the child of its own gateways.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "puppet":
		playPuppet()
	case len(os.Args) > 1 && os.Args[1] == "demo-agent":
		if err := demoagent.Run(context.Background(), os.Stdin, os.Stdout, os.Stderr, demoagent.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("agent-server/harness/process.spawnLoop"))
	}
}

// patience bounds every wait of these tests; nothing is measured by it.
const patience = 40 * time.Second

// puppetID is the puppet's harness id: one that no base client knows.
const puppetID protocol.HarnessID = "puppet"

// options are those of a gateway with the demo and the puppet.
func options(change ...func(*gateway.Options)) gateway.Options {
	o := gateway.Options{Harnesses: []gateway.Registration{
		{Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo}), Path: os.Args[0], Args: []string{"demo-agent"}},
		{Harness: &puppet{id: puppetID}, Path: os.Args[0], Args: []string{"puppet"}},
	}}
	for _, c := range change {
		c(&o)
	}
	return o
}

// open makes a gateway with the demo and the puppet, ended with the test.
func open(t testing.TB, change ...func(*gateway.Options)) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(options(change...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := g.Shutdown(ctx, 0); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := g.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return g
}

// pup changes the registered puppet.
func pup(change func(p *puppet)) func(*gateway.Options) {
	return func(o *gateway.Options) { change(o.Harnesses[1].Harness.(*puppet)) }
}

// said is a line from the gateway.
type said struct {
	// At is its place among the connection's lines.
	At     int
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		SessionID string          `json:"sessionId"`
		Seq       int64           `json:"seq"`
		Event     json.RawMessage `json:"event"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	// Event is the event, decoded; nil of an answer.
	Event protocol.Event `json:"-"`
	Raw   string         `json:"-"`
}

// wire is what a peer reads and writes: a pipe, or a WebSocket.
type wire interface {
	io.ReadWriteCloser
	SetWriteDeadline(t time.Time) error
}

// peer is one connection's other end, raw: it checks what it hears with verify.
type peer struct {
	t      testing.TB
	conn   wire
	stream *transport.Stream
	sub    *gateway.Subscriber
	// stop ends the connection before the test does.
	stop func()

	mu    sync.Mutex
	grown *sync.Cond
	lines []said
	judge *verify.Set
	// greeted judges from the first answer on, initialize's; nil: judge goes on.
	greeted *verify.Set
	faults  []string
	ended   bool
	next    int
	held    bool
}

// connect joins a gateway over a pipe in memory; the connection ends with the
// test.
func connect(t testing.TB, g *gateway.Gateway, o gateway.ConnectOptions) *peer {
	t.Helper()
	here, there := net.Pipe()
	sub := g.Connect(o)
	p := &peer{t: t, conn: here, sub: sub, judge: verify.NewSet(verify.Options{})}
	p.grown = sync.NewCond(&p.mu)
	p.stream = transport.Open(transport.NDJSON(there, there, 0, 0, there.Close), sub, sub, transport.Options{})
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.read()
	}()
	p.stop = sync.OnceFunc(func() {
		p.hold(false)
		p.settle()
		_ = p.stream.Finish(context.Background())
		p.stream.Wait()
		_ = here.Close()
		<-read
		p.verdict()
	})
	t.Cleanup(p.stop)
	return p
}

// read takes lines as long as there are any, and as it is not held.
func (p *peer) read() {
	r := bufio.NewReaderSize(p.conn, 64<<10)
	for {
		text, err := r.ReadString('\n')
		p.mu.Lock()
		if err == nil {
			p.take(strings.TrimSuffix(text, "\n"))
		}
		p.ended = err != nil
		p.grown.Broadcast()
		for p.held {
			p.grown.Wait()
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// take notes one line.
func (p *peer) take(text string) {
	s := said{At: len(p.lines), Raw: text}
	if err := json.Unmarshal([]byte(text), &s); err != nil && !strings.HasPrefix(text, "[") || strings.ContainsAny(text, "\r\u2028\u2029") {
		p.faults = append(p.faults, "not fit for the wire: "+text)
	}
	if s.Method == "event" {
		var n struct{ Params json.RawMessage }
		_ = json.Unmarshal([]byte(text), &n)
		if p.judge != nil {
			for _, v := range p.judge.AddRaw(n.Params) {
				p.faults = append(p.faults, fmt.Sprintf("%s at %d: %s", v.Rule, v.Index, v.Message))
			}
		}
		s.Event, _ = protocol.DecodeEvent(s.Params.Event)
	}
	if s.ID != nil && p.judge != nil && p.greeted != nil {
		p.judge, p.greeted = p.greeted, nil
	}
	p.lines = append(p.lines, s)
}

// unjudged takes a peer whose stream is cut, or put together elsewhere, from verify.
func (p *peer) unjudged() *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = nil
	return p
}

// settle waits for the ends of turns that are about to be said: the answer of a cancel
// stands before them. A turn that has none is for the verdict to find.
func (p *peer) settle() {
	late := time.AfterFunc(5*time.Second, p.grown.Broadcast)
	defer late.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for began := time.Now(); p.judge != nil && !p.ended && p.openTurns() > 0 && time.Since(began) < 5*time.Second; {
		p.grown.Wait()
	}
}

// openTurns counts the turns whose end was not heard. The lock is held.
func (p *peer) openTurns() (n int) {
	for _, l := range p.lines {
		switch l.Event.(type) {
		case *protocol.TurnStarted:
			n++
		case *protocol.TurnEnded:
			n--
		}
	}
	return n
}

// verdict reports what verify has found, to the end.
func (p *peer) verdict() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		p.t.Error(f)
	}
	if p.judge == nil {
		return
	}
	for _, v := range p.judge.Finish() {
		p.t.Errorf("at the end: %s at %d: %s", v.Rule, v.Index, v.Message)
	}
}

// hold stops and lets go the peer's reading.
func (p *peer) hold(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = on
	p.grown.Broadcast()
}

// tell writes a raw line.
func (p *peer) tell(text string) {
	p.t.Helper()
	_ = p.conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := p.conn.Write([]byte(text + "\n")); err != nil {
		p.t.Fatalf("writing %s: %v", text, err)
	}
}

// ask writes a request and gives its id.
func (p *peer) ask(method string, params any) string {
	p.t.Helper()
	p.mu.Lock()
	p.next++
	id := fmt.Sprint(p.next)
	p.mu.Unlock()
	req := map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method}
	if params != nil {
		req["params"] = params
	}
	text, err := json.Marshal(req)
	if err != nil {
		p.t.Fatal(err)
	}
	p.tell(string(text))
	return id
}

// call asks and waits for the answer.
func (p *peer) call(method string, params any) said {
	p.t.Helper()
	return p.answer(p.ask(method, params))
}

// answer waits for the answer to a request.
func (p *peer) answer(id string) said {
	p.t.Helper()
	return p.await("the answer to "+id, func(s said) bool { return string(s.ID) == id })
}

// await waits for the first line that fits, since the beginning.
func (p *peer) await(what string, fits func(said) bool) said {
	p.t.Helper()
	expired := false
	timer := time.AfterFunc(patience, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		expired = true
		p.grown.Broadcast()
	})
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := 0; ; {
		for ; i < len(p.lines); i++ {
			if fits(p.lines[i]) {
				return p.lines[i]
			}
		}
		if p.ended || expired {
			p.t.Fatalf("%s did not come; the last lines are %s", what, tail(p.lines))
		}
		p.grown.Wait()
	}
}

func tail(lines []said) string {
	var b strings.Builder
	for _, l := range lines[max(0, len(lines)-6):] {
		b.WriteString("\n\t" + l.Raw[:min(len(l.Raw), 400)])
	}
	return b.String()
}

// event waits for a session's first event that fits.
func event[E protocol.Event](p *peer, session string, fits func(E) bool) (E, said) {
	p.t.Helper()
	var zero E
	s := p.await(fmt.Sprintf("%T of %s", zero, session), func(s said) bool {
		ev, ok := s.Event.(E)
		return ok && s.Params.SessionID == session && (fits == nil || fits(ev))
	})
	return s.Event.(E), s
}

// ended waits for a turn's end.
func (p *peer) turnEnded(session, turn string) *protocol.TurnEnded {
	p.t.Helper()
	ev, _ := event(p, session, func(e *protocol.TurnEnded) bool { return e.TurnID == turn })
	return ev
}

// params of a turn/start.
type start struct {
	SessionID string         `json:"sessionId,omitzero"`
	TurnID    string         `json:"turnId,omitzero"`
	Input     any            `json:"input"`
	Config    map[string]any `json:"config"`
}

// turn is a turn/start on a harness, in the system's temporary directory.
func turn(session, id, prompt string, h protocol.HarnessID, config ...any) start {
	s := start{SessionID: session, TurnID: id, Input: prompt, Config: map[string]any{"harness": h, "cwd": os.TempDir()}}
	for i := 0; i+1 < len(config); i += 2 {
		s.Config[config[i].(string)] = config[i+1]
	}
	return s
}

// begin starts a turn, which must be admitted.
func (p *peer) begin(s start) {
	p.t.Helper()
	if a := p.call("turn/start", s); a.Error != nil {
		p.t.Fatalf("turn/start: %s", a.Raw)
	}
}

// run starts a turn and waits for its end.
func (p *peer) run(s start) *protocol.TurnEnded {
	p.t.Helper()
	p.begin(s)
	return p.turnEnded(s.SessionID, s.TurnID)
}

// text is what the assistant has said in a turn, from its final snapshots.
func (p *peer) text(session, turn string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, l := range p.lines {
		ev, ok := l.Event.(*protocol.MessagePart)
		if !ok || ev.SessionID != session || ev.TurnID != turn || ev.OutputIndex == 0 {
			continue
		}
		if part, ok := ev.Part.(*protocol.TextPart); ok && part.State == protocol.StateDone {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

// count is how many lines fit so far.
func (p *peer) count(fits func(said) bool) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		if fits(l) {
			n++
		}
	}
	return n
}

// hello makes a peer's capabilities those of an open one.
func (p *peer) hello() said {
	p.t.Helper()
	return p.call("initialize", map[string]any{"protocolVersion": 2, "capabilities": map[string]any{"openHarnesses": true}})
}

// waitUntil waits for a condition that nothing announces.
func waitUntil(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long until %s", what)
		}
	}
}
