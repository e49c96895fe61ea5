package session_test

import (
	"errors"
	"strconv"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"

	"github.com/google/go-cmp/cmp"
)

// ask asks for a turn, whatever is open.
func (r *rig) ask(turn string, ifBusy protocol.IfBusy, change ...func(*protocol.RunConfig)) session.Token {
	r.t.Helper()
	token := r.token()
	r.step(session.StartTurn{Token: token, TurnID: turn, Input: protocol.TextInput("hi"), Config: config(change...), IfBusy: ifBusy})
	return token
}

// stamped asks for the end of one turn.
func (r *rig) stamped(turn string) session.Token {
	r.t.Helper()
	token := r.token()
	r.step(session.CancelTurn{Token: token, TurnID: turn})
	return token
}

// wants checks a token's one answer.
func (r *rig) wants(what string, token session.Token, want string) {
	r.t.Helper()
	if got := r.answer(token); got != want {
		r.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// begun is what the start of a turn shows.
func begun() []string {
	return []string{"turn.started", "message 0 user", `part 0.0 text "hi" done`, "message 0 ended"}
}

func TestLaw143_queuedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.ask("t2", protocol.BusyQueue)
	r.look("queued", "admit t2", "ack: queued t2", "queued t2 at 1")
	r.ask("t3", protocol.BusyQueue)
	r.ask("t4", protocol.BusySteer)
	r.look("each at its place; a harness that cannot be steered has it wait",
		"admit t3", "ack: queued t3", "queued t3 at 2", "admit t4", "ack: queued t4", "queued t4 at 3")
	r.ask("t3", protocol.BusyQueue)
	r.ask("t3", "")
	r.look("asked for again", "ack: deduplicated t3 queued", "ack: deduplicated t3")
	r.stamped("t3")
	r.look("cancelled", "unqueued t3: cancelled", "reply: cancelled")
	r.wants("again, it has gone", r.stamped("t3"), "no_active_turn active t1")
	r.ask("t3", protocol.BusyQueue)
	r.forget()
	r.ends()
	r.look("its turn", append(append([]string{"turn.ended end_turn"}, begun()...), "stdin 1: prompt t2")...)
	r.cancel()
	if r.m.QueuedTurns() != 1 {
		t.Error("a cancel without a stamp leaves the queue alone")
	}
	r.says(harness.Registered{}, harness.Finished{Reason: protocol.StopCancelled})
	r.forget()
	r.says(harness.Finished{Reason: protocol.StopError, Error: &protocol.TurnError{Category: protocol.CategoryNetwork, Message: "gone"}})
	r.look("after the end of t4 nothing waits", "error network false: gone", "turn.ended error")
	r.wants("unqueued for good", r.ask("t3", protocol.BusyQueue), "deduplicated t3")
	r.done()
}

func TestLaw144_nextStartsWithTheEnd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(r *rig)
		want []string
	}{
		{"ends", func(r *rig) { r.ends() }, append([]string{"turn.ended end_turn"}, append(begun(), "stdin 1: prompt t2")...)},
		{"fails", func(r *rig) {
			r.says(harness.Rejected{Error: protocol.TurnError{Category: protocol.CategoryAuth, Message: "no"}})
		},
			append([]string{"error auth false: no", "turn.ended error"}, append(begun(), "stdin 1: prompt t2")...)},
		{"dies", func(r *rig) { r.exit(1, "bye") }, append([]string{
			"error process_exit false: the harness exited with status 1: bye", "turn.ended error"},
			append(begun(), `spawn 2 resume ""`, "stdin 2: prompt t2")...)},
		{"ignores its cancel", func(r *rig) { r.cancel(); r.forget(); r.after(10_000, "cancel-stop") },
			append([]string{"turn.ended cancelled"}, append(begun(), "reply: unconfirmed", "stop 1", `spawn 2 resume ""`, "stdin 2: prompt t2")...)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			r.ask("t2", protocol.BusyQueue)
			r.forget()
			tt.end(r)
			if tt.name == "ignores its cancel" {
				r.lines = withoutAck(r.lines)
				tt.want = withoutAck(tt.want)
			}
			r.look(tt.name, tt.want...)
			r.ends()
			r.done()
		})
	}
}

// withoutAck leaves out the lines of answers.
func withoutAck(lines []string) []string {
	var rest []string
	for _, l := range lines {
		if len(l) < 4 || l[:4] != "ack:" && l[:6] != "reply:" {
			rest = append(rest, l)
		}
	}
	return rest
}

// A turn that fails as it starts does not hold up those behind it.
func TestQueueOfTurnsThatCannotStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	other := func(c *protocol.RunConfig) { c.Model = new("m") }
	r.h.react = func(_ *scripted, in harness.Input) harness.Output {
		if _, is := in.(harness.Configure); is {
			return harness.Output{Process: harness.Restart}
		}
		return usual(in)
	}
	for i := 2; i < 5; i++ {
		r.ask("t"+strconv.Itoa(i), protocol.BusyQueue, other)
	}
	r.h.launchErr = errors.New("no such flag")
	r.ends()
	if _, open := r.m.Active(); open || r.m.QueuedTurns() != 0 {
		t.Errorf("%d turns wait", r.m.QueuedTurns())
	}
	r.done()
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t")
	for i := range 64 {
		r.wants("a place", r.ask("q"+strconv.Itoa(i), protocol.BusyQueue), "queued q"+strconv.Itoa(i))
	}
	r.forget()
	r.h.faults = []protocol.Fault{{Path: "config.cwd", Message: "no"}}
	r.wants("no place, before its faults", r.ask("more", protocol.BusyQueue), "error -32021")
	r.wants("no place for one to steer", r.ask("more", protocol.BusySteer), "error -32021")
	r.wants("rejected as ever", r.ask("more", protocol.BusyReject), "error -32002")
	r.stamped("q7")
	r.wants("a place, but faults", r.ask("more", protocol.BusyQueue), "error -32602")
	r.h.faults = nil
	r.wants("nothing was admitted", r.ask("more", protocol.BusyQueue), "queued more")
}

// Where nothing is busy all three words mean the same.
func TestIfBusyOnAnIdleSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, word := range []protocol.IfBusy{protocol.BusyReject, protocol.BusyQueue, protocol.BusySteer} {
		turn := "t" + strconv.Itoa(i)
		r.wants(string(word), r.ask(turn, word), "started "+turn)
		if res := r.answers[r.tokens][0].Result.(protocol.TurnStartResult); res.Disposition != protocol.Started {
			t.Errorf("disposition %q", res.Disposition)
		}
		r.ends()
	}
	r.start("plain")
	if res := r.answers[r.tokens][0].Result.(protocol.TurnStartResult); res.Disposition != "" {
		t.Errorf("disposition %q, and nobody asked", res.Disposition)
	}
}

// The input of what waits is in the log, its config is not.
func TestQueuedInputIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	out := r.step(session.StartTurn{
		TurnID: "t2", IfBusy: protocol.BusyQueue, Config: config(func(c *protocol.RunConfig) { c.APIKey = new("secret-key") }),
		Input: protocol.Input{Items: []protocol.InputItem{{Type: protocol.InputText, Text: "write this"}}},
	})
	want := `{"type":"turn.queued","sessionId":"s","turnId":"t2","position":1,"timestamp":1800000000000,"_meta":{"agent-server/input":[{"type":"text","text":"write this"}]}}`
	if diff := cmp.Diff(want, string(protocol.AppendEvent(nil, out.Events[0].Event))); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	out = r.stepOf(session.CancelTurn{TurnID: "t2"})
	want = `{"type":"turn.unqueued","sessionId":"s","turnId":"t2","reason":"cancelled","input":[{"type":"text","text":"write this"}],"timestamp":1800000000000}`
	if diff := cmp.Diff(want, string(protocol.AppendEvent(nil, out.Events[0].Event))); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

// stepOf is a step with a token of its own.
func (r *rig) stepOf(in session.CancelTurn) session.Output {
	r.t.Helper()
	in.Token = r.token()
	return r.step(in)
}

func TestShutdownUnqueues(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.ask("t2", protocol.BusyQueue)
	r.forget()
	r.step(session.Shutdown{Drain: 4_000})
	r.look("what waits will not run", "unqueued t2: shutdown")
	r.wants("no more", r.ask("t3", protocol.BusyQueue), "error -32003")
	r.forget()
	r.ends()
	r.look("the end", "turn.ended end_turn", "session.ended shutdown", "stop 1")
	r.done()
}

func TestCloseWithTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.ask("t2", protocol.BusyQueue)
	refused := r.token()
	r.step(session.Close{Token: refused})
	r.wants("without force", refused, "error -32002")
	r.forget()
	forced := r.token()
	r.step(session.Close{Token: forced, Force: true})
	r.look("with force", "unqueued t2: session_closed", "stdin 1: interrupt")
	again := r.token()
	r.step(session.Close{Token: again, Force: true})
	r.wants("a second close", again, "error -32005")
	r.wants("a start meanwhile", r.ask("t3", protocol.BusyQueue), "error -32005")
	r.wants("not yet", forced, "")
	r.forget()
	r.says(harness.Finished{Reason: protocol.StopCancelled}, harness.Woken{})
	r.look("once it is over", "turn.ended cancelled", "session.ended released", "reply: closed true", "stop 1")
	r.done()
}

// A forced close is bounded like a cancel, also where the harness cannot be
// interrupted yet, and a shutdown meanwhile does not change why the session ends.
func TestForcedCloseIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start("t1")
	forced := r.token()
	r.step(session.Close{Token: forced, Force: true})
	r.step(session.Shutdown{})
	r.forget()
	r.after(10_000, "cancel-stop")
	r.look("in ten seconds", "turn.ended cancelled", "session.ended released", "reply: closed true", "stop 1")
	r.done()
}

func TestForcedCloseOfAnIdleSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	forced := r.token()
	r.step(session.Close{Token: forced, Force: true})
	r.look("at once", "session.ended released", "reply: closed true")
}
