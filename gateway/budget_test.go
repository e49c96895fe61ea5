package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agent-server/eventlog"
	"agent-server/gateway"
	"agent-server/protocol"
)

// budgetRig is a gateway whose log has a budget, and a client.
type budgetRig struct {
	*peer
	log    *eventlog.Memory
	budget int64
	turns  int
}

// newBudgetRig makes one.
func newBudgetRig(t *testing.T, budget int64) *budgetRig {
	log := eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: budget})
	g := open(t, func(o *gateway.Options) { o.Log = log })
	return &budgetRig{peer: as(t, g, map[string]any{"openHarnesses": true}), log: log, budget: budget}
}

// next is a turn of 10 KiB of text.
func (r *budgetRig) next() start {
	r.turns++
	return turn("s", fmt.Sprint("t", r.turns), "flood 10 1024", puppetID)
}

// state is the session's snapshot; the gateway's fold has come to the head then.
func (r *budgetRig) state() protocol.Object {
	r.t.Helper()
	var s protocol.SessionSnapshotResult
	if a := r.call("session/snapshot", map[string]any{"sessionId": "s"}); json.Unmarshal(a.Result, &s) != nil || s.State == nil {
		r.t.Fatalf("session/snapshot: %s", a.Raw)
	}
	return s.State
}

// held is what the log holds of the session, in bytes, and its head.
func (r *budgetRig) held() (bytes, head int64) {
	r.t.Helper()
	page, _, err := r.log.Sessions("", 10)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range page {
		if s.Session == "s" {
			return s.Bytes, s.Latest
		}
	}
	r.t.Fatal("the log holds nothing of the session")
	return 0, 0
}

// fill runs turns until one is refused, and gives that one and the answer.
func (r *budgetRig) fill(each func()) (start, said) {
	r.t.Helper()
	for range 200 {
		s := r.next()
		if a := r.call("turn/start", s); a.Error != nil {
			return s, a
		}
		r.turnEnded("s", s.TurnID)
		each()
	}
	r.t.Fatal("no turn is ever refused")
	return start{}, said{}
}

// Law 198: a log in memory gives way to the fold that is kept beside it; where the fold
// alone is over the budget the session takes no further turn, says why, and loses
// nothing, until it is closed.
func TestLaw198_foldIsCounted(t *testing.T) {
	t.Parallel()
	r := newBudgetRig(t, 256<<10)
	const aTurn = 40 << 10 // what one takes in the log, with its deltas, at most
	pruned := false
	refused, a := r.fill(func() {
		bytes, _ := r.held()
		state := int64(len(r.state()))
		if state > r.budget {
			return // the next is refused; the log has its least share
		}
		if first, _, _ := r.log.Range("s"); first > 1 {
			pruned = true
		}
		if most := max(r.budget-state, r.budget/8) + aTurn; bytes > most {
			t.Errorf("turn %d: the log takes %d bytes beside a fold of %d, want at most %d", r.turns, bytes, state, most)
		}
	})
	state := r.state()
	if got := fault(a); !pruned || got != `-32021 {"retryAfterMs":60000}` || !strings.Contains(a.Error.Message, "session s ") || !strings.Contains(a.Error.Message, "--max-session-bytes") {
		t.Fatalf("%s: %s", got, a.Error.Message)
	}
	if n := int64(len(state)); n > r.budget+r.budget/8 || n < r.budget*3/4 {
		t.Errorf("it is refused at a fold of %d bytes, the budget is %d", n, r.budget)
	}
	r.fullButWhole(refused, string(state))
	r.beginsAnew(refused, len(state))
}

// fullButWhole: what was admitted is answered as ever, others take turns, and what the
// session has come to is there to be read.
func (r *budgetRig) fullButWhole(refused start, state string) {
	r.t.Helper()
	_, head := r.held()
	last := refused
	last.TurnID = fmt.Sprint("t", r.turns-1)
	var again protocol.TurnStartResult
	if a := r.call("turn/start", last); json.Unmarshal(a.Result, &again) != nil || !again.Deduplicated {
		r.t.Errorf("a retry of the last turn that was admitted: %s", a.Raw)
	}
	last.Input = "say other"
	if got := fault(r.call("turn/start", last)); !strings.HasPrefix(got, "-32006 ") {
		r.t.Errorf("that turn with other content: %s", got)
	}
	if got := fault(r.call("turn/start", refused)); !strings.HasPrefix(got, "-32021 ") {
		r.t.Errorf("the refused turn, once more: %s", got)
	}
	r.run(turn("other", "t", "say hi", puppetID))
	if _, now := r.held(); now != head || string(r.state()) != state || !strings.Contains(state, `"turnId":"t1"`) {
		r.t.Errorf("head %d, was %d; or another state", now, head)
	}
}

// beginsAnew: closed, the session keeps its past until a turn begins, which is then
// admitted, and so are those after it.
func (r *budgetRig) beginsAnew(refused start, full int) {
	r.t.Helper()
	if got := fault(r.call("session/close", map[string]any{"sessionId": "s"})); got != `result {"closed":true}` {
		r.t.Fatalf("session/close: %s", got)
	}
	if !strings.Contains(string(r.state()), `"turnId":"t1"`) {
		r.t.Error("the closed session has lost its first turn")
	}
	bad := refused
	bad.Config = map[string]any{"harness": puppetID, "cwd": "/is/not/there"}
	if got := fault(r.call("turn/start", bad)); !strings.HasPrefix(got, "-32602 ") || !strings.Contains(string(r.state()), `"turnId":"t1"`) {
		r.t.Errorf("a turn that cannot be begins nothing: %s", got)
	}
	r.run(refused)
	if state := string(r.state()); len(state) > full/2 || !strings.Contains(state, `"turnId":"`+refused.TurnID+`"`) {
		r.t.Errorf("the next life begins with a fold of %d bytes, the last ended with %d", len(state), full)
	}
	for range 3 {
		r.run(r.next())
	}
}
