package session_test

import (
	"errors"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"

	"github.com/google/go-cmp/cmp"
)

// A whole turn, so that the order of everything is seen once in one place.
func TestHello(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start("t1")
	r.look("start",
		"admit t1", "ack: started t1",
		"turn.started", "message 0 user", `part 0.0 text "hi" done`, "message 0 ended",
		`spawn 1 resume ""`, "stdin 1: prompt t1")
	r.says(harness.Registered{}, harness.Created{NativeID: "n1"})
	r.says(harness.MessageOpened{Message: "m"}, harness.PartOpened{Part: "p", Kind: protocol.PartText})
	r.says(harness.TextAppended{Part: "p", Text: "hel"})
	r.says(harness.TextAppended{Part: "p", Text: "lo"})
	r.says(harness.PartSet{Part: "p", Value: &protocol.TextPart{Text: "hello", State: protocol.StateDone}}, harness.MessageClosed{})
	r.says(harness.Usage{Used: 7}, harness.Finished{Reason: protocol.StopEndTurn})
	r.look("turn",
		"session.created n1", "message 1 assistant", `part 1.0 text "" streaming`, `delta 1.0 "hel"`, `delta 1.0 "lo"`,
		`part 1.0 text "hello" done`, "message 1 ended", "usage 7", "turn.ended end_turn")
	r.start("t2")
	r.look("second turn",
		"admit t2", "ack: started t2",
		"turn.started", "message 0 user", `part 0.0 text "hi" done`, "message 0 ended", "session.created n1",
		"stdin 1: prompt t2")
	r.ends()
	r.done()
}

func TestLaw21_echoFirst(t *testing.T) {
	t.Parallel()
	failing := []struct {
		name  string
		setup func(*scriptedHarness)
	}{
		{"a turn that goes on", func(*scriptedHarness) {}},
		{"a harness that cannot be launched", func(h *scriptedHarness) { h.launchErr = errors.New("no flag for it") }},
		{"a harness that refuses at once", func(h *scriptedHarness) {
			h.react = func(*scripted, harness.Input) harness.Output {
				return harness.Output{Updates: []harness.Update{
					harness.Created{NativeID: "n"}, harness.Notice{Message: "early"},
					harness.Rejected{Error: protocol.TurnError{Category: protocol.CategoryAuth, Message: "log in"}}}}
			}
		}},
	}
	for _, tt := range failing {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			tt.setup(r.h)
			r.start("t1")
			r.lines = r.lines[:min(6, len(r.lines))]
			r.look("beginning", "admit t1", "ack: started t1",
				"turn.started", "message 0 user", `part 0.0 text "hi" done`, "message 0 ended")
		})
	}
}

func TestLaw22_seqContiguous(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *session.Options) { o.NextSeq = 41 })
	r.running("t1")
	r.ends()
	r.step(session.Close{Token: r.token()})
	if first, next := int64(41), r.m.NextSeq(); r.next != next || r.last.Events[0].Seq != next-1 || next <= first {
		t.Errorf("next seq %d, want %d", next, r.next)
	}
	if got := newRig(t).m.NextSeq(); got != 1 {
		t.Errorf("a new session begins at %d, want 1", got)
	}
}

func TestLaw24_admittedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	again := func(turn, input string) string {
		token := r.token()
		r.step(session.StartTurn{Token: token, TurnID: turn, Input: protocol.TextInput(input), Config: config()})
		if len(r.last.Events) != 0 || r.last.Admit != nil || r.last.Stdin != nil {
			t.Errorf("turn %s with input %q ran", turn, input)
		}
		return r.answer(token)
	}
	want := map[string]string{"hi": "deduplicated t1", "ho": "error -32006"}
	for input, answer := range want {
		if got := again("t1", input); got != answer {
			t.Errorf("while it runs, t1 with %q is answered %q, want %q", input, got, answer)
		}
	}
	r.ends()
	for input, answer := range want {
		if got := again("t1", input); got != answer {
			t.Errorf("after its end, t1 with %q is answered %q, want %q", input, got, answer)
		}
	}
	r.done()
}

// The record outlives the machine: the log gives it to the next one.
func TestAdmissionsOfAnEarlierLife(t *testing.T) {
	t.Parallel()
	first := newRig(t)
	first.start("t1")
	record := *first.last.Admit
	second := newRig(t, func(o *session.Options) { o.Admissions = []session.Admission{record}; o.NextSeq = first.next })
	if got := second.answer(second.start("t1")); got != "deduplicated t1" {
		t.Errorf("t1 is answered %q after a reuse of the session", got)
	}
	otherKey := newRig(t, func(o *session.Options) { o.HashKey = []byte("other") })
	otherKey.start("t1")
	if otherKey.last.Admit.Hash == record.Hash {
		t.Error("the hash does not depend on the key")
	}
}

func TestLaw25_endAdmitsTheNext(t *testing.T) {
	t.Parallel()
	ends := map[string]func(r *rig){
		"by the harness": func(r *rig) { r.ends() },
		"by its exit":    func(r *rig) { r.exit(1, "") },
		"by the ladder": func(r *rig) {
			r.cancel()
			r.after(5_000, "cancel-answer")
			r.after(5_000, "cancel-stop")
		},
		"rejected": func(r *rig) { r.says(harness.Rejected{}) },
		"by a spawn that fails": func(r *rig) {
			r.step(session.SpawnFailed{Gen: r.gen, Message: "no such file"})
		},
		"while the harness has itself stopped": func(r *rig) {
			r.line(harness.Output{Process: harness.Stop})
			r.ends()
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			end(r)
			if _, active := r.m.Active(); active {
				t.Fatal("the turn has not ended")
			}
			if got := r.answer(r.start("t2")); got != "started t2" {
				t.Errorf("the next turn is answered %q", got)
			}
			if len(r.last.Stdin) == 0 {
				t.Error("the next turn is not begun")
			}
		})
	}
}

func TestLaw45_checksInOrder(t *testing.T) {
	t.Parallel()
	// Each start breaks its own check and all later ones; the setup breaks none
	// before it.
	bad := func(id, turn, input string) session.StartTurn {
		return session.StartTurn{TurnID: turn, Input: protocol.TextInput(input),
			Faults:  []protocol.Fault{{Path: "config.cwd", Message: "is no directory"}},
			Refusal: protocol.ErrOverloaded("full", 1),
			Config:  config(func(c *protocol.RunConfig) { c.Harness = protocol.HarnessID(id) })}
	}
	room := func(in session.StartTurn) session.StartTurn { in.Refusal = nil; return in }
	open := func(r *rig) { r.running("t0") }
	tests := []struct {
		name  string
		setup func(*rig)
		start session.StartTurn
		want  string
	}{
		{"shutting down", func(r *rig) { open(r); r.step(session.Shutdown{Drain: 1000}) }, bad("acp", "t0", "ho"), "error -32003"},
		{"closing", func(r *rig) { r.step(session.Close{Token: r.token()}) }, bad("acp", "t0", "ho"), "error -32005"},
		{"bound to another harness", open, bad("acp", "t0", "ho"), "error -32602"},
		{"conflict", open, bad("claude-code", "t0", "ho"), "error -32006"},
		{"deduplicated", open, bad("claude-code", "t0", "hi"), "deduplicated t0"},
		{"busy", open, bad("claude-code", "t1", "hi"), "error -32002"},
		{"no room", func(*rig) {}, bad("claude-code", "t1", "hi"), "error -32021"},
		{"faults", func(*rig) {}, room(bad("claude-code", "t1", "hi")), "error -32602"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			tt.setup(r)
			tt.start.Token = r.token()
			r.step(tt.start)
			if got := r.answer(tt.start.Token); got != tt.want {
				t.Errorf("answered %q, want %q", got, tt.want)
			}
			if len(r.last.Events) > 0 {
				t.Error("a refused start has events")
			}
		})
	}
}

// A session that a base client sees as acp takes acp for its own harness.
func TestShownAsACP(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.h.id = protocol.HarnessDemo
	r.m = session.New(session.Options{SessionID: "s", Harness: r.h})
	if got := r.answer(r.start("t1", func(c *protocol.RunConfig) { c.Harness = protocol.HarnessACP })); got != "started t1" {
		t.Errorf("acp on a session of demo is answered %q", got)
	}
	if got := r.tr().launch.Config.Harness; got != protocol.HarnessDemo {
		t.Errorf("the harness is launched as %q", got)
	}
	r.ends()
	if got := r.answer(r.start("t2")); got != "error -32602" {
		t.Errorf("claude-code on a session of demo is answered %q", got)
	}
}

func TestFaultsAllAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *session.Options) { o.MaxPermissionMode = protocol.ModeAcceptEdits })
	r.h.faults = []protocol.Fault{{Path: "config.maxTurns", Message: "is not honoured"}}
	token := r.token()
	r.step(session.StartTurn{Token: token, TurnID: "t1", Faults: []protocol.Fault{{Path: "config.cwd", Message: "is no directory"}},
		Config: config(func(c *protocol.RunConfig) { c.PermissionMode = protocol.ModeBypassPermissions })})
	want := `[{"path":"config.cwd","message":"is no directory"},{"path":"config.maxTurns","message":"is not honoured"},` +
		`{"path":"config.permissionMode","message":"goes beyond what this server allows: accept_edits"}]`
	if got := string(r.answers[token][0].Err.Data); got != want {
		t.Errorf("faults\n%s\nwant\n%s", got, want)
	}
}

func TestPermissionModeCap(t *testing.T) {
	t.Parallel()
	modes := []protocol.PermissionMode{protocol.ModePlan, protocol.ModeDefault, protocol.ModeAcceptEdits, protocol.ModeDontAsk, protocol.ModeBypassPermissions}
	for limit, most := range modes {
		for asked, mode := range modes {
			r := newRig(t, func(o *session.Options) { o.MaxPermissionMode = most })
			refused := r.answer(r.start("t1", func(c *protocol.RunConfig) { c.PermissionMode = mode })) == "error -32602"
			if refused != (asked > limit) {
				t.Errorf("%s under a cap of %s: refused %v", mode, most, refused)
			}
		}
	}
	r := newRig(t, func(o *session.Options) { o.MaxPermissionMode = protocol.ModePlan })
	if got := r.answer(r.start("t1")); got != "error -32602" {
		t.Errorf("no mode under a cap of plan is answered %q", got)
	}
}

func TestLaw46_failureIsAnnounced(t *testing.T) {
	t.Parallel()
	broken := protocol.TurnError{Category: protocol.CategoryNetwork, Message: "no route"}
	tests := []struct {
		name string
		end  func(*rig)
		want protocol.TurnError
	}{
		{"finished", func(r *rig) { r.says(harness.Finished{Reason: protocol.StopError, Error: &broken}) }, broken},
		{"finished without saying why", func(r *rig) { r.says(harness.Finished{Reason: protocol.StopError}) },
			protocol.TurnError{Category: protocol.CategoryInternal, Message: "the harness ended the turn without saying why"}},
		{"a word that nobody knows", func(r *rig) { r.says(harness.Finished{Reason: "_odd", Error: &broken}) }, broken},
		{"no word at all", func(r *rig) { r.says(harness.Finished{Error: &broken}) }, broken},
		{"rejected", func(r *rig) { r.says(harness.Rejected{Error: broken}) }, broken},
		{"exit", func(r *rig) { r.exit(3, "first\nlast words\n\n") },
			protocol.TurnError{Category: protocol.CategoryProcessExit, Message: "the harness exited with status 3: last words"}},
		{"signal", func(r *rig) {
			r.step(session.Exited{Gen: r.gen, Status: harness.ExitStatus{Code: -1, Signal: "killed"}})
		}, protocol.TurnError{Category: protocol.CategoryProcessExit, Message: "the harness was ended by signal killed"}},
		{"spawn", func(r *rig) { r.step(session.SpawnFailed{Gen: r.gen, Message: "/bin/x: no such file"}) },
			protocol.TurnError{Category: protocol.CategoryProcessExit, Message: "/bin/x: no such file"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			r.says(harness.PartOpened{Part: "p", Kind: protocol.PartText}, harness.TextAppended{Part: "p", Text: "x"},
				harness.Asked{Request: "r", Name: "Bash"})
			r.forget()
			tt.end(r)
			events := r.last.Events
			announced := events[0].Event.(*protocol.ErrorEvent)
			ended := events[len(events)-1].Event.(*protocol.TurnEnded)
			if announced.Recoverable || announced.Category != tt.want.Category || announced.Message != tt.want.Message {
				t.Errorf("announced %+v, want %+v", announced, tt.want)
			}
			if diff := cmp.Diff(&tt.want, ended.Error); diff != "" {
				t.Errorf("error of the end (-want +got):\n%s", diff)
			}
			r.lines = r.lines[1 : len(events)-1]
			r.look("between them", `part 1.0 text "x" done`, "resolved cancelled", "message 1 ended")
		})
	}
}

// A clean end has no error, whatever the harness says beside it.
func TestCleanEndHasNoError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.Finished{Reason: protocol.StopRefusal, Raw: "refusal", Error: &protocol.TurnError{Message: "x"},
		Tokens: &protocol.TokenUsage{Input: 2}, Cost: new(0.5)})
	r.look("end", "turn.ended refusal")
	e := r.last.Events[0].Event.(*protocol.TurnEnded)
	if e.Error != nil || *e.FinishReason != "refusal" || e.Tokens.Input != 2 || *e.Cost != 0.5 {
		t.Errorf("end is %+v", e)
	}
}

func TestLaw23_everythingStartedEnds(t *testing.T) {
	t.Parallel()
	ends := map[string]struct {
		end       func(*rig)
		cancelled bool
	}{
		"end_turn": {func(r *rig) { r.ends() }, false},
		"exit":     {func(r *rig) { r.exit(0, "") }, false},
		"cancel": {func(r *rig) {
			r.cancel()
			r.says(harness.Finished{Reason: protocol.StopCancelled})
		}, true},
	}
	for name, tt := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			r.says(harness.PartOpened{Part: "a", Kind: protocol.PartReasoning}, harness.TextAppended{Part: "a", Text: "hm"},
				harness.ToolSet{Call: "c", Name: "Task"}, harness.PartOpened{Part: "b", Kind: protocol.PartText, Owner: "c"},
				harness.Compaction{Key: "k", Status: "in_progress"}, harness.Asked{Request: "r", Call: "c"})
			tt.end(r)
			status := "failed"
			if tt.cancelled {
				status = "cancelled"
			}
			seen := map[string]int{}
			for _, line := range r.lines {
				seen[line]++
			}
			for _, want := range []string{`part 1.0 reasoning "hm" done`, `part 2.0 text "" done`, "compaction " + status, "resolved cancelled", "message 1 ended", "message 2 ended"} {
				if seen[want] != 1 {
					t.Errorf("%q comes %d times in\n%q", want, seen[want], r.lines)
				}
			}
			r.done()
		})
	}
}

func TestLaw44_rawFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	raw := func(c *protocol.RunConfig) { c.IncludeRaw = new(true) }
	r.running("t1", raw)
	r.says(harness.PartOpened{Part: "p", Kind: protocol.PartText})
	r.says()
	r.tr().next = harness.Output{}
	r.step(session.NativeLine{Gen: r.gen, Line: []byte("banner")})
	r.look("with raw", "raw", "message 1 assistant", `part 1.0 text "" streaming`, "raw")
	r.ends()
	r.look("end", "raw", `part 1.0 text "" done`, "message 1 ended", "turn.ended end_turn")
	r.says()
	r.look("between turns")
	r.running("t2")
	r.says(harness.Usage{Used: 1})
	r.look("without", "usage 1")
}

// A line is the caller's again after the step.
func TestRawIsACopy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1", func(c *protocol.RunConfig) { c.IncludeRaw = new(true) })
	line := []byte(`{"a":1}`)
	out := r.step(session.NativeLine{Gen: r.gen, Line: line})
	line[2] = 'z'
	if got := string(out.Events[0].Event.(*protocol.Raw).Data); got != `{"a":1}` {
		t.Errorf("raw data is %s", got)
	}
}
