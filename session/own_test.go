package session_test

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
)

// background is one task, started by call c.
var background = harness.Background{Tasks: []harness.Task{{ID: "b1", Call: "c", Description: "look around"}}}

// spoken is something that the task's sub-agent says.
func spoken(s string) harness.Update {
	return harness.PartSet{Part: s, Owner: "c", Value: &protocol.TextPart{Text: s, State: protocol.StateDone}}
}

// idling is a rig whose turn has ended and whose task runs on.
func idling(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.running("t1")
	r.says(harness.Created{NativeID: "n"}, harness.ToolSet{Call: "c", Name: "Task", State: &protocol.CompletedState{}}, background)
	r.ends()
	r.forget()
	return r
}

// ownStart is the start of a harness turn with an echo.
func ownStart(echo string, rest ...string) []string {
	return append([]string{"turn.started", "message 0 user", `part 0.0 text "` + echo + `" done`, "message 0 ended", "session.created n"}, rest...)
}

func TestLaw146_harnessTurns(t *testing.T) {
	t.Parallel()
	r := idling(t)
	r.says(spoken("hello"))
	r.look("a background message opens one", ownStart("look around", "message 1 assistant of c", `part 1.0 text "hello" done`)...)
	start := r.last.Events[0].Event.(*protocol.TurnStarted)
	if string(start.Meta) != `{"agent-server/origin":"harness"}` {
		t.Errorf("origin %s", start.Meta)
	}
	if id, _ := r.m.Active(); id != start.TurnID || r.m.Idle() {
		t.Error("it is not the open turn")
	}
	r.says(harness.ToolSet{Call: "d", Owner: "c", Name: "Read"})
	r.says(harness.Asked{Request: "q", Call: "d", Owner: "c", Name: "Read"})
	r.look("all it says goes there", "part 1.1 Read pending", "ask Allow tool: Read")
	r.says(harness.Background{})
	if len(r.last.Timers) != 0 {
		t.Error("it may end with a permission open")
	}
	r.choose(0, "allow")
	if len(r.last.Timers) != 1 || r.last.Timers[0].At != r.now+1000 {
		t.Errorf("timers %+v", r.last.Timers)
	}
	r.forget()
	r.after(1000, "quiet")
	r.look("a second after the last task", "message 1 ended", "turn.ended end_turn")
	r.done()
}

// What is late is not what a harness does of its own accord.
func TestHarnessTurnsAreNotOpenedByLateWork(t *testing.T) {
	t.Parallel()
	own := &protocol.TextPart{Text: "late", State: protocol.StateDone}
	for name, u := range map[string]harness.Update{
		"the main loop's text":       harness.PartSet{Part: "p", Value: own},
		"another sub-agent's":        harness.PartSet{Part: "p", Owner: "x", Value: own},
		"the main loop's permission": harness.Asked{Request: "q", Name: "Read"},
		"a tool of an ended turn":    harness.ToolSet{Call: "open", Owner: "c", State: &protocol.InProgressState{}},
		"its task ended":             harness.Background{},
	} {
		r := idling(t)
		r.running("t2")
		r.says(harness.ToolSet{Call: "open", Name: "Bash"})
		r.ends()
		r.says(u)
		if id, open := r.m.Active(); open {
			t.Errorf("%s opens turn %s", name, id)
		}
		r.done()
	}
}

// A task's sub-agent may have sub-agents; a task whose call nobody knows may speak
// as anybody.
func TestHarnessTurnsTrigger(t *testing.T) {
	t.Parallel()
	nested := func(r *rig) harness.Update {
		r.says(harness.ToolSet{Call: "d", Owner: "c", Name: "Task"})
		r.says(harness.Background{Tasks: append([]harness.Task{{ID: "b0", Call: "z", Description: "another"}}, background.Tasks...)})
		r.start("t3")
		r.ends()
		r.forget()
		return harness.PartOpened{Part: "p", Owner: "d", Kind: protocol.PartText}
	}
	tests := []struct {
		name string
		says func(r *rig) harness.Update
		want string
	}{
		{"its own", func(*rig) harness.Update { return harness.Asked{Request: "q", Owner: "c", Name: "Read"} }, "look around"},
		{"a sub-agent's sub-agent", nested, "look around"},
		{"no call known", func(r *rig) harness.Update {
			r.says(harness.Background{Tasks: []harness.Task{{ID: "b"}}})
			return harness.Asked{Request: "q", Owner: "x"}
		}, "background work"},
		{"the main loop", func(*rig) harness.Update { return harness.Woken{Trigger: "a timer"} }, "a timer"},
		{"the main loop, unsaid", func(*rig) harness.Update { return harness.Woken{} }, "background work"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := idling(t)
			u := tt.says(r)
			r.forget()
			r.says(u)
			if len(r.lines) < 3 || !strings.Contains(r.lines[2], `"`+tt.want+`"`) {
				t.Errorf("told %v", r.lines)
			}
		})
	}
}

// A main loop that woke ends the turn by its own word, and by nothing else.
func TestHarnessTurnOfTheMainLoop(t *testing.T) {
	t.Parallel()
	r := idling(t)
	r.says(spoken("a"), harness.Woken{Trigger: "it ended"}, harness.Background{})
	if len(r.last.Timers) != 0 {
		t.Errorf("timers %+v", r.last.Timers)
	}
	own, _ := r.m.Active()
	busy := r.ask("t2", "")
	r.wants("busy", busy, "error -32002")
	if !strings.Contains(string(r.answers[busy][0].Err.Data), own) {
		t.Errorf("the busy answer names %s", r.answers[busy][0].Err.Data)
	}
	r.ask("t2", protocol.BusyQueue)
	r.forget()
	r.says(harness.Finished{Reason: protocol.StopMaxTokens})
	r.look("by its own word", append([]string{"message 1 ended", "turn.ended max_tokens"},
		append(begun(), "session.created n", "stdin 1: prompt t2")...)...)
	r.ends()
	r.done()
}

// Without a main loop at work an end is nobody's.
func TestHarnessTurnHasNoOtherEnd(t *testing.T) {
	t.Parallel()
	r := idling(t)
	r.says(spoken("a"))
	r.forget()
	r.says(harness.Finished{Reason: protocol.StopEndTurn}, harness.Rejected{})
	r.look("nothing ends")
	if len(r.last.Diagnostics) != 2 {
		t.Errorf("diagnostics %+v", r.last.Diagnostics)
	}
}

func TestLaw147_takeover(t *testing.T) {
	t.Parallel()
	for _, word := range []protocol.IfBusy{"", protocol.BusyReject, protocol.BusyQueue, protocol.BusySteer} {
		r := idling(t)
		r.says(spoken("a"))
		r.h.faults = []protocol.Fault{{Path: "config.cwd", Message: "no"}}
		r.wants("refused", r.ask("t2", word), "error -32602")
		r.h.faults = nil
		if _, open := r.m.Active(); !open {
			t.Error("a turn that is refused takes nothing over")
		}
		r.forget()
		r.ask("t2", word)
		r.look("at once", append([]string{"admit t2", "ack: started t2", "message 1 ended", "turn.ended end_turn"},
			append(begun(), "session.created n", "stdin 1: prompt t2")...)...)
		r.says(spoken("b"))
		r.look("later lines go into the turn that is open", "message 1 assistant of c", `part 1.0 text "b" done`)
		r.ends()
		r.done()
	}
}

// With a permission open it is busy; a queued turn takes over once that is answered.
func TestTakeoverWaitsForAPermission(t *testing.T) {
	t.Parallel()
	r := idling(t)
	r.says(harness.Asked{Request: "q", Owner: "c", Name: "Read"})
	r.wants("busy", r.ask("t2", ""), "error -32002")
	r.wants("queued", r.ask("t3", protocol.BusyQueue), "queued t3")
	closed := r.token()
	r.step(session.Close{Token: closed})
	r.wants("a close is refused for the one that waits", closed, "error -32002")
	r.forget()
	r.choose(0, "allow")
	r.look("answered", append([]string{"resolved selected allow", "turn.ended end_turn"},
		append(begun(), "session.created n", "reply: accepted true", "stdin 1: resolve q\nprompt t3")...)...)
	r.over()
}

// over ends the turn that still runs, then all.
func (r *rig) over() {
	r.t.Helper()
	r.ends()
	r.done()
}

func TestHarnessTurnCancelled(t *testing.T) {
	t.Parallel()
	r := idling(t)
	r.says(spoken("a"))
	r.forget()
	token := r.cancel()
	r.look("the harness is told", "stdin 1: interrupt")
	r.wants("not yet", token, "")
	r.wants("no takeover of what is being cancelled", r.ask("t2", ""), "error -32002")
	r.forget()
	r.says(harness.Background{})
	r.look("over with its last task", "ack: cancelled", "message 1 ended", "turn.ended cancelled", "tasks 0")
	r.done()
}

// With no task left a cancel is over at once; what woke meanwhile is interrupted too.
func TestHarnessTurnCancelledLate(t *testing.T) {
	t.Parallel()
	r := idling(t)
	r.says(spoken("a"), harness.Background{})
	r.wants("at once", r.cancel(), "cancelled")
	r.says(background)
	r.says(spoken("b"))
	token := r.cancel()
	r.forget()
	r.says(harness.Woken{}, harness.Background{})
	r.look("interrupted again", "tasks 0", "stdin 1: interrupt")
	r.says(harness.Finished{Reason: protocol.StopCancelled})
	r.wants("by its own end", token, "cancelled")
	r.done()
}

func TestHarnessTurnClosed(t *testing.T) {
	t.Parallel()
	r := idling(t)
	r.says(spoken("a"), harness.Woken{})
	r.forget()
	token := r.token()
	r.step(session.Close{Token: token})
	r.look("ended with the session", "message 1 ended", "turn.ended cancelled", "tasks 0", "session.ended released", "reply: closed true", "stop 1")
	r.done()
}

// A process that goes takes its harness turn with it.
func TestHarnessTurnOfADeadProcess(t *testing.T) {
	t.Parallel()
	r := idling(t)
	r.says(spoken("a"))
	r.forget()
	r.exit(1, "")
	r.look("failed", "error process_exit false: the harness exited with status 1", "message 1 ended", "turn.ended error", "tasks 0")
	r.done()
}

func TestSessionInfo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	info := harness.SessionInfo{
		Title: new("a\xff"), Mode: new("plan"), Model: new("m"), Commands: []protocol.Object{},
		Modes: []protocol.Object{protocol.Object(`{"id":"plan"}`), protocol.Object("7")},
	}
	said := func(u harness.Update) string {
		t.Helper()
		out := r.says(u)
		if len(out.Events) == 0 {
			return ""
		}
		return string(protocol.AppendEvent(nil, out.Events[0].Event))
	}
	want := `{"type":"session.updated","sessionId":"s","title":"a�","mode":"plan","modes":[{"id":"plan"}],"commands":[],"model":"m","timestamp":1800000000000}`
	if got := said(info); got != want {
		t.Errorf("told %s", got)
	}
	if got := said(info); got != "" {
		t.Errorf("told again %s", got)
	}
	info.Mode, info.Model = new("default"), nil
	if got := said(info); got != `{"type":"session.updated","sessionId":"s","mode":"default","timestamp":1800000000000}` {
		t.Errorf("told %s", got)
	}
	if r.m.Title() != "a�" {
		t.Errorf("title %q", r.m.Title())
	}
	r.over()
}

// Who wants the native lines gets the one that opens a harness turn, too, once.
func TestHarnessTurnShowsItsLine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1", func(c *protocol.RunConfig) { c.IncludeRaw = new(true) })
	r.says(background, harness.Created{NativeID: "n"})
	r.forget()
	r.says(harness.Finished{Reason: protocol.StopEndTurn}, harness.Woken{})
	r.look("a line of two turns", "raw", "turn.ended end_turn", "turn.started", "message 0 user",
		`part 0.0 text "background work" done`, "message 0 ended", "session.created n")
	r.ends()
	r.forget()
	r.says(spoken("a"))
	r.look("a line that opens one", "turn.started", "message 0 user", `part 0.0 text "look around" done`, "message 0 ended",
		"raw", "session.created n", "message 1 assistant of c", `part 1.0 text "a" done`)
	r.cancel()
	r.says(harness.Background{})
	r.done()
}

// A harness turn in which somebody merely speaks lasts until its translator ends it,
// and makes room for a client's at once.
func TestLaw183_spokenTurnYields(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.Created{NativeID: "n"})
	r.ends()
	r.forget()
	say := func(s string) {
		r.says(harness.Woken{Yields: true}, harness.PartSet{Part: s, Value: &protocol.TextPart{Text: s, State: protocol.StateDone}})
	}
	say("late")
	r.look("it has a turn", ownStart("background work", "message 1 assistant", `part 1.0 text "late" done`)...)
	for _, timer := range r.last.Timers {
		if timer.ID.Name == "quiet" {
			t.Errorf("the machine keeps a clock on it: %+v", timer)
		}
	}
	r.ends()
	r.look("which its translator ends", "message 1 ended", "turn.ended end_turn")
	say("again")
	r.forget()
	r.start("t2")
	r.look("a client's turn takes its place", "admit t2", "ack: started t2", "message 1 ended", "turn.ended end_turn",
		"turn.started", `message 0 user`, `part 0.0 text "hi" done`, "message 0 ended", "session.created n", "stdin 1: prompt t2")
	r.ends()
	say("and again")
	r.cancel()
	r.forget()
	r.says(spoken("after that"))
	r.look("what is cancelled goes on nowhere")
	r.done()
}
