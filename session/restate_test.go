package session_test

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
)

func TestLaw140_restatedIsHonest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	restated := func(what string, want int64) {
		t.Helper()
		if got := r.m.Restated(); got != want {
			t.Errorf("%s: every delta up to %d is restated, want %d", what, got, want)
		}
	}
	restated("nothing said", 0)
	r.running("t")
	restated("no delta", r.next-1)
	r.says(opened("a"), opened("b"))
	last := r.next - 1
	r.says(harness.TextAppended{Part: "a", Text: "1"})
	restated("a stands alone", last)
	r.says(harness.TextAppended{Part: "b", Text: "2"}, harness.TextAppended{Part: "a", Text: "3"})
	restated("both do", last)
	r.says(harness.PartSet{Part: "a", Value: &protocol.TextPart{Text: "13", State: protocol.StateDone}})
	restated("b does", last+1)
	r.says(harness.ToolSet{Call: "c", Name: "Bash"}, harness.InputAppended{Call: "c", Text: `{"a"`})
	r.says(harness.PartSet{Part: "b", Value: &protocol.TextPart{Text: "2", State: protocol.StateDone}})
	restated("the tool's input does", r.next-3)
	r.forget()
	r.ends()
	r.look("at the end of its turn nothing stands on deltas alone",
		"part 1.2 Bash pending", "message 1 ended", "turn.ended end_turn")
	restated("all over", r.next-1)
	r.done()
}

func TestLaw141_restatedInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *session.Options) { o.RestateAfter = 5_000 })
	r.running("t")
	r.says(opened("a"))
	r.now += 2_000
	r.says(harness.TextAppended{Part: "a", Text: "1"})
	if len(r.last.Timers) != 1 || r.last.Timers[0].At != epoch+5_000 {
		t.Fatalf("timers %v", r.last.Timers)
	}
	r.forget()
	r.after(3_000, "restate")
	r.look("five seconds after its last snapshot", `part 1.0 text "1" streaming`)
	r.now += 20_000
	r.says(harness.TextAppended{Part: "a", Text: "2"})
	r.look("after a long silence at once", `delta 1.0 "2"`, `part 1.0 text "12" streaming`)
	r.says(harness.TextAppended{Part: "a", Text: "3"})
	r.says(harness.PartSet{Part: "a", Value: &protocol.TextPart{State: protocol.StateDone}})
	if len(r.last.Timers) != 1 || r.last.Timers[0].At != 0 {
		t.Errorf("the clock runs on with nothing to restate: %v", r.last.Timers)
	}
	r.ends()
	r.done()
}

// Without the option no clock runs, however long something streams.
func TestRestatedByNoClock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t")
	r.says(opened("a"), harness.TextAppended{Part: "a", Text: "1"})
	if len(r.last.Timers) != 0 {
		t.Errorf("timers %v", r.last.Timers)
	}
}

func TestLaw142_restatedWhenDoubled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		open []harness.Update
		grow func(text string) harness.Update
	}{
		{"text", []harness.Update{opened("a")}, func(s string) harness.Update { return harness.TextAppended{Part: "a", Text: s} }},
		{"reasoning", []harness.Update{harness.PartOpened{Part: "a", Kind: protocol.PartReasoning}},
			func(s string) harness.Update { return harness.TextAppended{Part: "a", Text: s} }},
		{"tool input", []harness.Update{harness.ToolSet{Call: "c", Name: "Write"}},
			func(s string) harness.Update { return harness.InputAppended{Call: "c", Text: s} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t")
			r.says(tt.open...)
			var shown []int
			for n := range 300 {
				r.says(tt.grow(strings.Repeat("x", 1024)))
				if kinds := r.last.Events; len(kinds) == 2 && kinds[1].Event.Type() == protocol.TypeMessagePart {
					shown = append(shown, n+1)
					if r.m.Restated() != r.next-1 {
						t.Error("a full snapshot restates what was said")
					}
				}
			}
			if len(shown) != 3 || shown[0] != 65 || shown[1] != 130 || shown[2] != 260 {
				t.Errorf("shown whole at %v KiB", shown)
			}
			r.ends()
			r.done()
		})
	}
}
