package broker_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/broker"
	"agent-server/protocol"
)

// TestRuleOf: a rule is read out of what was shown exactly where one came of the answer,
// and as it was kept.
func TestRuleOf(t *testing.T) {
	t.Parallel()
	input := protocol.Object(`{"a":1}`)
	for name, c := range map[string]struct {
		request broker.Request
		option  string
		edited  protocol.Object
		want    *broker.Rule
	}{
		"allow":                    {broker.Request{Tool: "T", RawInput: input}, "allow", nil, nil},
		"reject":                   {broker.Request{Tool: "T", RawInput: input}, "reject", nil, nil},
		"not offered":              {broker.Request{Tool: "T", RawInput: input}, "allow_forever", nil, nil},
		"allow always":             {broker.Request{Tool: "T", RawInput: input}, "allow_always", nil, &broker.Rule{Tool: "T", Input: input}},
		"of an unknown input":      {broker.Request{Tool: "T"}, "allow_always", nil, nil},
		"of no tool":               {broker.Request{RawInput: input}, "allow_always", nil, nil},
		"of an edited input":       {broker.Request{Tool: "T", RawInput: input, InputSlot: true}, "allow_always", protocol.Object(`{}`), nil},
		"kept by the harness":      {broker.Request{Tool: "T", RawInput: input, Always: true}, "allow_always", nil, nil},
		"reject always":            {broker.Request{Tool: "T", RawInput: input}, "reject_always", nil, &broker.Rule{Tool: "T"}},
		"reject, kept by harness":  {broker.Request{Tool: "T", RawInput: input, Own: true, Always: true}, "reject_always", nil, nil},
		"reject, harness's option": {broker.Request{Tool: "T", Own: true}, "reject_always", nil, &broker.Rule{Tool: "T"}},
	} {
		var b broker.Broker
		r := c.request
		r.ID, r.Key, r.Options = "id", "key", broker.DefaultOptions()
		b.Open(r)
		res, _ := b.Resolve("id", protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: c.option, UpdatedInput: c.edited})
		answered := &protocol.PermissionResolved{RequestID: "id", Outcome: res.Shown}
		if res.Kept {
			answered.Meta = protocol.Object(`{"` + protocol.MetaStanding + `":true}`)
		}
		asked := &protocol.PermissionRequested{RequestID: "id", Options: r.Options,
			ToolCall: &protocol.PermissionToolCall{ToolName: r.Tool, RawInput: r.RawInput}}
		rule, ok := broker.RuleOf(asked, answered)
		if got := (&rule); ok != (c.want != nil) || ok && !cmp.Equal(got, c.want) {
			t.Errorf("%s: %+v, %v", name, rule, ok)
		}
		if !ok {
			continue
		}
		var next broker.Broker
		next.Restore([]broker.Rule{rule})
		r.Key = "another"
		was, _ := b.Standing(r)
		if is, stands := next.Standing(r); !stands || !cmp.Equal(is, was) {
			t.Errorf("%s: taken over it says %+v, %v; it said %+v", name, is, stands, was)
		}
	}
}
