package broker

import (
	"encoding/json"

	"agent-server/protocol"
)

// verdictOfRule is what a standing rule says.
type verdictOfRule int

const (
	ruleNone verdictOfRule = iota
	ruleAllow
	ruleReject
)

// rules are the standing rules of one session. They carry a verdict and never an
// edited input: what was edited once is not what the next call asks for, and what
// it was edited from is not what was consented to.
type rules struct {
	// allowed holds {tool, canonical input}: an allow is as narrow as what was
	// looked at.
	allowed map[allowKey]bool
	// rejected holds tools: a refusal may be wide.
	rejected map[string]bool
}

// allowKey is what an allow rule is for.
type allowKey struct{ tool, input string }

// match is what the rules say of r. A refusal wins over an allow.
func (s rules) match(r Request) verdictOfRule {
	if r.Tool == "" {
		return ruleNone
	}
	if s.rejected[r.Tool] {
		return ruleReject
	}
	if input := canonical(r.RawInput); input != nil && s.allowed[allowKey{r.Tool, string(input)}] {
		return ruleAllow
	}
	return ruleNone
}

// Rule is a standing rule as it is told to a broker that takes a session over.
type Rule struct {
	// Tool is the harness's own name of the tool; not empty.
	Tool string
	// Input is the input that is allowed; nil: the tool is refused, whatever its
	// input.
	Input protocol.Object
}

// RuleOf reads the rule that an answered request has left behind out of what was shown
// of it; false where it left none. Only a mark on the answer says so: whether the
// harness keeps an "always" itself cannot be seen otherwise.
func RuleOf(asked *protocol.PermissionRequested, answered *protocol.PermissionResolved) (Rule, bool) {
	if asked.ToolCall == nil || asked.ToolCall.ToolName == "" || !marked(answered.Meta) {
		return Rule{}, false
	}
	r := Request{Options: asked.Options}
	chosen, _ := r.option(answered.Outcome.OptionID)
	switch {
	case chosen.Kind == protocol.RejectAlways:
		return Rule{Tool: asked.ToolCall.ToolName}, true
	case chosen.Kind == protocol.AllowAlways && asked.ToolCall.RawInput != nil:
		return Rule{Tool: asked.ToolCall.ToolName, Input: asked.ToolCall.RawInput}, true
	}
	return Rule{}, false
}

// marked says whether an answer's _meta says that a rule has come of it.
func marked(meta protocol.Object) bool {
	var members map[string]json.RawMessage
	return meta != nil && json.Unmarshal(meta, &members) == nil && string(members[protocol.MetaStanding]) == "true"
}

// Restore takes over the rules of a broker before this one.
func (b *Broker) Restore(rules []Rule) {
	for _, r := range rules {
		b.rules.put(r)
	}
}

// keep makes the rule that an answered request leaves behind; false where it leaves
// none.
func (b *Broker) keep(res Resolution) bool {
	chosen, offered := res.Request.option(res.Shown.OptionID)
	if !offered || res.By != "" || res.Request.Tool == "" {
		return false
	}
	r := Rule{Tool: res.Request.Tool}
	switch chosen.Kind {
	case protocol.AllowAlways:
		// With an edited input, "always" was said of neither input; a harness that has
		// a narrow form of it keeps it itself; and a rule for an unknown input would
		// allow what nobody looked at.
		r.Input = res.Request.RawInput
		return res.Verdict.UpdatedInput == nil && !res.Request.Always && r.Input != nil && b.rules.put(r)
	case protocol.RejectAlways:
		// Unless it was an option of the harness's own that the harness keeps itself.
		return !(res.Request.Own && res.Request.Always) && b.rules.put(r)
	}
	return false
}

// put makes a rule hold; false where its input has no one spelling.
func (s *rules) put(r Rule) bool {
	if r.Input == nil {
		if s.rejected == nil {
			s.rejected = map[string]bool{}
		}
		s.rejected[r.Tool] = true
		return true
	}
	input := canonical(r.Input)
	if input == nil {
		return false
	}
	if s.allowed == nil {
		s.allowed = map[allowKey]bool{}
	}
	s.allowed[allowKey{r.Tool, string(input)}] = true
	return true
}
