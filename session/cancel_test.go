package session_test

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"

	"github.com/google/go-cmp/cmp"
)

// cancelledByHarness is the harness's structural word.
var cancelledByHarness = harness.Finished{Reason: protocol.StopCancelled, Raw: "aborted_streaming"}

func TestLaw27_cancelledIsATerminalFact(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.PartOpened{Part: "p", Kind: protocol.PartText}, harness.TextAppended{Part: "p", Text: "x"}, harness.Asked{Request: "r", Name: "Bash"})
	r.forget()
	token := r.cancel()
	r.look("cancel", "resolved cancelled", "stdin 1: interrupt")
	if got := r.answer(token); got != "" {
		t.Fatalf("the cancel is answered %q before it has landed", got)
	}
	r.says(cancelledByHarness)
	r.look("end", `part 1.0 text "x" done`, "ack: cancelled", "message 1 ended", "turn.ended cancelled")
	r.done()
}

// The answer of a cancel that nothing but the end follows stands right before it.
func TestCancelAnswerWithNothingOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.cancel()
	r.forget()
	r.says(cancelledByHarness)
	r.look("end", "ack: cancelled", "turn.ended cancelled")
}

func TestCancelOutcomes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// end is what happens after the cancel of a registered turn.
		end        func(*rig)
		answer     string
		stopReason protocol.StopReason
	}{
		{"the harness confirms", func(r *rig) { r.says(cancelledByHarness) }, "cancelled", protocol.StopCancelled},
		{"the turn ends by itself", func(r *rig) { r.ends() }, "unconfirmed", protocol.StopEndTurn},
		{"the turn fails by itself", func(r *rig) { r.says(harness.Finished{Reason: protocol.StopError}) }, "unconfirmed", protocol.StopError},
		{"the harness refuses the turn", func(r *rig) { r.says(harness.Rejected{}) }, "unconfirmed", protocol.StopError},
		{"the process exits", func(r *rig) { r.exit(1, "") }, "cancelled", protocol.StopCancelled},
		{"the process is lost", func(r *rig) { r.step(session.SpawnFailed{Gen: r.gen}) }, "cancelled", protocol.StopCancelled},
		{"late confirmation", func(r *rig) {
			r.after(5_000, "cancel-answer")
			r.says(cancelledByHarness)
		}, "unconfirmed", protocol.StopCancelled},
		{"ignored", func(r *rig) {
			r.after(5_000, "cancel-answer")
			r.after(5_000, "cancel-stop")
		}, "unconfirmed", protocol.StopCancelled},
		{"ignored, clocks out of order", func(r *rig) { r.after(10_000, "cancel-stop") }, "unconfirmed", protocol.StopCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			token := r.cancel()
			tt.end(r)
			if got := r.answer(token); got != tt.answer {
				t.Errorf("answered %q, want %q", got, tt.answer)
			}
			ended, ok := r.last.Events[len(r.last.Events)-1].Event.(*protocol.TurnEnded)
			if !ok || ended.StopReason != tt.stopReason {
				t.Errorf("the turn ends with %+v, want %s", ended, tt.stopReason)
			}
			if got := r.answer(r.cancel()); got != "no_active_turn" {
				t.Errorf("a cancel after the end is answered %q", got)
			}
			r.done()
		})
	}
}

func TestLaw20_oneAnswer(t *testing.T) {
	t.Parallel()
	// Every start leaves three cancels waiting, or answered at once.
	starts := map[string]func(*rig){
		"registered": func(r *rig) { r.running("t1") },
		"latched":    func(r *rig) { r.start("t1") },
		"unwritten":  func(r *rig) { r.h.react = unwritten; r.start("t1") },
	}
	ends := map[string]func(*rig){
		"confirmed":   func(r *rig) { r.line(harness.Output{Updates: []harness.Update{cancelledByHarness}}) },
		"by itself":   func(r *rig) { r.ends() },
		"exit":        func(r *rig) { r.exit(1, "") },
		"answer time": func(r *rig) { r.after(5_000, "cancel-answer") },
		"stop time":   func(r *rig) { r.after(10_000, "cancel-stop") },
		"startup":     func(r *rig) { r.after(60_000, "startup") },
		"shutdown":    func(r *rig) { r.step(session.Shutdown{}); r.exit(0, "") },
	}
	for start, begin := range starts {
		for end, finish := range ends {
			t.Run(start+" "+end, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				begin(r)
				tokens := []session.Token{r.cancel(), r.cancel(), r.token()}
				r.step(session.CancelTurn{Token: tokens[2], TurnID: "t1"})
				finish(r)
				r.now += 100_000
				for _, name := range []string{"cancel-answer", "cancel-stop", "startup"} {
					r.after(0, name)
				}
				for i, token := range tokens {
					if len(r.answers[token]) != 1 {
						t.Errorf("cancel %d has %d answers", i, len(r.answers[token]))
					}
				}
				if _, active := r.m.Active(); active {
					t.Error("the turn is still open")
				}
			})
		}
	}
}

func TestCancelLatched(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start("t1")
	r.forget()
	first := r.cancel()
	r.look("cancel", "reply: unconfirmed")
	r.says(harness.Registered{})
	r.look("registered", "stdin 1: interrupt")
	second := r.cancel()
	r.look("a cancel while it is delivered")
	r.says(cancelledByHarness)
	r.look("end", "ack: cancelled", "turn.ended cancelled")
	if r.answer(first) != "unconfirmed" || r.answer(second) != "cancelled" {
		t.Errorf("answers %q and %q", r.answer(first), r.answer(second))
	}
	if got := len(heardOf[harness.Cancel](r.tr())); got != 1 {
		t.Errorf("the translator heard %d cancels", got)
	}
}

// A turn that ends in the very line that registers it is not interrupted: the
// interrupt would hit the next one.
func TestLatchedCancelOfAnEndedTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start("t1")
	r.cancel()
	r.says(harness.Registered{}, harness.Finished{Reason: protocol.StopEndTurn})
	if got := heardOf[harness.Cancel](r.tr()); len(got) != 0 {
		t.Error("the translator heard a cancel after the end")
	}
}

func TestLaw40_promptWrittenOnce(t *testing.T) {
	t.Parallel()
	t.Run("a cancelled prompt that was not written never is", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.h.react = unwritten
		r.start("t1")
		r.forget()
		r.cancel()
		r.look("cancel", "ack: unconfirmed", "turn.ended cancelled", "stop 1")
		r.step(session.NativeLine{Gen: 1, Line: []byte("ready")})
		r.look("the process is fenced off")
		r.h.react = nil
		r.start("t2")
		if got := r.last.StdinGen; got != 2 {
			t.Errorf("the next turn is begun in generation %d", got)
		}
	})
	t.Run("a restart begins a turn again only before its prompt was written", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.h.react = unwritten
		r.start("t1")
		r.forget()
		r.h.react = nil
		r.line(harness.Output{Process: harness.Restart})
		r.look("unwritten", "stop 1", `spawn 2 resume ""`, "stdin 2: prompt t1")
		r.line(harness.Output{Process: harness.Restart})
		r.look("written", "stop 2")
		r.exit(1, "")
		r.look("exit", "error process_exit false: the harness exited with status 1", "turn.ended error")
	})
}

func TestCancelStamps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stamped := func(turn string) string {
		token := r.token()
		r.step(session.CancelTurn{Token: token, TurnID: turn})
		return r.answer(token)
	}
	if got := stamped("t1"); got != "no_active_turn" {
		t.Errorf("with no turn: %q", got)
	}
	r.running("t1")
	if got := stamped("t0"); got != "no_active_turn active t1" {
		t.Errorf("stamped with another: %q", got)
	}
	if got := heardOf[harness.Cancel](r.tr()); len(got) != 0 {
		t.Error("a stamped cancel hit another turn")
	}
	stamped("t1")
	if got := heardOf[harness.Cancel](r.tr()); len(got) != 1 {
		t.Error("a cancel stamped with the open turn did not reach it")
	}
}

func TestLaw28_cancelIsBounded(t *testing.T) {
	t.Parallel()
	t.Run("an ignored interrupt", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.running("t1")
		r.cancel()
		want := []session.Timer{
			{ID: session.TimerID{Name: "cancel-answer"}, At: epoch + 5_000},
			{ID: session.TimerID{Name: "cancel-stop"}, At: epoch + 10_000},
		}
		if diff := cmp.Diff(want, r.last.Timers); diff != "" {
			t.Errorf("clocks (-want +got):\n%s", diff)
		}
		r.after(5_000, "cancel-answer")
		r.look("answer", "stdin 1: interrupt", "reply: unconfirmed")
		late := r.cancel()
		r.look("a cancel after that", "reply: unconfirmed")
		r.after(5_000, "cancel-stop")
		r.look("stop", "turn.ended cancelled", "stop 1")
		if r.answer(late) == "" {
			t.Error("the late cancel is not answered")
		}
	})
	t.Run("a harness that never registers", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.start("t1")
		r.cancel()
		r.forget()
		r.after(60_000, "startup")
		r.look("stop", "turn.ended cancelled", "stop 1")
	})
	t.Run("a latched cancel in a shutdown", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.start("t1")
		r.step(session.Shutdown{})
		r.forget()
		r.after(10_000, "cancel-stop")
		r.look("stop", "turn.ended cancelled", "session.ended shutdown", "stop 1")
	})
}

// The clocks stop with the turn: they must not hit the next one.
func TestClocksStopWithTheTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.cancel()
	r.says(cancelledByHarness)
	r.running("t2")
	r.after(10_000, "cancel-answer")
	r.after(0, "cancel-stop")
	r.after(60_000, "startup")
	r.look("old clocks")
	if turn, _ := r.m.Active(); turn != "t2" {
		t.Errorf("the open turn is %q", turn)
	}
}

// A timer that was moved may expire at its old time: it is set again, not lost.
func TestEarlyExpiry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.cancel()
	out := r.after(4_999, "cancel-answer")
	want := []session.Timer{{ID: session.TimerID{Name: "cancel-answer"}, At: epoch + 5_000}}
	if diff := cmp.Diff(want, out.Timers); diff != "" || len(out.Replies) > 0 {
		t.Errorf("early expiry (-want +got):\n%s", diff)
	}
	if out = r.after(1, "cancel-answer"); len(out.Replies) != 1 {
		t.Error("the timer is lost")
	}
}

func TestLaw26_noAskAfterCancel(t *testing.T) {
	t.Parallel()
	starts := map[string]func(*rig){
		"delivered": func(r *rig) { r.running("t1") },
		"latched":   func(r *rig) { r.start("t1") },
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			start(r)
			r.cancel()
			r.forget()
			r.says(harness.Asked{Request: "late", Call: "c", Name: "Bash"})
			r.look("a late ask", "stdin 1: resolve late")
			got := heardOf[harness.Resolve](r.tr())
			if len(got) != 1 || got[0].Verdict.Decision != harness.CancelRequest {
				t.Errorf("the harness heard %+v", got)
			}
		})
	}
}

// A standing rule does not open anything after a cancel either.
func TestNoStandingAllowAfterCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	ask := harness.Asked{Request: "r1", Name: "Bash", RawInput: protocol.Object(`{"a":1}`)}
	r.says(ask)
	r.choose(0, "allow_always")
	r.cancel()
	ask.Request = "r2"
	r.says(ask)
	got := heardOf[harness.Resolve](r.tr())
	if got[len(got)-1].Verdict.Decision != harness.CancelRequest {
		t.Errorf("the harness heard %+v", got)
	}
}
