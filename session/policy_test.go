package session_test

import (
	"testing"

	"agent-server/broker"
	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"

	"github.com/google/go-cmp/cmp"
)

// policed is a rig with a policy and a turn that runs.
func policed(t *testing.T, rules ...broker.ToolRule) *rig {
	t.Helper()
	r := newRig(t, func(o *session.Options) { o.Policy = broker.ToolPolicy{Rules: rules} })
	r.running("t")
	return r
}

// wantAnswer checks what the harness was told last.
func (r *rig) wantAnswer(request string, want harness.Verdict) {
	r.t.Helper()
	heard := heardOf[harness.Resolve](r.tr())
	if len(heard) == 0 {
		r.t.Error("the harness was told nothing")
		return
	}
	if diff := cmp.Diff(harness.Resolve{Request: request, Verdict: want}, heard[len(heard)-1]); diff != "" {
		r.t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestLaw149_policyBeforeAnyone(t *testing.T) {
	t.Parallel()
	r := policed(t, broker.ToolRule{Tool: "Read", Ruling: broker.PolicyAllow}, broker.ToolRule{Path: "secret/*", Ruling: broker.PolicyDeny})
	r.says(harness.Asked{Request: "q1", Call: "c1", Name: "Read"})
	r.look("allowed", "message 1 assistant", "part 1.0 Read pending", "ask Allow tool: Read",
		`resolved selected allow meta {"agent-server/by":"policy"}`, "stdin 1: resolve q1")
	r.wantAnswer("q1", harness.Verdict{Decision: harness.Allow})
	r.says(harness.Asked{Request: "q2", Call: "c2", Name: "Edit", Locations: []protocol.Location{{Path: "secret/a"}}})
	r.look("denied", "part 1.1 Edit pending", "ask Allow tool: Edit",
		`resolved selected reject meta {"agent-server/by":"policy"}`, "stdin 1: resolve q2")
	r.wantAnswer("q2", harness.Verdict{Message: "The policy of this server denies it."})
	r.says(harness.Asked{Request: "q3", Call: "c3", Name: "Edit", RawInput: protocol.Object(`{"file_path":"b"}`)})
	r.look("asked", "part 1.2 Edit pending", "ask Allow tool: Edit")
	r.wants("what was decided cannot be answered", r.respond(0, protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}), "accepted false")
	r.over()
}

// A file that only the request's diff names is looked at.
func TestPolicySeesTheDiff(t *testing.T) {
	t.Parallel()
	r := policed(t, broker.ToolRule{Path: "secret/*", Ruling: broker.PolicyDeny}, broker.ToolRule{Ruling: broker.PolicyAllow})
	r.says(harness.Asked{Request: "q", Call: "c", Name: "edit", Files: []string{"secret/a"}})
	r.wantAnswer("q", harness.Verdict{Message: "The policy of this server denies it."})
	r.over()
}

// No answer makes of a call what the policy denies.
func TestPolicySeesTheEditedInput(t *testing.T) {
	t.Parallel()
	r := policed(t, broker.ToolRule{Path: "secret/*", Ruling: broker.PolicyDeny})
	edit := func(i int, file string) {
		r.says(harness.Asked{Request: file, Call: file, Name: "Write", InputSlot: true, RawInput: protocol.Object(`{"file_path":"a"}`)})
		r.forget()
		r.wants(file, r.respond(i, protocol.PermissionOutcome{
			Outcome: protocol.OutcomeSelected, OptionID: "allow", UpdatedInput: protocol.Object(`{"file_path":"` + file + `"}`),
		}), "accepted true")
	}
	edit(0, "secret/a")
	r.look("denied", `resolved selected reject meta {"agent-server/by":"policy"}`, "reply: accepted true", "stdin 1: resolve secret/a")
	r.wantAnswer("secret/a", harness.Verdict{Message: "The policy of this server denies it."})
	edit(1, "b")
	r.wantAnswer("b", harness.Verdict{Decision: harness.Allow, UpdatedInput: protocol.Object(`{"file_path":"b"}`)})
	r.over()
}

// What is known of the tool from before counts, and where the turn runs.
func TestPolicySeesTheTool(t *testing.T) {
	t.Parallel()
	r := policed(t, broker.ToolRule{Tool: "Write", Kind: protocol.KindEdit, Path: "/w/x/*", Ruling: broker.PolicyAllow})
	r.says(harness.ToolSet{Call: "c", Name: "Write", Kind: protocol.KindEdit, Locations: []protocol.Location{{Path: "x/a"}}})
	r.says(harness.Asked{Request: "q", Call: "c"})
	r.wantAnswer("q", harness.Verdict{Decision: harness.Allow})
	r.over()
}

// A user's own "never" outlives a policy that allows; a policy that denies outlives
// a user's "always".
func TestPolicyAndStandingRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		rule   broker.ToolRule
		choice string
		want   []string
	}{
		{"rejected for good, then allowed by policy", broker.ToolRule{Command: "ls", Ruling: broker.PolicyAllow}, "reject_always", []string{"stdin 1: resolve q2"}},
		{"allowed for good, then denied by policy", broker.ToolRule{Kind: protocol.KindRead, Ruling: broker.PolicyDeny}, "allow_always",
			[]string{"ask Allow tool: Bash", `resolved selected reject meta {"agent-server/by":"policy"}`, "stdin 1: resolve q2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := policed(t, tt.rule)
			r.says(harness.Asked{Request: "q1", Name: "Bash", Kind: protocol.KindExecute, RawInput: protocol.Object(`{"command":"x"}`)})
			r.choose(0, tt.choice)
			r.forget()
			u := harness.Asked{Request: "q2", Name: "Bash", Kind: protocol.KindRead, RawInput: protocol.Object(`{"command":"x"}`)}
			if tt.choice == "reject_always" {
				u.RawInput = protocol.Object(`{"command":"ls"}`)
			}
			r.says(u)
			r.look(tt.name, tt.want...)
			r.over()
		})
	}
}

// An allow that the harness has only a wider word for is asked.
func TestPolicyNeverAllowsMore(t *testing.T) {
	t.Parallel()
	r := policed(t, broker.ToolRule{Ruling: broker.PolicyAllow})
	r.says(harness.Asked{Request: "q", Name: "Bash", Options: []protocol.PermissionOption{{OptionID: "ever", Kind: protocol.AllowAlways}}})
	r.look("asked", "ask Allow tool: Bash")
	r.over()
}

func TestLaw150_timeoutRejectsOne(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *session.Options) { o.PermissionTimeout = 60_000 })
	r.running("t")
	r.says(harness.Asked{Request: "q1", Name: "Read"}, harness.Asked{Request: "q2", Name: "Edit"})
	r.says(harness.Asked{Request: "q3", Name: "Bash"})
	r.choose(1, "allow")
	if len(r.last.Timers) != 1 || r.last.Timers[0].At != 0 {
		t.Errorf("the clock of what was answered runs on: %+v", r.last.Timers)
	}
	r.forget()
	r.after(60_000, "permission "+r.requests[0])
	r.look("that one alone", `resolved selected reject meta {"agent-server/by":"timeout"}`, "stdin 1: resolve q1")
	r.wantAnswer("q1", harness.Verdict{Message: "Nobody has answered in time."})
	if open := r.m.PendingPermissions(); len(open) != 1 || open[0] != r.requests[2] {
		t.Errorf("open are %v", open)
	}
	r.wants("too late", r.choose(0, "allow"), "accepted false")
	r.ends()
	if last := r.last.Timers; len(last) == 0 || last[0].At != 0 {
		t.Errorf("the turn's end leaves a clock: %+v", last)
	}
	r.done()
}

func TestLaw151_nobodyThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *session.Options) { o.DenyWithoutClient = true })
	r.running("t")
	r.says(harness.Asked{Request: "q1", Name: "Read"})
	r.look("somebody is taken to be there", "ask Allow tool: Read")
	r.step(session.Clients{Present: true})
	r.look("and is")
	r.step(session.Clients{})
	r.look("gone", `resolved selected reject meta {"agent-server/by":"no-client"}`, "stdin 1: resolve q1")
	r.says(harness.Asked{Request: "q2", Name: "Read"})
	r.look("denied at once", "ask Allow tool: Read", `resolved selected reject meta {"agent-server/by":"no-client"}`, "stdin 1: resolve q2")
	r.wantAnswer("q2", harness.Verdict{Message: "Nobody is there to be asked."})
	r.step(session.Clients{Present: true})
	r.says(harness.Asked{Request: "q3", Name: "Read"})
	r.look("back", "ask Allow tool: Read")
	r.over()
}

// Without the option requests wait for whoever comes.
func TestNobodyThereWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t")
	r.says(harness.Asked{Request: "q1", Name: "Read"})
	r.step(session.Clients{})
	r.says(harness.Asked{Request: "q2", Name: "Read"})
	if n := len(r.m.PendingPermissions()); n != 2 {
		t.Errorf("%d requests are open", n)
	}
	r.over()
}
