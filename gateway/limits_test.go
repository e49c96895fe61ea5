package gateway_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"agent-server/eventlog"
	"agent-server/gateway"
	"agent-server/protocol"
)

// TestMaxSessions: one session too many is refused, names the limit and leaves
// nothing; a close makes room.
func TestMaxSessions(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t, func(o *gateway.Options) { o.MaxSessions = 1 }), gateway.ConnectOptions{})
	p.run(turn("a", "t", "say one", puppetID))
	got := p.call("turn/start", turn("b", "t", "say one", puppetID))
	if got.Error == nil || got.Error.Code != int(protocol.CodeOverloaded) || !strings.Contains(got.Error.Message, "1 sessions") {
		t.Errorf("a session too many: %s", got.Raw)
	}
	if got := p.call("events/replay", map[string]any{"sessionId": "b", "fromSeq": 1}); got.Error == nil {
		t.Errorf("the refused session is there: %s", got.Raw)
	}
	p.run(turn("a", "u", "say two", puppetID))
	p.call("session/close", map[string]any{"sessionId": "a"})
	p.run(turn("b", "t", "say one", puppetID))
	if got := p.call("turn/start", turn("a", "v", "say one", puppetID)); got.Error == nil || got.Error.Code != int(protocol.CodeOverloaded) {
		t.Errorf("a closed session, opened beyond the limit: %s", got.Raw)
	}
}

// gatedLog holds up reads of one session while its gate is closed.
type gatedLog struct {
	eventlog.Log
	shut atomic.Bool
	gate chan struct{}
}

func (l *gatedLog) Read(session string, after int64, maxBytes int) ([]eventlog.Record, error) {
	if session == "slow" && l.shut.Load() {
		<-l.gate
	}
	return l.Log.Read(session, after, maxBytes)
}

// TestReplayHoldsNobodyUp: while replays wait for the log, more than may be under
// way, the connection's next requests are served.
func TestReplayHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for kind, join := range wires {
		t.Run("over "+kind, func(t *testing.T) {
			t.Parallel()
			replayHoldsNobodyUp(t, join)
		})
	}
}

func replayHoldsNobodyUp(t *testing.T, join func(*testing.T, *gateway.Gateway) *peer) {
	log := &gatedLog{Log: eventlog.NewMemory(eventlog.MemoryOptions{}), gate: make(chan struct{})}
	p := join(t, open(t, func(o *gateway.Options) { o.Log = log }))
	p.run(turn("slow", "t", "say one", puppetID))
	p.begin(turn("s", "t", "say here;wait", puppetID))
	event(p, "s", func(e *protocol.MessagePart) bool { return e.OutputIndex > 0 })
	log.shut.Store(true)
	var replays []string
	for range 10 {
		replays = append(replays, p.ask("events/replay", map[string]any{"sessionId": "slow", "fromSeq": 1}))
	}
	cancel := p.call("turn/cancel", map[string]any{"sessionId": "s"})
	close(log.gate)
	for _, id := range replays {
		got := p.answer(id)
		before(t, "the cancel and a replay", cancel, got)
		if got.Error != nil || !strings.Contains(string(got.Result), "session.created") {
			t.Errorf("events/replay: %s", got.Raw)
		}
		if n := p.count(func(s said) bool { return string(s.ID) == id }); n != 1 {
			t.Errorf("a replay was answered %d times", n)
		}
	}
}

// TestPanicBetweenProcesses: a harness that panics where its next process is to be
// started, on the goroutine of the one before, costs its session the turn, and the
// log is not told what the panic says.
func TestPanicBetweenProcesses(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	core, seen := observer.New(zapcore.DebugLevel)
	g := open(t, pup(func(p *puppet) { p.infoPanics, p.restart = &fails, true }), func(o *gateway.Options) { o.Logger = zap.New(core) })
	p := connect(t, g, gateway.ConnectOptions{})
	p.run(turn("s", "a", "say one", puppetID))
	fails.Store(true)
	p.begin(turn("s", "b", "say two", puppetID, "model", "other"))
	if end := p.turnEnded("s", "b"); end.StopReason != protocol.StopError {
		t.Errorf("ended %s", end.StopReason)
	}
	fails.Store(false)
	if end := p.run(turn("s", "c", "say three", puppetID)); end.StopReason != protocol.StopEndTurn {
		t.Errorf("the next turn ended %s", end.StopReason)
	}
	panics := seen.FilterMessage("a session panicked").All()
	if len(panics) != 1 {
		t.Fatalf("%d panics are in the log", len(panics))
	}
	fields := panics[0].ContextMap()
	if stack, _ := fields["stack"].(string); fields["fault"] != "string" || !strings.Contains(stack, "succeed") {
		t.Errorf("the log says %v", fields)
	}
}
