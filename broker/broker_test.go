package broker_test

import (
	"testing"

	"agent-server/broker"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// ours is a request with our four options, theirs one with the harness's own.
func ours(id string) broker.Request {
	return broker.Request{ID: id, Key: "key-" + id, Tool: "Bash", RawInput: protocol.Object(`{"command":"ls"}`), Options: broker.DefaultOptions()}
}

func theirs(id string, options ...protocol.PermissionOption) broker.Request {
	r := ours(id)
	r.Options, r.Own = options, true
	return r
}

func option(id string, kind protocol.PermissionKind) protocol.PermissionOption {
	return protocol.PermissionOption{OptionID: id, Kind: kind}
}

func selected(id string) protocol.PermissionOutcome {
	return protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: id}
}

func TestDefaultOptions(t *testing.T) {
	t.Parallel()
	want := []protocol.PermissionOption{
		{OptionID: "allow", Name: "Allow", Kind: "allow_once"},
		{OptionID: "allow_always", Name: "Always allow", Kind: "allow_always"},
		{OptionID: "reject", Name: "Reject", Kind: "reject_once"},
		{OptionID: "reject_always", Name: "Always reject", Kind: "reject_always"},
	}
	got := broker.DefaultOptions()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	got[0].OptionID = "changed"
	if broker.DefaultOptions()[0].OptionID != "allow" {
		t.Error("the options are shared")
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	full := theirs("r", option("yes", "allow_once"), option("ever", "allow_always"), option("no", "reject_once"), option("never", "reject_always"), option("odd", "_odd"))
	narrow := full
	narrow.Always = true
	ourNarrow := ours("r")
	ourNarrow.Always = true
	tests := []struct {
		name    string
		request broker.Request
		choice  string
		want    broker.Verdict
	}{
		{"allow", ours("r"), "allow", broker.Verdict{Decision: broker.Allow}},
		{"allow always, kept here", ours("r"), "allow_always", broker.Verdict{Decision: broker.Allow}},
		{"allow always, kept by the harness", ourNarrow, "allow_always", broker.Verdict{Decision: broker.AllowAlways}},
		{"reject", ours("r"), "reject", broker.Verdict{}},
		{"reject always", ourNarrow, "reject_always", broker.Verdict{}},
		{"own allow", full, "yes", broker.Verdict{Decision: broker.Allow, OptionID: "yes"}},
		{"own always, kept here: its once", full, "ever", broker.Verdict{Decision: broker.Allow, OptionID: "yes"}},
		{"own always, kept by the harness", narrow, "ever", broker.Verdict{Decision: broker.AllowAlways, OptionID: "ever"}},
		{"own always without a once", theirs("r", option("ever", "allow_always")), "ever", broker.Verdict{Decision: broker.Allow, OptionID: "ever"}},
		{"own reject", full, "no", broker.Verdict{OptionID: "no"}},
		{"own reject always, kept here: its once", full, "never", broker.Verdict{OptionID: "no"}},
		{"own reject always, kept by the harness", narrow, "never", broker.Verdict{OptionID: "never"}},
		{"own option of an odd kind", full, "odd", broker.Verdict{OptionID: "odd"}},
		{"not offered", ours("r"), "maybe", broker.Verdict{}},
		{"not offered: own refusal", full, "maybe", broker.Verdict{OptionID: "no"}},
		{"not offered: the next best refusal", theirs("r", option("never", "reject_always")), "maybe", broker.Verdict{OptionID: "never"}},
		{"not offered: nothing to refuse with", theirs("r", option("yes", "allow_once")), "maybe", broker.Verdict{Decision: broker.Cancel}},
		{"nothing offered at all", theirs("r"), "maybe", broker.Verdict{Decision: broker.Cancel}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b broker.Broker
			b.Open(tt.request)
			got, ok := b.Resolve("r", selected(tt.choice))
			if !ok {
				t.Fatal("not resolved")
			}
			if diff := cmp.Diff(tt.want, got.Verdict); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(selected(tt.choice), got.Shown); diff != "" || got.By != "" {
				t.Errorf("shown by %q (-want +got):\n%s", got.By, diff)
			}
		})
	}
}

func TestCancelledOutcome(t *testing.T) {
	t.Parallel()
	var b broker.Broker
	b.Open(ours("r"))
	got, _ := b.Resolve("r", protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled, OptionID: "allow"})
	want := broker.Resolution{Request: ours("r"), Shown: protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}, Verdict: broker.Verdict{Decision: broker.Cancel}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resolution (-want +got):\n%s", diff)
	}
}

func TestUpdatedInput(t *testing.T) {
	t.Parallel()
	edited, restated := protocol.Object(`{"command":"rm"}`), protocol.Object(`{ "command": "ls" }`)
	slot := ours("r")
	slot.InputSlot = true
	narrow := slot
	narrow.Always = true
	ownNarrow := theirs("r", option("ever", "allow_always"), option("yes", "allow_once"))
	ownNarrow.Always, ownNarrow.InputSlot = true, true
	unknown := ours("r")
	unknown.RawInput = nil
	denied := broker.Verdict{}
	tests := []struct {
		name    string
		request broker.Request
		choice  string
		input   protocol.Object
		want    broker.Verdict
		by      string
		shown   string
	}{
		{"into its slot", slot, "allow", edited, broker.Verdict{Decision: broker.Allow, UpdatedInput: edited}, "", "allow"},
		{"always, into its slot: once", narrow, "allow_always", edited, broker.Verdict{Decision: broker.Allow, UpdatedInput: edited}, "", "allow_always"},
		{"own always, into its slot: its once", ownNarrow, "ever", edited, broker.Verdict{Decision: broker.Allow, OptionID: "yes", UpdatedInput: edited}, "", "ever"},
		{"always, the same input", narrow, "allow_always", restated, broker.Verdict{Decision: broker.AllowAlways}, "", "allow_always"},
		{"no slot", ours("r"), "allow", edited, denied, broker.ByUpdatedInput, "reject"},
		{"no slot, always", ours("r"), "allow_always", edited, denied, broker.ByUpdatedInput, "reject"},
		{"the same input", ours("r"), "allow", restated, broker.Verdict{Decision: broker.Allow}, "", "allow"},
		{"nothing to compare with", unknown, "allow", edited, denied, broker.ByUpdatedInput, "reject"},
		{"with a refusal", ours("r"), "reject", edited, denied, "", "reject"},
		{"no slot, nothing to refuse with", theirs("r", option("allow", "allow_once")), "allow", edited, broker.Verdict{Decision: broker.Cancel}, broker.ByUpdatedInput, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b broker.Broker
			b.Open(tt.request)
			o := selected(tt.choice)
			o.UpdatedInput = tt.input
			got, _ := b.Resolve("r", o)
			if diff := cmp.Diff(tt.want, got.Verdict); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if got.By != tt.by || got.Shown.OptionID != tt.shown {
				t.Errorf("shown %+v by %q", got.Shown, got.By)
			}
			if tt.by != "" && got.Shown.UpdatedInput != nil {
				t.Error("the refused input is shown")
			}
		})
	}
}

// answered is a broker in which one request was answered so.
func answered(r broker.Request, o protocol.PermissionOutcome) *broker.Broker {
	var b broker.Broker
	b.Open(r)
	b.Resolve(r.ID, o)
	return &b
}

func TestLaw35_rulesAreNarrow(t *testing.T) {
	t.Parallel()
	with := func(change func(*broker.Request)) broker.Request {
		r := ours("next")
		change(&r)
		return r
	}
	same := with(func(r *broker.Request) { r.RawInput = protocol.Object(`{ "command":"ls"}`) })
	otherInput := with(func(r *broker.Request) { r.RawInput = protocol.Object(`{"command":"rm"}`) })
	otherTool := with(func(r *broker.Request) { r.Tool = "Edit" })
	noInput := with(func(r *broker.Request) { r.RawInput = nil })
	narrow := with(func(r *broker.Request) { r.Always = true })
	nameless := with(func(r *broker.Request) { r.Tool = "" })
	ownNarrow := theirs("r", option("ever", "allow_always"), option("never", "reject_always"))
	ownNarrow.Always = true
	edit := selected("allow_always")
	edit.UpdatedInput = protocol.Object(`{"command":"rm"}`)
	restated := selected("allow_always")
	restated.UpdatedInput = protocol.Object(`{"command" : "ls"}`)
	slot := with(func(r *broker.Request) { r.InputSlot = true })
	allow, deny := &broker.Verdict{Decision: broker.Allow}, &broker.Verdict{}
	tests := []struct {
		name string
		kept broker.Request
		by   protocol.PermissionOutcome
		next broker.Request
		want *broker.Verdict
	}{
		{"allow: the same call", same, selected("allow_always"), same, allow},
		{"allow: another input", same, selected("allow_always"), otherInput, nil},
		{"allow: another tool", same, selected("allow_always"), otherTool, nil},
		{"allow: an unknown input", same, selected("allow_always"), noInput, nil},
		{"allow of an unknown input", noInput, selected("allow_always"), noInput, nil},
		{"allow that the harness keeps", narrow, selected("allow_always"), same, nil},
		{"allow once", same, selected("allow"), same, nil},
		{"an option not offered", same, selected("always"), same, nil},
		{"reject: the same call", same, selected("reject_always"), same, deny},
		{"reject: another input", same, selected("reject_always"), otherInput, deny},
		{"reject: another tool", same, selected("reject_always"), otherTool, nil},
		{"reject: no harness keeps ours", narrow, selected("reject_always"), same, deny},
		{"reject that the harness keeps", ownNarrow, selected("never"), same, nil},
		{"reject once", same, selected("reject"), same, nil},
		{"a nameless tool", nameless, selected("reject_always"), nameless, nil},
		{"never the edited input", slot, edit, otherInput, nil},
		{"nor the one it was edited from", slot, edit, same, nil},
		{"but one that was only spelled anew", slot, restated, same, allow},
		{"an edit that became a denial", same, edit, same, nil},
		{"cancelled", same, protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}, same, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := answered(tt.kept, tt.by).Standing(tt.next)
			if ok != (tt.want != nil) {
				t.Fatalf("a rule stands: %v", ok)
			}
			if ok {
				if diff := cmp.Diff(*tt.want, got); diff != "" {
					t.Errorf("verdict (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A rule speaks the harness's own options; where it has none for "this once",
// somebody is asked again.
func TestStandingWithOwnOptions(t *testing.T) {
	t.Parallel()
	allowed := answered(ours("r"), selected("allow_always"))
	if got, ok := allowed.Standing(theirs("n", option("ever", "allow_always"), option("yes", "allow_once"))); !ok || got.OptionID != "yes" {
		t.Errorf("allow: %+v, %v", got, ok)
	}
	if _, ok := allowed.Standing(theirs("n", option("ever", "allow_always"))); ok {
		t.Error("a rule allows for ever what it may allow once")
	}
	rejected := answered(ours("r"), selected("reject_always"))
	if got, ok := rejected.Standing(theirs("n", option("no", "reject_once"))); !ok || got.OptionID != "no" {
		t.Errorf("reject: %+v, %v", got, ok)
	}
	if got, ok := rejected.Standing(theirs("n", option("yes", "allow_once"))); !ok || got.Decision != broker.Cancel {
		t.Errorf("nothing to refuse with: %+v, %v", got, ok)
	}
}

func TestRefusalWinsOverAllow(t *testing.T) {
	t.Parallel()
	b := answered(ours("a"), selected("allow_always"))
	b.Open(ours("b"))
	b.Resolve("b", selected("reject_always"))
	if got, ok := b.Standing(ours("c")); !ok || got.Decision != broker.Deny {
		t.Errorf("verdict %+v, %v", got, ok)
	}
}

// A rule does not answer what somebody is being asked already.
func TestRuleLeavesOpenRequestsAlone(t *testing.T) {
	t.Parallel()
	b := answered(ours("a"), selected("allow_always"))
	b.Open(ours("b"))
	if _, ok := b.Standing(ours("b")); ok {
		t.Error("an open request is answered by a rule")
	}
}

func TestWithdrawAndDrain(t *testing.T) {
	t.Parallel()
	var b broker.Broker
	for _, id := range []string{"a", "b", "c"} {
		if !b.Open(ours(id)) {
			t.Fatalf("%s is not opened", id)
		}
	}
	if b.Open(broker.Request{ID: "x", Key: "key-a"}) || b.Open(broker.Request{ID: "a", Key: "x"}) {
		t.Error("a key or an id is open twice")
	}
	if r, ok := b.Withdraw("key-b"); !ok || r.ID != "b" {
		t.Errorf("withdrawn %+v, %v", r, ok)
	}
	if _, ok := b.Withdraw("key-b"); ok {
		t.Error("withdrawn twice")
	}
	if _, ok := b.Resolve("b", selected("allow")); ok {
		t.Error("a withdrawn request is answered")
	}
	pending := b.Pending()
	if diff := cmp.Diff(pending, b.Drain()); diff != "" || len(pending) != 2 {
		t.Errorf("drained (-pending +drained):\n%s", diff)
	}
	if len(b.Pending()) != 0 || len(b.Drain()) != 0 {
		t.Error("something is left")
	}
	if !b.Open(ours("a")) {
		t.Error("a key cannot come again")
	}
}

// Whatever is done in whatever order, a request is given back exactly once.
func TestExactlyOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b broker.Broker
		opened, back := map[string]bool{}, map[string]int{}
		id := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		choice := rapid.SampledFrom([]string{"allow", "allow_always", "reject", "reject_always", "what"})
		took := func(r broker.Request, ok bool) {
			if ok {
				back[r.ID]++
				if !opened[r.ID] {
					t.Fatalf("%s comes back and was not open", r.ID)
				}
				delete(opened, r.ID)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"open": func(t *rapid.T) {
				r := ours(id.Draw(t, "id"))
				if b.Open(r) == opened[r.ID] {
					t.Fatalf("opening %s, which is open: %v", r.ID, opened[r.ID])
				}
				opened[r.ID] = true
			},
			"resolve": func(t *rapid.T) {
				res, ok := b.Resolve(id.Draw(t, "id"), selected(choice.Draw(t, "choice")))
				took(res.Request, ok)
			},
			"withdraw": func(t *rapid.T) {
				r, ok := b.Withdraw("key-" + id.Draw(t, "id"))
				took(r, ok)
			},
			"drain": func(t *rapid.T) {
				for _, r := range b.Drain() {
					took(r, true)
				}
			},
			"": func(t *rapid.T) {
				if got := len(b.Pending()); got != len(opened) {
					t.Fatalf("%d are open, want %d", got, len(opened))
				}
			},
		})
	})
}
