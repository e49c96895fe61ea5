package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/eventlog"
	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/verify"
)

// mortal is a gateway's hold on a log: once it is dead nothing it says is heard, as if
// it had been killed.
type mortal struct {
	surviving
	dead atomic.Bool
}

var errDead = errors.New("killed")

func (m *mortal) Append(session string, b eventlog.Batch) error {
	if m.dead.Load() {
		return errDead
	}
	return m.surviving.Append(session, b)
}

// killed has a gateway do something on a log, and kills it.
func killed(t *testing.T, log surviving, do func(p *peer)) {
	t.Helper()
	hold := &mortal{surviving: log}
	p := connect(t, open(t, onLog(hold)), gateway.ConnectOptions{}).unjudged()
	do(p)
	hold.dead.Store(true)
}

// newSurviving is an empty log that outlives gateways.
func newSurviving() surviving { return surviving{eventlog.NewMemory(eventlog.MemoryOptions{})} }

// status is what the list says of a session.
func (p *peer) status(session string) protocol.SessionStatus {
	p.t.Helper()
	for _, e := range p.list(map[string]any{}).Sessions {
		if e.SessionID == session {
			return e.Status
		}
	}
	return ""
}

// TestLaw195_dormantIsOpen: a session that was not closed is open after a restart, before
// any turn has run in it: each method answers for it as for any idle one, and a close
// takes the binding.
func TestLaw195_dormantIsOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		params map[string]any
		want   string
	}{
		"close":          {"session/close", nil, `{"closed":true}`},
		"forced close":   {"session/close", map[string]any{"force": true}, `{"closed":true}`},
		"cancel":         {"turn/cancel", nil, `{"outcome":"no_active_turn"}`},
		"stamped cancel": {"turn/cancel", map[string]any{"turnId": "t"}, `{"outcome":"no_active_turn"}`},
		"answer": {"permission/respond", map[string]any{"requestId": "r", "outcome": map[string]any{"outcome": "cancelled"}},
			`{"accepted":false}`},
		"unsubscribe": {"session/unsubscribe", nil, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newSurviving()
			killed(t, log, func(p *peer) { p.run(turn("s", "t", "say one", puppetID)) })
			p := connect(t, open(t, onLog(log)), gateway.ConnectOptions{}).unjudged()
			if got := p.status("s"); got != protocol.SessionIdle {
				t.Errorf("listed as %q", got)
			}
			params := map[string]any{"sessionId": "s"}
			for k, v := range c.params {
				params[k] = v
			}
			if a := p.call(c.method, params); string(a.Result) != c.want {
				t.Errorf("answered %s, want %s", a.Raw, c.want)
			}
			want, code := protocol.SessionIdle, -32602
			if c.method == "session/close" {
				want, code = protocol.SessionClosed, 0
				if a := p.call(c.method, params); string(a.Result) != `{"closed":false}` {
					t.Errorf("closed again: %s", a.Raw)
				}
			}
			if got := p.status("s"); got != want {
				t.Errorf("listed as %q then, want %q", got, want)
			}
			if a := p.call("turn/start", turn("s", "other", "say no", protocol.HarnessDemo)); (a.Error == nil) != (code == 0) {
				t.Errorf("a turn on another harness: %s", a.Raw)
			}
		})
	}
}

// TestDormantCloseIsOrdered: who receives the session is sent its end before the close is
// answered, snapshot and subscription agree, and the stream is whole.
func TestDormantCloseIsOrdered(t *testing.T) {
	t.Parallel()
	log := newSurviving()
	killed(t, log, func(p *peer) { p.run(turn("s", "t", "say one", puppetID)) })
	p := connect(t, open(t, onLog(log)), gateway.ConnectOptions{}).unjudged()
	sub := p.call("session/subscribe", map[string]any{"sessionId": "s", "afterSeq": 0})
	if sub.Error != nil {
		t.Fatal(sub.Raw)
	}
	closed := p.call("session/close", map[string]any{"sessionId": "s"})
	_, end := event(p, "s", func(e *protocol.SessionEnded) bool { return e.Reason == protocol.EndReleased })
	if end.At > closed.At {
		t.Errorf("the answer came at %d, the end at %d", closed.At, end.At)
	}
	var snap protocol.SessionSnapshotResult
	a := p.call("session/snapshot", map[string]any{"sessionId": "s"})
	if err := json.Unmarshal(a.Result, &snap); err != nil || snap.Seq != end.Params.Seq {
		t.Errorf("a snapshot at %d, the end is at %d, %v", snap.Seq, end.Params.Seq, err)
	}
	if faults := verify.Stream(replayed(t, p, "s"), verify.Options{}); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestDormantCloseNeedsNoHarness: nor a free place among the sessions.
func TestDormantCloseNeedsNoHarness(t *testing.T) {
	t.Parallel()
	log := newSurviving()
	killed(t, log, func(p *peer) { p.run(turn("s", "t", "say one", puppetID)) })
	p := connect(t, open(t, onLog(log), func(o *gateway.Options) { o.Harnesses, o.MaxSessions = o.Harnesses[:1], 1 }), gateway.ConnectOptions{})
	p.run(turn("another", "t", "say", protocol.HarnessDemo))
	if a := p.call("session/close", map[string]any{"sessionId": "s"}); string(a.Result) != `{"closed":true}` {
		t.Errorf("closing: %s", a.Raw)
	}
}

// TestMendedIsOpen: the same holds of a session whose machine was given up, once its log
// takes events again.
func TestMendedIsOpen(t *testing.T) {
	t.Parallel()
	hold := &mortal{surviving: newSurviving()}
	p := connect(t, open(t, onLog(hold)), gateway.ConnectOptions{})
	p.begin(turn("s", "t", "wait", puppetID))
	hold.dead.Store(true)
	if a := p.call("session/close", map[string]any{"sessionId": "s", "force": true}); a.Error == nil || a.Error.Code != -32603 {
		t.Errorf("while the log takes nothing: %s", a.Raw)
	}
	hold.dead.Store(false)
	if a := p.call("session/close", map[string]any{"sessionId": "s"}); string(a.Result) != `{"closed":true}` {
		t.Errorf("once it does: %s", a.Raw)
	}
}

// TestDormantCloseSaysWhyNot: a close that cannot be written is refused, and can be had
// once the log takes it.
func TestDormantCloseSaysWhyNot(t *testing.T) {
	t.Parallel()
	log := newSurviving()
	killed(t, log, func(p *peer) { p.run(turn("s", "t", "say one", puppetID)) })
	hold := &mortal{surviving: log}
	p := connect(t, open(t, onLog(hold)), gateway.ConnectOptions{}).unjudged()
	hold.dead.Store(true)
	if a := p.call("session/close", map[string]any{"sessionId": "s"}); a.Error == nil || a.Error.Code != -32603 {
		t.Errorf("while the log takes nothing: %s", a.Raw)
	}
	hold.dead.Store(false)
	if a := p.call("session/close", map[string]any{"sessionId": "s"}); string(a.Result) != `{"closed":true}` {
		t.Errorf("once it does: %s", a.Raw)
	}
}

// TestDormantKeepsItsBinding: also where its only turn has failed before its harness had
// a conversation, and for a client that knows it as acp.
func TestDormantKeepsItsBinding(t *testing.T) {
	t.Parallel()
	log := newSurviving()
	killed(t, log, func(p *peer) {
		p.begin(turn("s", "t", "say one", puppetID, "cwd", t.TempDir()))
		p.turnEnded("s", "t")
		p.run(turn("early", "t", "exit 1", puppetID))
	})
	p := connect(t, open(t, onLog(log)), gateway.ConnectOptions{}).unjudged()
	if a := p.call("turn/start", turn("s", "n", "say on", protocol.HarnessACP)); a.Error != nil {
		t.Errorf("a turn on what it is shown as: %s", a.Raw)
	}
	if a := p.call("turn/start", turn("early", "n", "say on", protocol.HarnessDemo)); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("a turn on another harness: %s", a.Raw)
	}
}

// TestClosedLifeIsOver: a session whose conversation was never told, closed, used again
// and killed, does not resume the one of a life before.
func TestClosedLifeIsOver(t *testing.T) {
	t.Parallel()
	ended := func(turn string) []protocol.Event {
		return []protocol.Event{&protocol.TurnStarted{SessionID: "s", TurnID: turn, Timestamp: 1},
			&protocol.TurnEnded{SessionID: "s", TurnID: turn, StopReason: protocol.StopEndTurn, Timestamp: 1}}
	}
	events := append(ended("a"), &protocol.SessionCreated{SessionID: "s", NativeSessionID: "old", Harness: puppetID, Timestamp: 1},
		&protocol.SessionEnded{SessionID: "s", Reason: "released", Timestamp: 1})
	p := connect(t, open(t, onLog(left(t, "s", append(events, ended("b")...)...))), gateway.ConnectOptions{}).unjudged()
	p.begin(turn("s", "n", "say on", puppetID))
	created, _ := event[*protocol.SessionCreated](p, "s", nil)
	if created.NativeSessionID == "old" || created.Resumed != nil {
		t.Errorf("the next turn runs in %+v", created)
	}
}

// TestLaw196_rulesSurvive: what a user has said for good is not asked again after the
// gateway has died, as long as the session is open; nothing else is taken for it.
func TestLaw196_rulesSurvive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		option, decision string
		close, asks      bool
	}{
		{"allow_always", "decision 1", false, false},
		{"reject_always", "decision 0", false, false},
		{"allow_always", "", true, true},
		{"allow", "", false, true},
		{"reject", "", false, true},
	} {
		t.Run(fmt.Sprint(c.option, c.close), func(t *testing.T) {
			t.Parallel()
			log := newSurviving()
			killed(t, log, func(p *peer) {
				p.begin(turn("s", "t", "ask", puppetID))
				asked, _ := event[*protocol.PermissionRequested](p, "s", nil)
				p.call("permission/respond", map[string]any{"sessionId": "s", "requestId": asked.RequestID,
					"outcome": map[string]any{"outcome": "selected", "optionId": c.option}})
				p.turnEnded("s", "t")
				if c.close {
					p.call("session/close", map[string]any{"sessionId": "s"})
					p.run(turn("s", "u", "say", puppetID)) // another life
				}
			})
			p := connect(t, open(t, onLog(log)), gateway.ConnectOptions{}).unjudged()
			p.begin(turn("s", "n", "ask", puppetID))
			if c.asks {
				event[*protocol.PermissionRequested](p, "s", nil)
				return
			}
			p.turnEnded("s", "n")
			if n := p.count(func(s said) bool { _, is := s.Event.(*protocol.PermissionRequested); return is }); n != 0 || p.text("s", "n") != c.decision {
				t.Errorf("%d requests, %q", n, p.text("s", "n"))
			}
		})
	}
}

// TestLaw197_nothingLeftHanging: whatever a host's death leaves open in a client's view is
// closed by what the next gateway says first: through the fold nothing is pending.
func TestLaw197_nothingLeftHanging(t *testing.T) {
	t.Parallel()
	const s, at = "s", 1
	tool := func(id string, state protocol.ToolState) *protocol.ToolPart {
		return &protocol.ToolPart{PartHead: protocol.PartHead{ID: id, SessionID: s, MessageID: "m"}, ToolCallID: id, ToolName: "Bash", State: state}
	}
	part := func(i int, p protocol.Part) protocol.Event {
		return &protocol.MessagePart{SessionID: s, TurnID: "t", MessageID: "m", OutputIndex: 1, PartIndex: protocol.Number(i), Part: p, Timestamp: at}
	}
	updated := func(n int64) protocol.Event {
		return (&protocol.SessionUpdated{SessionID: s, Title: new("name"), BackgroundTasks: &n, Timestamp: at}).Unknown()
	}
	events := append(interrupted(),
		part(1, &protocol.ReasoningPart{PartHead: protocol.PartHead{ID: "think", SessionID: s, MessageID: "m"}, Text: "hm", State: protocol.StateStreaming}),
		part(2, tool("pending", &protocol.PendingState{PartialInput: "{"})),
		part(3, tool("running", &protocol.InProgressState{Input: protocol.Object("{}")})),
		&protocol.SessionCompaction{SessionID: s, TurnID: "t", CompactionID: "c", Status: "in_progress", Timestamp: at},
		&protocol.ErrorEvent{SessionID: new(s), TurnID: new("t"), Category: protocol.CategoryRateLimit, Message: "retrying in 5 s", Recoverable: true, Timestamp: at},
		updated(1), updated(2))
	p := connect(t, open(t, onLog(left(t, s, events...))), gateway.ConnectOptions{}).unjudged()
	var f reducer.Folded
	for _, env := range replayed(t, p, s) {
		f, _ = reducer.FoldEnvelope(f, env)
	}
	nothingHangs(t, f.Conversation)
	if n := string(reducer.SessionInfo(f.Conversation).BackgroundTasks); n != "0" {
		t.Errorf("%s tasks are told to run on", n)
	}
	if title := reducer.SessionInfo(f.Conversation).Title; title == nil || *title != "name" {
		t.Error("the title is gone")
	}
}

// nothingHangs wants a conversation in which nobody waits for anything.
func nothingHangs(t *testing.T, c *reducer.Conversation) {
	t.Helper()
	for _, turn := range c.Turns() {
		if turn.EndedAt == nil {
			t.Errorf("turn %s goes on", turn.TurnID)
		}
	}
	if open := reducer.PendingPermissions(c); len(open) > 0 {
		t.Errorf("permissions wait: %+v", open)
	}
	if got := reducer.AgentActivity(c); got != "idle" {
		t.Errorf("the agent is %v", got)
	}
	for _, entry := range c.Timeline() {
		switch entry := entry.(type) {
		case *reducer.Compaction:
			if entry.Status == "in_progress" {
				t.Error("a compaction goes on")
			}
		case *reducer.Message:
			if entry.EndedAt == nil {
				t.Errorf("message %s is open", entry.MessageID)
			}
			for _, part := range entry.Parts {
				if diff := cmp.Diff("", unfinished(part)); diff != "" {
					t.Error(diff)
				}
			}
		}
	}
}

// unfinished says of a part what in it is not over; "": all is.
func unfinished(p protocol.Part) string {
	switch p := p.(type) {
	case *protocol.TextPart:
		if p.State == protocol.StateStreaming {
			return p.ID + " streams"
		}
	case *protocol.ReasoningPart:
		if p.State == protocol.StateStreaming {
			return p.ID + " streams"
		}
	case *protocol.ToolPart:
		if s := p.State.Status(); s == protocol.ToolPending || s == protocol.ToolInProgress {
			return p.ID + " is " + string(s)
		}
	}
	return ""
}

// TestTasksOfAnIdleSession: what ran on beside the turns when its host died is told as
// gone, though no turn was open.
func TestTasksOfAnIdleSession(t *testing.T) {
	t.Parallel()
	log := newSurviving()
	n := int64(2)
	events := []protocol.Event{&protocol.TurnStarted{SessionID: "s", TurnID: "t", Timestamp: 1},
		(&protocol.SessionUpdated{SessionID: "s", BackgroundTasks: &n, Timestamp: 1}).Unknown(),
		&protocol.TurnEnded{SessionID: "s", TurnID: "t", StopReason: protocol.StopEndTurn, Timestamp: 1}}
	fill(t, log, "s", eventlog.StateBusy, events...)
	p := connect(t, open(t, onLog(log)), gateway.ConnectOptions{}).unjudged()
	envs := replayed(t, p, "s")
	if u, is := protocol.ReadSessionUpdated(envs[len(envs)-1].Event); !is || u.BackgroundTasks == nil || *u.BackgroundTasks != 0 {
		t.Errorf("the last word is %+v", envs[len(envs)-1].Event)
	}
}
