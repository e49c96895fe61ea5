package session_test

import (
	"testing"

	"agent-server/harness"
	"agent-server/session"
)

// refused tells that the live process took nothing of what it was to be given.
func (r *rig) refused() session.Output {
	r.t.Helper()
	return r.step(session.WriteRefused{Gen: r.gen})
}

func TestLaw152_refusedPromptBegunAgainOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(harness.Created{NativeID: "n"})
	r.ends()
	r.start("t2")
	if !r.last.Prompt {
		t.Error("the output does not say that it holds the prompt")
	}
	r.forget()
	r.refused()
	r.look("begun again in another process", "stop 1", `spawn 2 resume "n"`, "stdin 2: prompt t2")
	r.exit(1, "gone")
	r.look("which may die like any other", "error process_exit false: the harness exited with status 1: gone", "turn.ended error")
	r.start("t3")
	r.refused()
	r.forget()
	r.refused()
	r.look("once only")
	r.exit(1, "")
	r.look("then the exit tells", "error process_exit false: the harness exited with status 1", "turn.ended error")
	r.done()
}

func TestRefusedWritesThatAreNoLostPrompt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		before func(r *rig)
		want   []string
	}{
		{"between turns", func(r *rig) { r.ends() }, nil},
		{"the harness has taken it up", func(*rig) {}, nil},
		{"a harness turn", func(r *rig) { r.ends(); r.says(harness.Woken{}) }, nil},
		{"an older process", func(r *rig) { r.exit(1, ""); r.forget() }, nil},
		{"being cancelled", func(r *rig) { r.ends(); r.start("t2"); r.cancel() }, []string{"turn.ended cancelled", "stop 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			tt.before(r)
			r.forget()
			r.refused()
			r.look(tt.name, tt.want...)
		})
	}
}

// Only the output that holds a prompt for a process that will be given it says so.
func TestPromptIsMarked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.h.react = unwritten
	r.start("t1")
	if r.last.Prompt {
		t.Error("a prompt that waits is marked")
	}
	r.line(harness.Output{Updates: []harness.Update{harness.PromptWritten{}}, Stdin: []byte("prompt\n")})
	if !r.last.Prompt {
		t.Error("the prompt is not marked")
	}
	r.says(harness.Registered{})
	if r.last.Prompt {
		t.Error("marked again")
	}
}
