package gateway_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/eventlog"
	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/verify"
)

// surviving is a log that outlives its gateways, as far as they can tell.
type surviving struct{ *eventlog.Memory }

func (surviving) Durable() bool { return true }

// left is a surviving log that holds the events of a session, as a gateway that was
// killed would have left it.
func left(t *testing.T, session string, events ...protocol.Event) surviving {
	t.Helper()
	log := newSurviving()
	fill(t, log, session, eventlog.StateUnknown, events...)
	return log
}

// fill puts events into an empty session's log, in one batch that admits turn t.
func fill(t *testing.T, log surviving, session string, state eventlog.State, events ...protocol.Event) {
	t.Helper()
	b := eventlog.Batch{State: state}
	for i, ev := range events {
		line := append(protocol.AppendNotification(nil, protocol.Envelope{SessionID: session, Seq: int64(i + 1), Event: ev}), '\n')
		b.Records = append(b.Records, eventlog.Record{Seq: int64(i + 1), Line: line,
			EventAt: strings.Index(string(line), `"event":{`) + len(`"event":`), Durable: true, Turn: 1})
	}
	b.Admission = &eventlog.Admission{TurnID: "t"}
	if err := log.Append(session, b); err != nil {
		t.Fatal(err)
	}
}

// onLog opens a gateway on a log.
func onLog(log eventlog.Log) func(*gateway.Options) {
	return func(o *gateway.Options) { o.Log = log }
}

// interrupted are the events of a turn in mid-sentence, and of one that waits.
func interrupted() []protocol.Event {
	const s, at = "s", 1
	part := &protocol.TextPart{PartHead: protocol.PartHead{ID: "p", SessionID: s, MessageID: "m"}, Text: "half a ", State: protocol.StateStreaming}
	return []protocol.Event{
		&protocol.TurnStarted{SessionID: s, TurnID: "t", Timestamp: at},
		&protocol.MessageStarted{SessionID: s, TurnID: "t", MessageID: "echo-t", Role: protocol.RoleUser, Timestamp: at},
		&protocol.MessageEnded{SessionID: s, TurnID: "t", MessageID: "echo-t", Timestamp: at},
		&protocol.SessionCreated{SessionID: s, NativeSessionID: "native", Harness: puppetID, Timestamp: at},
		&protocol.MessageStarted{SessionID: s, TurnID: "t", MessageID: "m", OutputIndex: 1, Role: protocol.RoleAssistant, Timestamp: at},
		&protocol.MessagePart{SessionID: s, TurnID: "t", MessageID: "m", OutputIndex: 1, Part: part, Timestamp: at},
		&protocol.PermissionRequested{SessionID: s, TurnID: "t", RequestID: "r", Title: "x", Timestamp: at},
		(&protocol.TurnQueued{SessionID: s, TurnID: "q", Position: 1, Timestamp: at, Meta: protocol.Object(`{"agent-server/input":"later"}`)}).Unknown(),
		(&protocol.TurnQueued{SessionID: s, TurnID: "gone", Position: 2, Timestamp: at}).Unknown(),
		(&protocol.TurnUnqueued{SessionID: s, TurnID: "gone", Reason: protocol.UnqueuedCancelled, Timestamp: at}).Unknown(),
	}
}

// replayed are a session's events.
func replayed(t *testing.T, p *peer, session string) []protocol.Envelope {
	t.Helper()
	got := p.call("events/replay", map[string]any{"sessionId": session, "fromSeq": 1})
	var r struct{ Events []json.RawMessage }
	if err := json.Unmarshal(got.Result, &r); err != nil {
		t.Fatalf("%v: %s", err, got.Raw)
	}
	var envs []protocol.Envelope
	for _, raw := range r.Events {
		env, err := protocol.DecodeEnvelope(raw)
		if err != nil {
			t.Fatal(err)
		}
		envs = append(envs, env)
	}
	return envs
}

// TestRecover: what a dead gateway had begun is ended before anybody can ask, in the
// same numbers; the session goes on where its harness was.
func TestRecover(t *testing.T) {
	t.Parallel()
	log := left(t, "s", interrupted()...)
	p := connect(t, open(t, onLog(log)), gateway.ConnectOptions{}).unjudged()
	envs := replayed(t, p, "s")
	var told []string
	for _, env := range envs[len(interrupted()):] {
		told = append(told, string(env.Event.Type()))
	}
	want := []string{"error", "message.part", "permission.resolved", "message.ended", "turn.ended", "turn.unqueued"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Fatalf("the ends (-want +got):\n%s", diff)
	}
	if faults := verify.Stream(envs, verify.Options{NoEcho: true}); len(faults) > 0 {
		t.Errorf("what is read again: %v", faults)
	}
	end := envs[len(envs)-2].Event.(*protocol.TurnEnded)
	if end.Error == nil || end.Error.Category != protocol.CategoryProcessExit || !strings.Contains(string(end.Meta), "hostDeath") {
		t.Errorf("the turn ended as %+v", end)
	}
	if u, _ := protocol.ReadTurnUnqueued(envs[len(envs)-1].Event); u.TurnID != "q" || u.Input.Text != "later" || u.Reason != protocol.UnqueuedHostDeath {
		t.Errorf("given back: %+v", u)
	}
	if got := p.call("turn/start", turn("s", "x", "say no", protocol.HarnessDemo)); got.Error == nil || got.Error.Code != -32602 {
		t.Errorf("another harness: %s", got.Raw)
	}
	p.begin(turn("s", "n", "say on", puppetID))
	e, _ := event(p, "s", func(e *protocol.SessionCreated) bool { return true })
	if e.NativeSessionID != "native" || e.Resumed == nil || !*e.Resumed {
		t.Errorf("the next turn runs in %+v", e)
	}
}

// TestRecoverOnce: a second restart finds nothing to do.
func TestRecoverOnce(t *testing.T) {
	t.Parallel()
	log := left(t, "s", interrupted()...)
	open(t, onLog(log))
	_, head, _ := log.Range("s")
	open(t, onLog(log))
	if _, again, _ := log.Range("s"); again != head || head <= int64(len(interrupted())) {
		t.Errorf("the log goes up to %d, then to %d", head, again)
	}
}

// TestRecoverLeavesEnds: a session that was idle, or closed, is as it was; a closed one
// begins anew.
func TestRecoverLeavesEnds(t *testing.T) {
	t.Parallel()
	whole := append(interrupted()[:5:5], &protocol.MessageEnded{SessionID: "s", TurnID: "t", MessageID: "m", Timestamp: 1},
		&protocol.TurnEnded{SessionID: "s", TurnID: "t", StopReason: protocol.StopEndTurn, Timestamp: 1})
	for name, c := range map[string]struct {
		events  []protocol.Event
		resumed bool
	}{
		"idle":   {whole, true},
		"closed": {append(whole[:len(whole):len(whole)], &protocol.SessionEnded{SessionID: "s", Reason: "released", Timestamp: 1}), false},
	} {
		log := left(t, "s", c.events...)
		p := connect(t, open(t, onLog(log)), gateway.ConnectOptions{}).unjudged()
		if n := len(replayed(t, p, "s")); n != len(c.events) {
			t.Errorf("%s: %d events, want %d", name, n, len(c.events))
		}
		p.begin(turn("s", "n", "say on", puppetID))
		created, _ := event(p, "s", func(e *protocol.SessionCreated) bool { return true })
		if resumed := created.Resumed != nil && *created.Resumed; resumed != c.resumed || (created.NativeSessionID == "native") != c.resumed {
			t.Errorf("%s: the next turn runs in %+v", name, created)
		}
	}
}

// TestStaleGateway: a gateway whose log another one has taken over does no harm.
func TestStaleGateway(t *testing.T) {
	t.Parallel()
	log := surviving{eventlog.NewMemory(eventlog.MemoryOptions{})}
	old := connect(t, open(t, onLog(log)), gateway.ConnectOptions{}).unjudged()
	old.begin(turn("s", "t", "say one;wait", puppetID))
	event(old, "s", func(e *protocol.MessagePart) bool { return e.OutputIndex > 0 })
	p := connect(t, open(t, onLog(log)), gateway.ConnectOptions{}).unjudged()
	old.call("turn/cancel", map[string]any{"sessionId": "s"})
	if faults := verify.Stream(replayed(t, p, "s"), verify.Options{}); len(faults) > 0 {
		t.Errorf("the log that both wrote to: %v", faults)
	}
}

// TestDurableSaysSo: a client learns that the log outlives the gateway, and by which
// name it knows it again; a list says what ran where.
func TestDurableSaysSo(t *testing.T) {
	t.Parallel()
	log := surviving{eventlog.NewMemory(eventlog.MemoryOptions{})}
	for range 2 {
		p := connect(t, open(t, onLog(log)), gateway.ConnectOptions{})
		got := p.call("initialize", map[string]any{"protocolVersion": 2})
		var r protocol.InitializeResult
		if err := json.Unmarshal(got.Result, &r); err != nil || r.Capabilities.Durability != "durable" || r.Capabilities.LogID != log.ID() {
			t.Errorf("%v: %s", err, got.Raw)
		}
	}
	p := connect(t, open(t, onLog(log)), gateway.ConnectOptions{})
	p.begin(turn("s", "t", "say one", puppetID))
	event(p, "s", func(*protocol.TurnEnded) bool { return true })
	page, _, err := log.Sessions("", 10)
	if err != nil || len(page) != 1 || page[0].Facts.Harness != string(puppetID) || page[0].Facts.Cwd == "" {
		t.Errorf("%v: %+v", err, page)
	}
}

// releasing notes which sessions its gateway has done with.
type releasing struct {
	surviving
	mu       sync.Mutex
	released []string
}

func (r *releasing) Release(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.released = append(r.released, session)
}

// TestReleased: a log is told when a session is closed, and not before.
func TestReleased(t *testing.T) {
	t.Parallel()
	log := &releasing{surviving: surviving{eventlog.NewMemory(eventlog.MemoryOptions{})}}
	p := connect(t, open(t, onLog(log)), gateway.ConnectOptions{})
	told := func() []string {
		log.mu.Lock()
		defer log.mu.Unlock()
		return append([]string(nil), log.released...)
	}
	p.run(turn("s", "t", "say one", puppetID))
	if got := told(); len(got) != 0 {
		t.Errorf("while it is open: released %q", got)
	}
	p.call("session/close", map[string]any{"sessionId": "s"})
	if got := told(); len(got) != 1 || got[0] != "s" {
		t.Errorf("once it is closed: released %q", got)
	}
}
