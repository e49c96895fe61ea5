package broker_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"agent-server/broker"
	"agent-server/protocol"

	"pgregory.net/rapid"
)

// room is a broker with a plain account of what is open in it and of what a user
// has consented to.
type room struct {
	b    broker.Broker
	open []string
	made int
	// always is true once somebody has chosen an "always allow".
	always bool
}

// opens asks for consent, under a key that may be taken.
func (r *room) opens(t *rapid.T) {
	r.made++
	req := ours("r" + strconv.Itoa(r.made))
	req.Always = rapid.Bool().Draw(t, "always")
	if rapid.Bool().Draw(t, "own") {
		req.Options, req.Own = []protocol.PermissionOption{option("ever", "allow_always"), option("no", "reject_once")}, true
	}
	if v, ok := r.b.Standing(req); ok && v.Decision != broker.Deny && !r.always {
		t.Fatalf("%+v is allowed by a rule that nobody made", req)
	}
	if !r.b.Open(req) {
		t.Fatalf("%s is not opened", req.ID)
	}
	r.open = append(r.open, req.ID)
}

// decides answers a request in nobody's name.
func (r *room) decides(t *rapid.T) {
	id, allow := r.some(t), rapid.Bool().Draw(t, "allow")
	res, ok := r.b.Decide(id, allow, "policy")
	r.answered(t, id, ok)
	switch {
	case !ok:
	case res.Verdict.Decision == broker.AllowAlways:
		t.Fatalf("%s is allowed for more than this call", id)
	case res.Verdict.Decision == broker.Allow && (!allow || res.Request.Own):
		t.Fatalf("%s is allowed, asked to %v, own options %v", id, allow, res.Request.Own)
	case res.By != "policy" || res.Verdict.UpdatedInput != nil:
		t.Fatalf("%s is decided as %+v", id, res)
	case res.Shown.Outcome == protocol.OutcomeSelected && !offers(res.Request, res.Shown.OptionID):
		t.Fatalf("%s is shown as %s, which was not offered", id, res.Shown.OptionID)
	}
}

// resolves answers a request as a client would.
func (r *room) resolves(t *rapid.T) {
	id := r.some(t)
	choice := rapid.SampledFrom([]string{"allow", "allow_always", "ever", "reject", "no", "odd"}).Draw(t, "choice")
	res, ok := r.b.Resolve(id, selected(choice))
	r.answered(t, id, ok)
	r.always = r.always || ok && (choice == "allow_always" || choice == "ever")
	if ok && res.By != "" {
		t.Fatalf("%s was answered by a client and is shown as decided by %s", id, res.By)
	}
}

// some is a request that is open, was, or never existed.
func (r *room) some(t *rapid.T) string {
	return "r" + strconv.Itoa(rapid.IntRange(0, r.made+1).Draw(t, "request"))
}

// answered takes a request out, which must have been open where it was answered.
func (r *room) answered(t *rapid.T, id string, ok bool) {
	if was := slices.Contains(r.open, id); was != ok {
		t.Fatalf("%s was open %v and is answered %v", id, was, ok)
	}
	r.open = slices.DeleteFunc(r.open, func(o string) bool { return o == id })
}

func offers(r broker.Request, id string) bool {
	return slices.ContainsFunc(r.Options, func(o protocol.PermissionOption) bool { return o.OptionID == id })
}

// Whoever answers, and in whatever order: a request is answered once, what nobody
// decided for good is for one call, and no rule comes of what nobody chose.
func TestWhoeverDecides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := &room{}
		clients := rapid.Bool().Draw(t, "clients")
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 3).Draw(t, "step"); {
			case step < 2 && r.free():
				r.opens(t)
			case step == 2 && clients:
				r.resolves(t)
			default:
				r.decides(t)
			}
			var pending []string
			for _, p := range r.b.Pending() {
				pending = append(pending, p.ID)
			}
			if !slices.Equal(pending, r.open) {
				t.Fatalf("open are %v, want %v", pending, r.open)
			}
		}
	})
}

// free says whether another request may be opened: a few at a time.
func (r *room) free() bool { return len(r.open) < 4 }

// A policy that is written as a file reads as what it is.
func TestPolicyReadsAsWritten(t *testing.T) {
	t.Parallel()
	words := map[broker.Ruling]string{broker.PolicyAsk: "ask", broker.PolicyAllow: "allow", broker.PolicyDeny: "deny"}
	rapid.Check(t, func(t *rapid.T) {
		var want broker.ToolPolicy
		rules := []map[string]string{}
		for range rapid.IntRange(0, 4).Draw(t, "rules") {
			r := someRule(t)
			r.Ruling = rapid.SampledFrom([]broker.Ruling{broker.PolicyAsk, broker.PolicyAllow, broker.PolicyDeny}).Draw(t, "ruling")
			want.Rules = append(want.Rules, r)
			rule := map[string]string{"decision": words[r.Ruling]}
			for name, value := range map[string]string{"tool": r.Tool, "kind": string(r.Kind), "path": r.Path, "command": r.Command} {
				if value != "" {
					rule[name] = value
				}
			}
			rules = append(rules, rule)
		}
		file, err := json.MarshalIndent(map[string]any{"rules": rules}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		got, err := broker.ParsePolicy(file)
		if err != nil || !slices.Equal(got.Rules, want.Rules) {
			t.Fatalf("%s reads as %+v, %v", file, got, err)
		}
	})
}
