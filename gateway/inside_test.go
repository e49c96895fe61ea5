package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"agent-server/eventlog"
	"agent-server/harness/acp"
	"agent-server/harness/process"
	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/session"
)

// inner makes a gateway with the demo harness alone, closed with the test.
func inner(t *testing.T, log eventlog.Log) *Gateway {
	t.Helper()
	g, err := New(Options{Log: log, Harnesses: []Registration{{Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo}), Path: os.Args[0]}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return g
}

// answers is a connection's stream that keeps what is answered.
type answers struct {
	said chan *jsonrpc2.Response
	done chan struct{}
	once sync.Once
}

func (a *answers) WriteObject(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var r jsonrpc2.Response
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	a.said <- &r
	return nil
}

func (a *answers) ReadObject(any) error { <-a.done; return io.EOF }

func (a *answers) Close() error { a.once.Do(func() { close(a.done) }); return nil }

// asking gives a request of a new connection, and where its answer arrives.
func asking(t *testing.T, g *Gateway) (*call, <-chan *jsonrpc2.Response) {
	t.Helper()
	a := &answers{said: make(chan *jsonrpc2.Response, 100), done: make(chan struct{})}
	sub := g.Connect(ConnectOptions{})
	conn := jsonrpc2.NewConn(context.Background(), a, sub)
	t.Cleanup(func() {
		_ = conn.Close()
		<-conn.DisconnectNotify()
		sub.Close()
	})
	return &call{sub: sub, conn: conn, id: jsonrpc2.ID{Num: 1}}, a.said
}

// heard waits for an answer.
func heard(t *testing.T, said <-chan *jsonrpc2.Response) *jsonrpc2.Response {
	t.Helper()
	select {
	case r := <-said:
		return r
	case <-time.After(time.Minute):
		t.Fatal("no answer came")
		return nil
	}
}

const startParams = `{"sessionId":"s","turnId":"t","input":"hello","config":{"harness":"demo","cwd":"/somewhere"}}`

// hang makes the gateway's file system one that does not answer until the test
// ends.
func hang(t *testing.T, g *Gateway, bound time.Duration) {
	t.Helper()
	dead := make(chan struct{})
	g.inspectBound = bound
	g.stat = func(string) (os.FileInfo, error) { <-dead; return nil, os.ErrNotExist }
	t.Cleanup(func() { close(dead) })
}

// TestHungDirectory: a working directory that does not answer is the turn's fault,
// said in time.
func TestHungDirectory(t *testing.T) {
	t.Parallel()
	g := inner(t, nil)
	hang(t, g, time.Millisecond)
	for range 2 * inspectors { // also once every place for a look is taken
		c, said := asking(t, g)
		g.turnStart(c, []byte(startParams))
		r := heard(t, said)
		if r.Error == nil || r.Error.Code != jsonrpc2.CodeInvalidParams || !strings.Contains(string(*r.Error.Data), "cannot be looked at in time") {
			t.Fatalf("turn/start: %+v", r)
		}
	}
}

// TestHungDirectoryAtShutdown: it holds up no shutdown.
func TestHungDirectoryAtShutdown(t *testing.T) {
	t.Parallel()
	g := inner(t, nil)
	hang(t, g, time.Hour)
	c, said := asking(t, g)
	asked := make(chan struct{})
	go func() { defer close(asked); g.turnStart(c, []byte(startParams)) }()
	for len(g.inspecting) == 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := g.Shutdown(ctx, 0); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if r := heard(t, said); r.Error == nil || r.Error.Code != int64(protocol.CodeShuttingDown) {
		t.Errorf("turn/start: %+v", r)
	}
	<-asked
}

// TestShutdownKeepsToItsContext: though a turn is being admitted for ever, who asks
// for the end waits as long as he will; another turn is refused meanwhile.
func TestShutdownKeepsToItsContext(t *testing.T) {
	t.Parallel()
	g := inner(t, nil)
	g.admitting.RLock()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := g.Shutdown(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	c, said := asking(t, g)
	g.turnStart(c, []byte(startParams))
	if r := heard(t, said); r.Error == nil || r.Error.Code != int64(protocol.CodeShuttingDown) {
		t.Errorf("turn/start: %+v", r)
	}
	g.admitting.RUnlock()
	if err := g.Shutdown(context.Background(), 0); err != nil {
		t.Errorf("Shutdown again: %v", err)
	}
}

// prunedLog says of every read that it comes too late.
type prunedLog struct{ eventlog.Log }

func (prunedLog) Read(string, int64, int) ([]eventlog.Record, error) { return nil, eventlog.ErrGone }

func (prunedLog) Range(string) (first, last int64, ok bool) { return 1, 5, true }

// TestReplayOfWhatIsPrunedForEver: a log that contradicts itself ends a replay.
func TestReplayOfWhatIsPrunedForEver(t *testing.T) {
	t.Parallel()
	g := inner(t, prunedLog{eventlog.NewMemory(eventlog.MemoryOptions{})})
	c, said := asking(t, g)
	g.eventsReplay(c, []byte(`{"sessionId":"s","fromSeq":1}`))
	if r := heard(t, said); r.Error == nil || r.Error.Code != jsonrpc2.CodeInternalError {
		t.Errorf("events/replay: %+v", r)
	}
}

// TestLagHasACode: who was left behind by the log is told to come again.
func TestLagHasACode(t *testing.T) {
	t.Parallel()
	g := inner(t, prunedLog{eventlog.NewMemory(eventlog.MemoryOptions{})})
	sub := g.Connect(ConnectOptions{})
	defer sub.Close()
	s, err := g.obtain("s")
	if err != nil {
		t.Fatal(err)
	}
	s.head.Store(5)
	_, _, err = sub.Read(nil, "s", 5, 100)
	var coded interface{ CloseCode() int }
	if !errors.As(err, &coded) || coded.CloseCode() != 1013 || !errors.Is(err, eventlog.ErrGone) {
		t.Errorf("reading what is gone: %v", err)
	}
}

// deadLog opens nothing.
type deadLog struct{ eventlog.Log }

func (deadLog) Open(string) (eventlog.Info, error) { return eventlog.Info{}, errors.New("no log") }

// TestNothingRingsAfterRelease: a broken session is not tried again once its
// gateway is closed, whoever asks.
func TestNothingRingsAfterRelease(t *testing.T) {
	t.Parallel()
	g := inner(t, deadLog{eventlog.NewMemory(eventlog.MemoryOptions{})})
	s := newSession(g, "s", eventlog.Info{NextSeq: 1})
	g.sessions["s"] = s
	s.broken = true
	if s.usable() || s.mender == nil {
		t.Fatal("a broken session is not tried again")
	}
	if err := s.release(context.Background()); err != nil {
		t.Errorf("release: %v", err)
	}
	if s.mender != nil {
		t.Error("an alarm that was stopped is still set")
	}
	if s.usable() || s.mender != nil {
		t.Error("an alarm was set after the release")
	}
}

// TestSparedUntilFolded: a log spares what a fold is to follow it to also in the moment in
// which nobody is at it: one has just ended, and the next has yet to begin. A fold that
// cannot be made is no reason to spare for ever.
func TestSparedUntilFolded(t *testing.T) {
	t.Parallel()
	g := inner(t, deadLog{eventlog.NewMemory(eventlog.MemoryOptions{})})
	s := newSession(g, "s", eventlog.Info{NextSeq: 11})
	s.kept.wanted.Store(10)
	s.kept.last.Store(&weighed{Folded: reducer.Folded{Seq: 5}})
	if seq, behind := s.unfolded(); seq != 6 || !behind {
		t.Errorf("spared from %d: %v, want from 6", seq, behind)
	}
	s.kept.last.Store(&weighed{Folded: reducer.Folded{Seq: 10}})
	if seq, behind := s.unfolded(); behind {
		t.Errorf("a fold that has all is spared events from %d", seq)
	}
	s.kept.last.Store(nil)
	s.kept.forGood.Store(true)
	s.kept.following.Store(true)
	s.follow() // the log has nothing to make one of
	if seq, behind := s.unfolded(); behind || s.kept.following.Load() {
		t.Errorf("a fold that failed is spared events from %d", seq)
	}
}

// panickingLog panics where it is opened.
type panickingLog struct{ eventlog.Log }

func (panickingLog) Open(string) (eventlog.Info, error) { panic("the log's secret") }

// TestMendingPanics: a fault in the mending of a fault is this session's alone.
func TestMendingPanics(t *testing.T) {
	t.Parallel()
	g := inner(t, panickingLog{eventlog.NewMemory(eventlog.MemoryOptions{})})
	s := newSession(g, "s", eventlog.Info{NextSeq: 1})
	g.sessions["s"] = s
	s.mu.Lock()
	defer s.mu.Unlock()
	func() {
		defer s.caught()
		panic("in a step")
	}()
	if !s.broken {
		t.Error("the session is not broken")
	}
}

// TestAnsweredBefore: a request that was answered on its way to the machine does
// not reach it: what the client was told has failed must not happen.
func TestAnsweredBefore(t *testing.T) {
	t.Parallel()
	g := inner(t, nil)
	c, said := asking(t, g)
	s, err := g.obtain("s")
	if err != nil {
		t.Fatal(err)
	}
	in := session.StartTurn{Token: g.tokens.issue(c, "s"), TurnID: "t", Config: protocol.RunConfig{Harness: protocol.HarnessDemo, Cwd: os.TempDir()}}
	g.refuseAll("s", protocol.ErrInternal("given up"))
	if d, moved := s.start(&g.o.Harnesses[0], in); d != taken || moved {
		t.Errorf("start: %v %v", d, moved)
	}
	if s.machine != nil || s.head.Load() != 0 {
		t.Error("the turn was run")
	}
	heard(t, said)
	if len(said) > 0 {
		t.Error("it was answered twice")
	}
}

// TestFaultBesideTheExit: a machine is told what failed beside the exit.
func TestFaultBesideTheExit(t *testing.T) {
	t.Parallel()
	got := exitStatus(process.Status{Code: 3, Err: errors.New("a pipe failed")})
	if got.Code != 3 || got.Fault != "a pipe failed" {
		t.Errorf("exit status %+v", got)
	}
}

// TestHarnessThatTakesNoInput: one whose input is full is stopped, so that its turn
// ends: it would wait for ever for what it was never given.
func TestHarnessThatTakesNoInput(t *testing.T) {
	t.Parallel()
	g := inner(t, nil)
	g.registry.byID[protocol.HarnessDemo].Args = []string{"demo-agent"}
	g.maxStdin = 1
	c, said := asking(t, g)
	g.turnStart(c, []byte(strings.Replace(startParams, "/somewhere", os.TempDir(), 1)))
	if r := heard(t, said); r.Error != nil {
		t.Fatalf("turn/start: %+v", r.Error)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		records, err := g.log.Read("s", 0, replayChunk)
		if err != nil || time.Now().After(end) {
			t.Fatalf("the turn has not ended: %v", err)
		}
		if n := len(records); n > 0 && strings.Contains(string(records[n-1].Line), "turn.ended") {
			break
		}
	}
	if err := g.Shutdown(context.Background(), 0); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}
