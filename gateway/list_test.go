package gateway_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agent-server/broker"
	"agent-server/gateway"
	"agent-server/protocol"
)

// list is one page of session/list.
func (p *peer) list(params map[string]any) protocol.SessionListResult {
	p.t.Helper()
	var r protocol.SessionListResult
	a := p.call("session/list", params)
	if a.Error != nil || json.Unmarshal(a.Result, &r) != nil {
		p.t.Fatalf("session/list: %s", a.Raw)
	}
	return r
}

// TestSessionList: every session that the log holds, with what goes on in it, the
// one updated last first, page by page, each once.
func TestSessionList(t *testing.T) {
	t.Parallel()
	g := open(t)
	p := connect(t, g, gateway.ConnectOptions{})
	p.hello()
	if r := p.list(map[string]any{}); len(r.Sessions) != 0 || r.NextCursor != nil {
		t.Errorf("of none: %+v", r)
	}
	p.run(turn("closed", "a", "say hi", puppetID))
	p.call("session/close", map[string]any{"sessionId": "closed"})
	p.run(turn("idle", "a", "say hi", "demo"))
	p.begin(turn("busy", "a", "ask", puppetID))
	event[*protocol.PermissionRequested](p, "busy", nil)
	if a := p.call("turn/start", map[string]any{"sessionId": "busy", "turnId": "b", "input": "say on", "ifBusy": "queue",
		"config": map[string]any{"harness": puppetID, "cwd": os.TempDir()}}); fault(a) != `result {"sessionId":"busy","turnId":"b","disposition":"queued"}` {
		t.Fatalf("queueing: %s", a.Raw)
	}
	entry := func(id, harness string, status protocol.SessionStatus) protocol.SessionEntry {
		return protocol.SessionEntry{SessionID: id, Harness: protocol.HarnessID(harness), Cwd: os.TempDir(), Status: status}
	}
	busy := entry("busy", "puppet", protocol.SessionActive)
	busy.ActiveTurnID, busy.QueuedTurns, busy.PendingPermissions = new("a"), 1, 1
	want := map[string]protocol.SessionEntry{"busy": busy, "idle": entry("idle", "demo", protocol.SessionIdle), "closed": entry("closed", "puppet", protocol.SessionClosed)}
	got, cursor := map[string]protocol.SessionEntry{}, map[string]any{"limit": 1}
	for last := int64(1 << 62); ; {
		r := p.list(cursor)
		for _, e := range r.Sessions {
			if e.UpdatedAt > last || e.CreatedAt > e.UpdatedAt || e.CreatedAt == 0 || e.LatestSeq < 5 {
				t.Errorf("%+v after one of %d", e, last)
			}
			if _, twice := got[e.SessionID]; twice {
				t.Errorf("%s is listed twice", e.SessionID)
			}
			last, got[e.SessionID] = e.UpdatedAt, e
		}
		if r.NextCursor == nil {
			break
		}
		cursor["cursor"] = *r.NextCursor
	}
	times := cmpopts.IgnoreFields(protocol.SessionEntry{}, "CreatedAt", "UpdatedAt", "LatestSeq")
	if diff := cmp.Diff(want, got, times); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	base := connect(t, g, gateway.ConnectOptions{})
	for _, e := range base.list(map[string]any{}).Sessions {
		if !e.Harness.Base() {
			t.Errorf("a connection of the base is shown %s", e.Harness)
		}
	}
	for _, bad := range []string{`{"cursor":"nonsense"}`, `{"limit":0}`, `{"limit":"x"}`} {
		if a := p.call("session/list", json.RawMessage(bad)); a.Error == nil || a.Error.Code != -32602 {
			t.Errorf("%s: %s", bad, a.Raw)
		}
	}
	p.call("session/close", map[string]any{"sessionId": "busy", "force": true})
	p.turnEnded("busy", "a")
}

// TestForcedClose ends what runs and gives back what waits.
func TestForcedClose(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	p.begin(turn("s", "a", "say hi;wait", puppetID))
	event(p, "s", func(e *protocol.MessagePart) bool { return e.OutputIndex > 0 })
	if got := fault(p.call("session/close", map[string]any{"sessionId": "s", "force": false})); got != `-32002 {"turnId":"a"}` {
		t.Errorf("without force: %s", got)
	}
	if got := fault(p.call("session/close", map[string]any{"sessionId": "s", "force": true})); got != `result {"closed":true}` {
		t.Errorf("by force: %s", got)
	}
	if end := p.turnEnded("s", "a"); end.StopReason != protocol.StopCancelled {
		t.Errorf("ended %s", end.StopReason)
	}
}

// TestHarnessList: all that is configured, and what of it can be run.
func TestHarnessList(t *testing.T) {
	t.Parallel()
	g := open(t, func(o *gateway.Options) {
		o.Harnesses = append(o.Harnesses, gateway.Registration{Harness: &puppet{id: "absent"}, Path: "/nowhere/to/be/found"})
	})
	p := connect(t, g, gateway.ConnectOptions{})
	var r protocol.HarnessListResult
	if a := p.call("harness/list", nil); json.Unmarshal(a.Result, &r) != nil || len(r.Harnesses) != 3 {
		t.Fatalf("harness/list: %s", a.Raw)
	}
	for i, want := range []string{"demo true", "puppet true", "absent false"} {
		e := r.Harnesses[i]
		if got := fmt.Sprint(e.ID, " ", e.Available); got != want || e.Available == (e.Path == nil) || e.Available != (e.Reason == nil) || e.Version != nil {
			t.Errorf("%+v, want %s", e, want)
		}
	}
}

// rules is a policy.
type rules map[string]broker.Ruling

func (r rules) Rule(c broker.Call) broker.Ruling { return r[c.Tool] }

// TestWhoDecides: the operator's policy and clock are those of every session.
func TestWhoDecides(t *testing.T) {
	t.Parallel()
	for by, change := range map[string]func(*gateway.Options){
		"policy":  func(o *gateway.Options) { o.Policy = rules{"Bash": broker.PolicyDeny} },
		"timeout": func(o *gateway.Options) { o.PermissionTimeout = 10 * time.Millisecond },
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			p := connect(t, open(t, change), gateway.ConnectOptions{})
			p.run(turn("s", "a", "ask", puppetID))
			resolved, at := event[*protocol.PermissionResolved](p, "s", nil)
			if string(resolved.Meta) != `{"agent-server/by":"`+by+`"}` {
				t.Errorf("resolved: %s", at.Raw)
			}
		})
	}
}

// seen is a policy that tells what it is asked about.
type seen chan broker.Call

func (s seen) Rule(c broker.Call) broker.Ruling {
	s <- c
	return broker.PolicyDeny
}

// TestPolicySeesTheRealDirectory: a turn's directory may be a link, and the harness
// names files by where it leads.
func TestPolicySeesTheRealDirectory(t *testing.T) {
	t.Parallel()
	real, err := filepath.EvalSymlinks(t.TempDir())
	link := filepath.Join(t.TempDir(), "link")
	if err = errors.Join(err, os.Symlink(real, link)); err != nil {
		t.Skipf("no links here: %v", err)
	}
	asked := make(seen, 1)
	p := connect(t, open(t, func(o *gateway.Options) { o.Policy = asked }), gateway.ConnectOptions{})
	p.run(turn("s", "a", "ask", puppetID, "cwd", link))
	if c := <-asked; c.Cwd != link || c.RealCwd != real {
		t.Errorf("asked about a call in %q, which is %q", c.Cwd, c.RealCwd)
	}
}
