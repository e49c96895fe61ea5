package session_test

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"

	"github.com/google/go-cmp/cmp"
)

// bash asks for one command.
var bash = harness.Asked{Request: "r1", Call: "c1", Name: "Bash", Kind: protocol.KindExecute, RawInput: protocol.Object(`{"command":"ls"}`)}

func TestPermissionShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(bash)
	r.look("the tool precedes its request", "message 1 assistant", "part 1.0 Bash pending", "ask Allow tool: Bash")
	got := r.last.Events[2].Event.(*protocol.PermissionRequested)
	want := &protocol.PermissionRequested{
		SessionID: "s", TurnID: "t1", RequestID: r.requests[0], Title: "Allow tool: Bash", Timestamp: epoch,
		ToolCall: &protocol.PermissionToolCall{ToolCallID: new("c1"), ToolName: "Bash", Kind: new(protocol.KindExecute), RawInput: protocol.Object(`{"command":"ls"}`)},
		Options: []protocol.PermissionOption{
			{OptionID: "allow", Name: "Allow", Kind: protocol.AllowOnce},
			{OptionID: "allow_always", Name: "Always allow", Kind: protocol.AllowAlways},
			{OptionID: "reject", Name: "Reject", Kind: protocol.RejectOnce},
			{OptionID: "reject_always", Name: "Always reject", Kind: protocol.RejectAlways},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(r.requests, r.m.PendingPermissions()); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	r.choose(0, "allow")
	r.look("answer", "resolved selected allow", "reply: accepted true", "stdin 1: resolve r1")
}

func TestPermissionTitles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		asked harness.Asked
		want  string
		// tool is whether the request names a tool call.
		tool bool
	}{
		{"given", harness.Asked{Request: "r", Name: "Bash", Title: "Run ls"}, "Run ls", true},
		{"by name", harness.Asked{Request: "r", Name: "Bash"}, "Allow tool: Bash", true},
		{"by the name of a known call", harness.Asked{Request: "r", Call: "known"}, "Allow tool: Edit", true},
		{"of no tool", harness.Asked{Request: "r"}, "Allow what the harness asks for", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			r.says(harness.ToolSet{Call: "known", Name: "Edit"})
			r.says(tt.asked)
			got := r.last.Events[len(r.last.Events)-1].Event.(*protocol.PermissionRequested)
			if got.Title != tt.want || (got.ToolCall != nil) != tt.tool {
				t.Errorf("title %q, tool call %+v", got.Title, got.ToolCall)
			}
			r.ends()
			r.done()
		})
	}
}

func TestLaw33_firstAnswerWins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(bash)
	r.forget()
	first, second := r.choose(0, "reject"), r.choose(0, "allow")
	r.look("two answers", "resolved selected reject", "reply: accepted true", "stdin 1: resolve r1", "reply: accepted false")
	if r.answer(first) != "accepted true" || r.answer(second) != "accepted false" {
		t.Errorf("answers %q, %q", r.answer(first), r.answer(second))
	}
	if got := heardOf[harness.Resolve](r.tr()); len(got) != 1 || got[0].Verdict.Decision != harness.Deny {
		t.Errorf("the harness heard %+v", got)
	}
	token := r.token()
	r.step(session.ResolvePermission{Token: token, RequestID: "unknown"})
	if got := r.answer(token); got != "accepted false" {
		t.Errorf("an unknown request is answered %q", got)
	}
	r.ends()
	r.done()
}

// What takes a request back leaves nothing to answer. The harness is told only
// where it goes on and nobody else tells it.
func TestPermissionTakenBack(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*rig){
		"withdrawn": func(r *rig) { r.says(harness.Withdrawn{Request: "r1"}) },
		"cancel":    func(r *rig) { r.cancel() },
		"end":       func(r *rig) { r.ends() },
		"exit":      func(r *rig) { r.exit(0, "") },
	}
	for name, take := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			r.says(bash)
			take(r)
			resolved, want := 0, "resolved cancelled"
			if name == "withdrawn" {
				// Nobody has cancelled the turn: the stream says who it was.
				want += ` meta {"agent-server/by":"harness"}`
			}
			for _, line := range r.lines {
				if line == want {
					resolved++
				}
			}
			if resolved != 1 {
				t.Errorf("resolved %d times in %q", resolved, r.lines)
			}
			if got := r.answer(r.choose(0, "allow")); got != "accepted false" {
				t.Errorf("an answer after that is %q", got)
			}
			var heard []harness.Resolve
			if name == "end" {
				heard = []harness.Resolve{{Request: "r1", Verdict: harness.Verdict{Decision: harness.CancelRequest, Message: "the turn is over"}}}
			}
			if diff := cmp.Diff(heard, heardOf[harness.Resolve](r.tr())); diff != "" {
				t.Errorf("the harness hears (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLaw34_noConsentByMistake(t *testing.T) {
	t.Parallel()
	own := []protocol.PermissionOption{
		{OptionID: "y", Kind: protocol.AllowOnce}, {OptionID: "odd", Kind: "_allow_project"}, {OptionID: "n", Kind: protocol.RejectOnce},
	}
	edited := protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: "allow", UpdatedInput: protocol.Object(`{"command":"rm"}`)}
	tests := []struct {
		name    string
		asked   func(*harness.Asked)
		outcome protocol.PermissionOutcome
		want    harness.Verdict
		shown   string
	}{
		{"not offered", func(*harness.Asked) {}, selected("yes"), harness.Verdict{}, "resolved selected yes"},
		{"not offered by the harness", func(a *harness.Asked) { a.Options = own }, selected("allow"), harness.Verdict{OptionID: "n"}, "resolved selected allow"},
		{"nothing offered to refuse with", func(a *harness.Asked) { a.Options = own[:1] }, selected("x"), harness.Verdict{Decision: harness.CancelRequest}, "resolved selected x"},
		{"a kind that nobody knows", func(a *harness.Asked) { a.Options = own }, selected("odd"), harness.Verdict{OptionID: "odd"}, "resolved selected odd"},
		{"cancelled", func(a *harness.Asked) {}, protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}, harness.Verdict{Decision: harness.CancelRequest}, `resolved cancelled meta {"agent-server/by":"client"}`},
		{"an edited input without a slot", func(*harness.Asked) {}, edited,
			harness.Verdict{Message: "The input was edited, and this tool cannot be given an edited input."},
			`resolved selected reject meta {"agent-server/by":"updatedInput-unsupported"}`},
		{"the same without an option to refuse with",
			func(a *harness.Asked) {
				a.Options = []protocol.PermissionOption{{OptionID: "allow", Kind: protocol.AllowOnce}}
			}, edited,
			harness.Verdict{Decision: harness.CancelRequest, Message: "The input was edited, and this tool cannot be given an edited input."},
			`resolved cancelled meta {"agent-server/by":"updatedInput-unsupported"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.running("t1")
			asked := bash
			tt.asked(&asked)
			r.says(asked)
			r.forget()
			r.respond(0, tt.outcome)
			if diff := cmp.Diff([]harness.Resolve{{Request: "r1", Verdict: tt.want}}, heardOf[harness.Resolve](r.tr())); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			r.look("shown", tt.shown, "reply: accepted true", "stdin 1: resolve r1")
		})
	}
}

// selected is the choice of an option.
func selected(option string) protocol.PermissionOutcome {
	return protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: option}
}

func TestUpdatedInputWithASlot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	asked := bash
	asked.InputSlot = true
	r.says(asked)
	o := selected("allow")
	o.UpdatedInput = protocol.Object(`{"command":"ls -l"}`)
	r.respond(0, o)
	want := harness.Verdict{Decision: harness.Allow, UpdatedInput: o.UpdatedInput}
	if diff := cmp.Diff(want, heardOf[harness.Resolve](r.tr())[0].Verdict); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(o, r.last.Events[0].Event.(*protocol.PermissionResolved).Outcome); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

// A standing rule answers unseen; the tool itself is still shown.
func TestStandingRuleIsSilent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(bash)
	r.choose(0, "allow_always")
	r.forget()
	again := bash
	again.Request, again.Call, again.RawInput = "r2", "c2", protocol.Object(`{ "command" : "ls" }`)
	r.says(again)
	r.look("the same again", "part 1.1 Bash pending", "stdin 1: resolve r2")
	heard := heardOf[harness.Resolve](r.tr())
	if got := heard[len(heard)-1].Verdict; got.Decision != harness.Allow {
		t.Errorf("verdict %+v", got)
	}
	r.ends()
	r.done()
}

// A request that a rule is answering is not shown, however often it is asked.
func TestAskedAgainBeforeTheRuleAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(bash)
	r.choose(0, "allow_always")
	again, nameless := bash, bash
	again.Request, nameless.Request, nameless.Name, nameless.Call = "r2", "r2", "", ""
	r.forget()
	r.says(again, nameless)
	r.look("asked twice", "stdin 1: resolve r2")
}

// A request that a rule has just answered and that is withdrawn in the same line
// is not answered any more.
func TestWithdrawnBeforeTheRuleAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running("t1")
	r.says(bash)
	r.choose(0, "allow_always")
	again := bash
	again.Request = "r2"
	r.says(again, harness.Withdrawn{Request: "r2"})
	if got := len(heardOf[harness.Resolve](r.tr())); got != 1 {
		t.Errorf("the harness heard %d answers", got)
	}
}

func TestLaw39_noHarnessWaits(t *testing.T) {
	t.Parallel()
	t.Run("asked between turns", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.running("t1")
		r.ends()
		r.forget()
		r.says(bash)
		r.look("between turns", "stdin 1: resolve r1")
		if got := heardOf[harness.Resolve](r.tr())[0].Verdict; got.Decision != harness.CancelRequest {
			t.Errorf("verdict %+v", got)
		}
	})
	t.Run("drained by a cancel that was never delivered", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.start("t1")
		r.says(bash)
		r.cancel()
		r.ends()
		if got := heardOf[harness.Resolve](r.tr()); len(got) != 1 || got[0].Verdict.Decision != harness.CancelRequest {
			t.Errorf("the harness heard %+v", got)
		}
	})
	t.Run("drained by a cancel that was", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.running("t1")
		r.says(bash)
		r.cancel()
		r.says(cancelledByHarness)
		if got := heardOf[harness.Resolve](r.tr()); len(got) != 0 {
			t.Errorf("the harness heard %+v", got)
		}
	})
	t.Run("asked twice", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		r.running("t1")
		r.says(bash)
		r.says(bash)
		if got := len(r.m.PendingPermissions()); got != 1 {
			t.Errorf("%d requests are open", got)
		}
		r.choose(0, "allow")
		if got := len(heardOf[harness.Resolve](r.tr())); got != 1 {
			t.Errorf("the harness heard %d answers", got)
		}
	})
}

// What a translator says on being answered is taken in too, and may ask again.
func TestAnswersComeOfAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.h.react = func(_ *scripted, in harness.Input) harness.Output {
		out := usual(in)
		if in, ok := in.(harness.Resolve); ok && in.Request == "r1" {
			next := bash
			next.Request, next.Call = "r2", "c2"
			out.Updates = []harness.Update{next}
		}
		return out
	}
	r.running("t1")
	r.says(bash)
	r.forget()
	r.choose(0, "allow")
	r.look("answer", "resolved selected allow", "part 1.1 Bash pending", "ask Allow tool: Bash", "reply: accepted true", "stdin 1: resolve r1")
}
