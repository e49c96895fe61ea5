package session_test

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"

	"github.com/google/go-cmp/cmp"
)

// steerable is a rig whose harness takes further prompts, with a turn that runs.
func steerable(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.h.steer = true
	r = &rig{
		t: t, h: r.h, m: session.New(session.Options{SessionID: "s", Harness: r.h, HashKey: []byte("key")}), now: epoch, next: 1,
		answers: r.answers, verify: r.verify, outputs: r.outputs,
	}
	r.running("t1")
	return r
}

func TestLaw145_steered(t *testing.T) {
	t.Parallel()
	r := steerable(t)
	r.says(opened("a"), harness.TextAppended{Part: "a", Text: "on"})
	r.forget()
	token := r.ask("t2", protocol.BusySteer)
	r.look("shown in the open turn", "admit t2", "ack: steered t2", "message 1 ended",
		"message 2 user", `part 2.0 text "hi" done`, "message 2 ended", "stdin 1: steer t2")
	want := []harness.Steer{{Turn: "t2", Input: protocol.TextInput("hi")}}
	if diff := cmp.Diff(want, heardOf[harness.Steer](r.tr())); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	part := r.last.Events[2].Event.(*protocol.MessagePart)
	if part.TurnID != "t1" || part.Part.Head().ID != "echo-t2-0" || part.MessageID != "echo-t2" {
		t.Errorf("the echo is %+v with head %+v", part, part.Part.Head())
	}
	r.wants("started", token, "steered t2")
	r.wants("again", r.ask("t2", protocol.BusySteer), "deduplicated t2 steered")
	r.wants("other content", r.ask("t2", protocol.BusySteer, func(c *protocol.RunConfig) { c.Model = new("m") }), "error -32006")
	r.wants("it is no turn", r.stamped("t2"), "no_active_turn active t1")
	r.forget()
	r.says(harness.TextAppended{Part: "a", Text: "e"}, harness.PartSet{Part: "b", Value: text("more", protocol.StateDone)})
	r.look("what streamed goes on in its place", `delta 1.0 "e"`, "message 3 assistant", `part 3.0 text "more" done`)
	r.ends()
	r.wants("after the end", r.ask("t2", protocol.BusySteer), "deduplicated t2 steered")
	if len(heardOf[harness.Steer](r.tr())) != 1 {
		t.Error("told more than once")
	}
	r.done()
}

func TestSteerWaitsWhereItCannot(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		before func(r *rig)
		change func(*protocol.RunConfig)
	}{
		{"another config", func(*rig) {}, func(c *protocol.RunConfig) { c.Model = new("m") }},
		{"another conversation", func(*rig) {}, func(c *protocol.RunConfig) { c.ResumeSessionID = new("n") }},
		{"being cancelled", func(r *rig) { r.cancel() }, nil},
		{"not registered", func(r *rig) { r.ends(); r.start("t0") }, nil},
		{"its process goes", func(r *rig) { r.line(harness.Output{Process: harness.Stop}) }, nil},
		{"a harness turn", func(r *rig) { r.ends(); r.says(harness.Woken{}) }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := steerable(t)
			tt.before(r)
			if tt.change == nil {
				tt.change = func(*protocol.RunConfig) {}
			}
			r.wants("queued instead", r.ask("t2", protocol.BusySteer, tt.change), "queued t2")
			if len(heardOf[harness.Steer](r.tr())) != 0 {
				t.Error("steered all the same")
			}
		})
	}
}
