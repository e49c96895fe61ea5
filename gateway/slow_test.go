package gateway_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/transport"
)

// watched is a gateway whose log can be asked.
func watched(t *testing.T, change ...func(*gateway.Options)) (*gateway.Gateway, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	return open(t, append(change, func(o *gateway.Options) { o.Logger = zap.New(core) })...), logs
}

func logged(logs *observer.ObservedLogs, phrase string) func() bool {
	return func() bool { return logs.FilterMessageSnippet(phrase).Len() > 0 }
}

// TestSlowConsumer: a connection that may not lose anything holds the harness
// when it stops reading, not the others and not memory; when it reads on, nothing
// is missing.
func TestSlowConsumer(t *testing.T) {
	t.Parallel()
	const deltas, size, maxLag = 2_000, 1 << 10, 128 << 10
	g, logs := watched(t, func(o *gateway.Options) { o.MaxLagBytes = maxLag })
	slow, quick := connect(t, g, gateway.ConnectOptions{Pause: true}), connect(t, g, gateway.ConnectOptions{})
	slow.call("initialize", map[string]any{"protocolVersion": 2})
	slow.hold(true)
	quick.begin(turn("s", "t", fmt.Sprintf("flood %d %d", deltas, size), puppetID))
	waitUntil(t, "the harness is held", logged(logs, "harness held"))
	// Requests are served all the same.
	if got := fault(quick.call("turn/start", turn("s", "u", "", puppetID))); got != `-32002 {"turnId":"t"}` {
		t.Errorf("a request meanwhile: %s", got)
	}
	quick.run(turn("other", "t", "say hi", puppetID))
	latest := quick.count(func(s said) bool { return s.Params.SessionID == "s" })
	if bound := 3*maxLag/size + 64; latest > bound {
		t.Errorf("%d events of %d bytes were taken, the lag may be %d bytes", latest, size, maxLag)
	}
	slow.hold(false)
	slow.turnEnded("s", "t")
	quick.turnEnded("s", "t")
	for _, p := range []*peer{slow, quick} {
		if text := p.text("s", "t"); len(text) != deltas*size || strings.Count(text, " ") != deltas {
			t.Errorf("%d bytes of text, want %d", len(text), deltas*size)
		}
	}
}

// TestSlowConsumerLeaves: with the connection goes what it held up.
func TestSlowConsumerLeaves(t *testing.T) {
	t.Parallel()
	g, logs := watched(t, func(o *gateway.Options) { o.MaxLagBytes = 64 << 10 })
	sub := g.Connect(gateway.ConnectOptions{Pause: true}) // reads nothing, ever
	p := connect(t, g, gateway.ConnectOptions{})
	p.begin(turn("s", "t", "flood 1000 1024", puppetID))
	waitUntil(t, "the harness is held", logged(logs, "harness held"))
	sub.Close()
	sub.Close()
	if end := p.turnEnded("s", "t"); end.StopReason != protocol.StopEndTurn {
		t.Errorf("ended %s", end.StopReason)
	}
}

// TestShutdownPastASlowConsumer: who reads nothing does not hold up the end.
func TestShutdownPastASlowConsumer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits out the ten seconds that an interrupt is given")
	}
	g, logs := watched(t, func(o *gateway.Options) { o.MaxLagBytes = 64 << 10 })
	sub := g.Connect(gateway.ConnectOptions{Pause: true})
	defer sub.Close()
	p := connect(t, g, gateway.ConnectOptions{})
	p.begin(turn("s", "t", "flood 1000 1024;wait", puppetID))
	waitUntil(t, "the harness is held", logged(logs, "harness held"))
	_ = p.call("turn/cancel", map[string]any{"sessionId": "s"})
	if err := g.Shutdown(context.Background(), 0); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	event[*protocol.SessionEnded](p, "s", nil)
}

// TestManySubscribers: everyone is sent the same bytes, in the same order, while
// others come and go.
func TestManySubscribers(t *testing.T) {
	t.Parallel()
	const peers, sessions = 8, 3
	g := open(t)
	var all []*peer
	for range peers {
		all = append(all, connect(t, g, gateway.ConnectOptions{Pause: len(all)%2 == 0}))
	}
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			for j := range 3 {
				all[i].run(turn(fmt.Sprint("s", i), fmt.Sprint("t", j), "flood 100 40;say done", puppetID))
			}
		})
	}
	for range 20 {
		sub := g.Connect(gateway.ConnectOptions{})
		sub.Mark()
		if _, _, err := sub.Read(nil, "", 0, 1<<20); err != nil {
			t.Errorf("a passing connection: %v", err)
		}
		sub.Close()
		runtime.Gosched()
	}
	wg.Wait()
	for i := range sessions {
		session, want := fmt.Sprint("s", i), ""
		for j, p := range all {
			p.turnEnded(session, "t2")
			p.mu.Lock()
			var got strings.Builder
			for _, l := range p.lines {
				if l.Params.SessionID == session {
					got.WriteString(l.Raw + "\n")
				}
			}
			p.mu.Unlock()
			if j > 0 && got.String() != want {
				t.Errorf("connection %d was sent other bytes of %s than the first", j, session)
			}
			want = got.String()
		}
	}
}

// TestFloodIsFair: a session that floods holds up no other on the same
// connection.
func TestFloodIsFair(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	p.begin(turn("loud", "t", "flood 2000 256;wait", puppetID))
	event[*protocol.MessagePartDelta](p, "loud", nil)
	p.run(turn("quiet", "t", "say hi", puppetID))
	p.call("turn/cancel", map[string]any{"sessionId": "loud"})
	p.turnEnded("loud", "t")
}

// TestAnswersToNobody: a connection that goes away with requests open harms
// nothing; its session goes on.
func TestAnswersToNobody(t *testing.T) {
	t.Parallel()
	g := open(t)
	p := connect(t, g, gateway.ConnectOptions{})
	here, there := io.Pipe()
	sub := g.Connect(gateway.ConnectOptions{})
	gone := transport.Open(transport.NDJSON(here, io.Discard, 0, 0, here.Close), sub, sub, transport.Options{})
	file := filepath.Join(t.TempDir(), "file")
	p.begin(turn("s", "t", "say here;wait "+file, puppetID))
	event(p, "s", func(e *protocol.MessagePart) bool { return e.OutputIndex > 0 })
	_, _ = io.WriteString(there, `{"jsonrpc":"2.0","id":1,"method":"turn/cancel","params":{"sessionId":"s"}}`+"\n")
	_, _ = io.WriteString(there, `{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":2}}`+"\n")
	_ = there.Close()
	<-gone.InputEnded()
	_ = gone.Finish(context.Background())
	gone.Wait()
	if got := fault(p.call("turn/start", turn("s", "u", "", puppetID))); got != `-32002 {"turnId":"t"}` {
		t.Errorf("the session afterwards: %s", got)
	}
	cancel := p.ask("turn/cancel", map[string]any{"sessionId": "s"})
	p.call("initialize", map[string]any{"protocolVersion": 2}) // the cancel was served before it
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := fault(p.answer(cancel)); got != `result {"outcome":"cancelled","turnId":"t"}` {
		t.Errorf("the other connection's cancel: %s", got)
	}
	p.turnEnded("s", "t")
}
