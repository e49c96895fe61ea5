package broker

import "agent-server/protocol"

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

// keep makes the rule that an answered request leaves behind, if any.
func (b *Broker) keep(res Resolution) {
	chosen, offered := res.Request.option(res.Shown.OptionID)
	if !offered || res.By != "" || res.Request.Tool == "" {
		return
	}
	switch chosen.Kind {
	case protocol.AllowAlways:
		// With an edited input, "always" was said of neither input.
		if res.Verdict.UpdatedInput == nil {
			b.rules.allow(res.Request)
		}
	case protocol.RejectAlways:
		b.rules.reject(res.Request)
	}
}

// allow keeps an allow, unless the harness keeps it itself or the input is
// unknown: a rule for an unknown input would allow what nobody looked at.
func (s *rules) allow(r Request) {
	input := canonical(r.RawInput)
	if r.Always || input == nil {
		return
	}
	if s.allowed == nil {
		s.allowed = map[allowKey]bool{}
	}
	s.allowed[allowKey{r.Tool, string(input)}] = true
}

// reject keeps a refusal, unless it was an option of the harness's own that the
// harness keeps itself.
func (s *rules) reject(r Request) {
	if r.Own && r.Always {
		return
	}
	if s.rejected == nil {
		s.rejected = map[string]bool{}
	}
	s.rejected[r.Tool] = true
}
