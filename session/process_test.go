package session_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"

	"github.com/google/go-cmp/cmp"
)

func TestLaw29_staleGeneration(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.line(harness.Output{Timers: []harness.Timer{{Name: "mine", After: time.Second}}})
	r.exit(1, "")
	r.running("t2")
	before := r.m.NextSeq()
	heard := len(r.tr().heard)
	stale := map[string]session.Input{
		"spawned":      session.Spawned{Gen: 1},
		"spawn failed": session.SpawnFailed{Gen: 1},
		"line":         session.NativeLine{Gen: 1, Line: []byte("{}")},
		"dropped":      session.LineDropped{Gen: 1, Bytes: 1},
		"exit":         session.Exited{Gen: 1},
		"timer":        session.Deadline{Timer: session.TimerID{Gen: 1, Name: "mine"}},
		"a later one":  session.Exited{Gen: 3},
	}
	for name, in := range stale {
		r.tr().next = harness.Output{Updates: []harness.Update{harness.Usage{Used: 1}}}
		out := r.step(in)
		if len(out.Diagnostics) != 1 {
			t.Errorf("%s: %d diagnostics", name, len(out.Diagnostics))
		}
		out.Diagnostics = nil
		if diff := cmp.Diff(session.Output{}, out); diff != "" {
			t.Errorf("%s changes something:\n%s", name, diff)
		}
	}
	if r.m.NextSeq() != before || len(r.tr().heard) != heard || len(r.h.made[0].heard) != 2 {
		t.Error("a stale input was heard")
	}
	r.ends()
	r.done()
}

func TestLaw30_oneGeneration(t *testing.T) {
	t.Parallel()
	ways := map[string]struct {
		leave func(*rig)
		// stops is whether the process has to be stopped; else it is gone already.
		stops bool
	}{
		"exit":         {func(r *rig) { r.exit(0, "") }, false},
		"spawn failed": {func(r *rig) { r.step(session.SpawnFailed{Gen: r.gen}) }, false},
		"restart":      {func(r *rig) { r.line(harness.Output{Process: harness.Restart}); r.exit(0, "") }, true},
		"stop":         {func(r *rig) { r.line(harness.Output{Process: harness.Stop}); r.ends() }, true},
		"idle":         {func(r *rig) { r.ends(); r.after(300_000, "idle") }, true},
		"config":       {func(r *rig) { r.ends() }, true},
	}
	for name, tt := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.h.react = func(_ *scripted, in harness.Input) harness.Output {
				if _, configure := in.(harness.Configure); configure {
					return harness.Output{Process: harness.Restart, Stdin: []byte("useless\n")}
				}
				return usual(in)
			}
			r.running("t1")
			r.says(harness.Created{NativeID: "n1"})
			r.forget()
			tt.leave(r)
			r.start("t2", func(c *protocol.RunConfig) { c.Model = new("m2") })
			stops := 0
			for _, line := range r.lines {
				if line == "stop 1" {
					stops++
				}
			}
			if (stops == 1) != tt.stops {
				t.Errorf("generation 1 is stopped %d times", stops)
			}
			if r.last.Spawn == nil || r.last.Spawn.Gen != 2 || r.last.StdinGen != 2 || string(r.last.Stdin) != "prompt t2\n" {
				t.Errorf("the next turn spawns %+v and writes %q to %d", r.last.Spawn, r.last.Stdin, r.last.StdinGen)
			}
			if got := r.last.Spawn.Launch.Resume; got != "n1" {
				t.Errorf("it resumes %q", got)
			}
		})
	}
}

func TestLaw41_resumeIsHonest(t *testing.T) {
	t.Parallel()
	resume := func(c *protocol.RunConfig) { c.ResumeSessionID = new("old") }
	t.Run("a fresh session says nothing of it", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.running("t1")
		r.says(harness.Created{NativeID: "n1"}, harness.Created{NativeID: "n1"})
		r.look("created", "session.created n1")
	})
	t.Run("resumed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.running("t1", resume)
		r.says(harness.Created{NativeID: "old", Resumed: true})
		r.look("created", "session.created old resumed true")
		r.ends()
		r.start("t2", resume)
		r.lines = r.lines[len(r.lines)-2:]
		r.look("the second turn goes on", "session.created old", "stdin 1: prompt t2")
	})
	t.Run("not found", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.start("t1", resume)
		r.forget()
		r.says(harness.ResumeFailed{Message: "no conversation"})
		r.look("fallback", "stop 1", `spawn 2 resume ""`, "stdin 2: prompt t1")
		r.says(harness.Registered{}, harness.Created{NativeID: "n2"})
		r.look("created", "session.created n2 resumed false")
		r.ends()
		r.exit(0, "")
		r.start("t2", resume)
		if got := r.last.Spawn.Launch.Resume; got != "n2" {
			t.Errorf("the next process resumes %q", got)
		}
	})
	t.Run("not found on exit", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.h.react = func(tr *scripted, in harness.Input) harness.Output {
			if _, exited := in.(harness.Exited); exited && tr.launch.Resume != "" {
				return harness.Output{Updates: []harness.Update{harness.ResumeFailed{}}}
			}
			return usual(in)
		}
		r.start("t1", resume)
		r.forget()
		r.exit(1, "No conversation found")
		r.look("fallback", `spawn 2 resume ""`, "stdin 2: prompt t1")
	})
	t.Run("the fallback dies too", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.start("t1", resume)
		r.says(harness.ResumeFailed{})
		r.exit(1, "")
		r.running("t2")
		r.says(harness.Created{NativeID: "n3"})
		r.look("the loss is still told", "session.created n3 resumed false")
	})
	t.Run("in use elsewhere", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.start("t1", resume)
		r.forget()
		r.says(harness.ResumeFailed{InUse: true, Message: "pid 7"})
		r.look("error", "error invalid_request false: the native session is in use elsewhere: pid 7", "turn.ended error", "stop 1")
	})
	t.Run("lost between turns", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.start("t1", resume)
		r.ends()
		r.forget()
		r.says(harness.ResumeFailed{})
		r.look("process", "stop 1")
		r.running("t2")
		r.says(harness.Created{NativeID: "n4"})
		r.look("created", "session.created n4 resumed false")
	})
	t.Run("after an eviction", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.running("t1")
		r.says(harness.Created{NativeID: "n1"})
		r.ends()
		r.after(300_000, "idle")
		r.running("t2")
		r.says(harness.Created{NativeID: "n1", Resumed: true})
		r.lines = r.lines[len(r.lines)-1:]
		r.look("created", "session.created n1 resumed true")
	})
	t.Run("a conversation that was open is not replaced", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.running("t1", resume)
		r.says(harness.ResumeFailed{})
		r.look("error", "error internal false: the harness lost the conversation it was in", "turn.ended error", "stop 1")
	})
	t.Run("a cancelled turn is not begun again", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.start("t1", resume)
		r.cancel()
		r.forget()
		r.says(harness.ResumeFailed{})
		r.look("end", "turn.ended cancelled", "stop 1")
	})
}

func TestResumeSessionID(t *testing.T) {
	t.Parallel()
	resume := func(id, at string) func(*protocol.RunConfig) {
		return func(c *protocol.RunConfig) {
			c.ResumeSessionID = &id
			if at != "" {
				c.ResumeSessionAt = &at
			}
		}
	}
	nothing := func(*protocol.RunConfig) {}
	tests := []struct {
		name   string
		first  func(*protocol.RunConfig)
		second func(*protocol.RunConfig)
		// resume and at are what the second turn's process is launched with; live
		// is true where it stays in the first turn's.
		resume, at string
		live       bool
	}{
		{"none", nothing, nothing, "", "", true},
		{"the same again", resume("old", ""), resume("old", ""), "", "", true},
		{"the same with a place", resume("old", ""), resume("old", "5"), "", "", true},
		{"another", resume("old", ""), resume("other", ""), "other", "", false},
		{"another with a place", resume("old", ""), resume("other", "5"), "other", "5", false},
		{"first given later", nothing, resume("old", ""), "old", "", false},
		{"its own id", nothing, resume("n1", ""), "", "", true},
		{"its own id with a place", nothing, resume("n1", "5"), "n1", "5", false},
		{"not given any more", resume("old", ""), nothing, "", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1", tt.first)
			r.says(harness.Created{NativeID: "n1"})
			r.ends()
			r.start("t2", tt.second)
			if tt.live {
				if r.last.Spawn != nil || r.last.Stop != nil {
					t.Errorf("process replaced by %+v", r.last.Spawn)
				}
				return
			}
			if r.last.Spawn == nil || r.last.Stop == nil {
				t.Fatal("the process stays")
			}
			if l := r.last.Spawn.Launch; l.Resume != tt.resume || l.ResumeAt != tt.at || l.NativeID != "" {
				t.Errorf("launched with %+v", l)
			}
		})
	}
}

// What was asked for is not lost with a process that dies before it said so.
func TestResumeSurvivesACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cfg := func(c *protocol.RunConfig) { c.ResumeSessionID, c.ResumeSessionAt = new("old"), new("5") }
	r.start("t1", cfg)
	r.exit(1, "")
	r.start("t2", cfg)
	if l := r.last.Spawn.Launch; l.Resume != "old" || l.ResumeAt != "5" {
		t.Errorf("launched with %+v", l)
	}
}

func TestFreshNativeIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start("t1")
	first := r.last.Spawn.Launch.NativeID
	r.exit(1, "")
	r.start("t2")
	if second := r.last.Spawn.Launch.NativeID; first == "" || second == "" || first == second {
		t.Errorf("native ids %q and %q", first, second)
	}
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.ends()
	r.forget()
	r.start("t2", func(c *protocol.RunConfig) { c.IncludeRaw = new(true) })
	if got := heardOf[harness.Configure](r.tr()); len(got) != 0 {
		t.Errorf("configured for what the harness does not see: %+v", got)
	}
	r.ends()
	r.start("t3", func(c *protocol.RunConfig) { c.Model = new("m2") })
	if got := string(r.last.Stdin); got != "configure\nprompt t3\n" {
		t.Errorf("stdin %q", got)
	}
	r.ends()
	r.start("t4", func(c *protocol.RunConfig) { c.Model = new("m2") })
	configured := heardOf[harness.Configure](r.tr())
	if len(configured) != 1 || configured[0].Old.Model != nil || *configured[0].New.Model != "m2" {
		t.Errorf("configured with %+v", configured)
	}
}

// What a harness says on being configured may end the turn, or replace the
// process; the turn is then not begun a second time.
func TestConfigureThatDecides(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		says   harness.Update
		begins int
	}{
		{"rejected", harness.Rejected{}, 1},
		{"resume failed", harness.ResumeFailed{}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.h.react = func(_ *scripted, in harness.Input) harness.Output {
				if _, configure := in.(harness.Configure); configure {
					return harness.Output{Updates: []harness.Update{tt.says}}
				}
				return usual(in)
			}
			r.start("t1", func(c *protocol.RunConfig) { c.ResumeSessionID = new("old") })
			r.ends()
			r.start("t2", func(c *protocol.RunConfig) { c.Model = new("m2") })
			begins := 0
			for _, tr := range r.h.made {
				begins += len(heardOf[harness.Begin](tr))
			}
			if begins != tt.begins {
				t.Errorf("begun %d times, want %d", begins, tt.begins)
			}
		})
	}
}

func TestLaunchError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.h.launchErr = errors.New("no such flag")
	r.start("t1")
	r.lines = r.lines[6:]
	r.look("failure", "error invalid_request false: no such flag", "turn.ended error")
}

// A harness that asks for one restart after another is not given them for ever.
func TestRestartsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.h.react = func(_ *scripted, in harness.Input) harness.Output {
		if _, begin := in.(harness.Begin); begin {
			return harness.Output{Process: harness.Restart}
		}
		return harness.Output{}
	}
	r.start("t1")
	r.lines = r.lines[6:]
	r.look("failure", "error internal false: the harness asked for one restart after another", "turn.ended error")
	if len(r.h.made) > 5 {
		t.Errorf("%d processes", len(r.h.made))
	}
}

// A process that gives up in the very step that asks for it is never started, so
// its turn must not wait for its exit.
func TestStopBeforeTheStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.h.react = func(*scripted, harness.Input) harness.Output { return harness.Output{Process: harness.Stop} }
	r.start("t1")
	r.lines = r.lines[6:]
	r.look("failure", "error internal false: the harness gave up before it was started", "turn.ended error")
	r.done()
}

// What the process before had open ends with it.
func TestRestartEndsWhatWasOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.h.react = unwritten
	r.start("t1")
	r.says(harness.PartOpened{Part: "p", Kind: protocol.PartText}, harness.Asked{Request: "r"})
	r.forget()
	r.line(harness.Output{Process: harness.Restart})
	r.look("restart", `part 1.0 text "" done`, `resolved cancelled meta {"agent-server/by":"harness"}`, "message 1 ended", "stop 1", `spawn 2 resume ""`)
	r.says(harness.PartOpened{Part: "p", Kind: protocol.PartText}, harness.Asked{Request: "r"})
	r.look("keys begin anew", "message 2 assistant", `part 2.0 text "" streaming`, "ask Allow what the harness asks for")
	r.ends()
	r.done()
}

// The translator speaks first when its process ends.
func TestExitThatIsAnEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.h.react = func(_ *scripted, in harness.Input) harness.Output {
		if _, exited := in.(harness.Exited); exited {
			return harness.Output{Updates: []harness.Update{harness.Finished{Reason: protocol.StopEndTurn}}, Stdin: []byte("into nothing\n")}
		}
		return usual(in)
	}
	r.running("t1")
	r.exit(0, "")
	r.look("end", "turn.ended end_turn")
}

func TestTranslatorTimers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.line(harness.Output{Timers: []harness.Timer{{Name: "a", After: 1500 * time.Millisecond}, {Name: "b", After: time.Microsecond}}})
	want := []session.Timer{
		{ID: session.TimerID{Gen: 1, Name: "a"}, At: epoch + 1500},
		{ID: session.TimerID{Gen: 1, Name: "b"}, At: epoch + 1},
	}
	if diff := cmp.Diff(want, r.last.Timers); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	r.now += 1
	r.step(session.Deadline{Timer: want[1].ID})
	if diff := cmp.Diff([]harness.Expired{{Timer: "b"}}, heardOf[harness.Expired](r.tr())); diff != "" {
		t.Errorf("expired (-want +got):\n%s", diff)
	}
	r.exit(0, "")
	if diff := cmp.Diff(session.Timer{ID: want[0].ID}, r.last.Timers[len(r.last.Timers)-1]); diff != "" {
		t.Errorf("stopped with the process (-want +got):\n%s", diff)
	}
}

func TestDroppedLine(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.step(session.LineDropped{Gen: r.gen, Bytes: 99})
	if diff := cmp.Diff([]harness.Dropped{{Bytes: 99}}, heardOf[harness.Dropped](r.tr())); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}

func TestLaw43_evictOnlyIdle(t *testing.T) {
	t.Parallel()
	idle := session.TimerID{Name: "idle"}
	r := newRig(t)
	r.running("t1")
	r.after(400_000, "idle")
	r.look("during a turn")
	r.says(harness.Background{Tasks: []harness.Task{{ID: "b"}}})
	r.ends()
	r.forget()
	if r.m.Idle() || r.m.BackgroundTasks() != 1 {
		t.Error("a session with a background task is idle")
	}
	r.after(400_000, "idle")
	r.look("with a background task")
	r.says(harness.Background{})
	if diff := cmp.Diff([]session.Timer{{ID: idle, At: r.now + 300_000}}, r.last.Timers); diff != "" {
		t.Errorf("clock (-want +got):\n%s", diff)
	}
	r.after(300_000, "idle")
	r.look("idle", "tasks 0", "stop 1")
	if r.m.Phase() != session.PhaseIdle || r.m.Generation() != 0 {
		t.Error("the session did not stay")
	}
	r.start("t2")
	if len(r.last.Timers) != 0 {
		t.Errorf("timers %+v", r.last.Timers)
	}
}

func TestIdleTimeoutOption(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[int64]int64{0: 300_000, 7: 7, -1: 0} {
		r := newRig(t, func(o *session.Options) { o.IdleTimeout = timeout })
		r.running("t1")
		r.ends()
		var at int64
		for _, timer := range r.last.Timers {
			at = timer.At - r.now
		}
		if at != want {
			t.Errorf("timeout %d sets the clock to %d, want %d", timeout, at, want)
		}
	}
}

func TestLaw42_endedIsTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	refused := r.token()
	r.step(session.Close{Token: refused})
	if got := r.answer(refused); got != "error -32002" {
		t.Errorf("close during a turn is answered %q", got)
	}
	r.ends()
	r.forget()
	r.step(session.Close{Token: r.token()})
	r.look("close", "session.ended released", "reply: closed true", "stop 1")
	if !r.last.Ended || r.m.Phase() != session.PhaseClosing {
		t.Errorf("ended %v, phase %v", r.last.Ended, r.m.Phase())
	}
	late := map[string]session.Input{
		"error -32005":   session.Close{Token: r.token()},
		"no_active_turn": session.CancelTurn{Token: r.token()},
		"accepted false": session.ResolvePermission{Token: r.token()},
	}
	for want, in := range late {
		if out := r.step(in); len(out.Events) > 0 || answerText(out.Replies[0]) != want {
			t.Errorf("%T after the end: %+v", in, out)
		}
	}
	r.forget()
	r.says(harness.Created{NativeID: "n"}, harness.Asked{Request: "r"})
	r.step(session.Shutdown{})
	r.step(session.Exited{Gen: 1})
	r.look("after the end")
	if r.m.Phase() != session.PhaseClosed {
		t.Errorf("phase %v after the exit", r.m.Phase())
	}
}

func TestCloseWithoutAProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.step(session.Close{Token: r.token()})
	r.look("close", "session.ended released", "reply: closed true")
	if r.m.Phase() != session.PhaseClosed {
		t.Errorf("phase %v", r.m.Phase())
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.step(session.Shutdown{Drain: 1000})
		r.look("end", "session.ended shutdown")
	})
	t.Run("a turn finishes in time", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.running("t1")
		r.step(session.Shutdown{Drain: 1000})
		r.look("drain")
		r.ends()
		r.look("end", "turn.ended end_turn", "session.ended shutdown", "stop 1")
		r.done()
	})
	t.Run("a turn does not", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.running("t1")
		r.step(session.Shutdown{Drain: 1000})
		r.after(1000, "drain")
		r.look("cancel", "stdin 1: interrupt")
		r.says(cancelledByHarness)
		r.look("end", "turn.ended cancelled", "session.ended shutdown", "stop 1")
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.running("t1")
		r.step(session.Shutdown{Drain: 1000})
		r.step(session.Shutdown{})
		r.look("cancel", "stdin 1: interrupt")
	})
}

func TestExitTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 400)
	for stderr, want := range map[string]string{
		"":                 "",
		"one":              ": one",
		"one\n two \n\n":   ": two",
		"bad \xff bytes":   ": bad  bytes",
		"first\n" + long:   ": " + strings.Repeat("é", 250),
		"x\n" + long + "é": ": " + strings.Repeat("é", 250),
	} {
		r := newRig(t)
		r.running("t1")
		r.exit(2, stderr)
		got := r.last.Events[len(r.last.Events)-1].Event.(*protocol.TurnEnded).Error.Message
		if got != "the harness exited with status 2"+want {
			t.Errorf("stderr %.20q gives %q", stderr, got)
		}
	}
}

func TestWhatIsKnownFromOutside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if r.m.Harness() != protocol.HarnessClaudeCode || r.m.NativeID() != "" || r.m.Phase() != session.PhaseIdle || !r.m.Idle() || r.m.Processes() != 0 {
		t.Error("a new session knows too much")
	}
	r.running("t1")
	r.says(harness.Created{NativeID: "n1"})
	if r.m.NativeID() != "n1" || r.m.Phase() != session.PhaseRunning || r.m.Idle() || r.m.Processes() != 1 || r.m.Generation() != 1 {
		t.Error("a running session knows too little")
	}
	r.cancel()
	r.after(10_000, "cancel-stop")
	r.start("t2")
	if r.m.Processes() != 2 || r.m.Generation() != 2 || r.m.BackgroundTasks() != 0 {
		t.Errorf("%d processes, generation %d", r.m.Processes(), r.m.Generation())
	}
	r.step(session.Exited{Gen: 1})
	if r.m.Processes() != 1 {
		t.Errorf("%d processes after the exit of one", r.m.Processes())
	}
}

// A process that dies idle, before it was given the next turn's prompt, has that
// turn begun again in another, once; one that has never served is not tried again.
func TestLaw184_diedIdleIsBegunAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.Created{NativeID: "n"})
	r.ends()
	r.h.react = unwritten
	r.start("t2")
	r.forget()
	r.exit(1, "gone")
	r.look("begun again", `spawn 2 resume "n"`)
	r.exit(1, "gone")
	r.look("once", "error process_exit false: the harness exited with status 1: gone", "turn.ended error")
	r.start("t3")
	r.forget()
	r.exit(1, "of its own start")
	r.look("not one that never served", "error process_exit false: the harness exited with status 1: of its own start", "turn.ended error")
	r.done()
}
