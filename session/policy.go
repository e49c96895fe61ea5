package session

import (
	"slices"

	"agent-server/broker"
	"agent-server/harness"
)

// ruling is what the policy says of a request. An allow that the harness has no
// word for, but a wider one, is asked.
func (m *Machine) ruling(r broker.Request) broker.Ruling {
	if m.o.Policy == nil {
		return broker.PolicyAsk
	}
	ruling := m.o.Policy.Rule(r.Call)
	if ruling == broker.PolicyAllow && !r.Permittable() {
		return broker.PolicyAsk
	}
	return ruling
}

// forbidden says whether the policy denies a request with the input that an answer
// puts in place of its own: nobody's answer goes where the policy lets none go.
func (m *Machine) forbidden(in ResolvePermission) bool {
	input := in.Outcome.UpdatedInput
	if m.o.Policy == nil || input == nil {
		return false
	}
	for _, r := range m.broker.Pending() {
		if r.ID == in.RequestID {
			c := r.Call
			c.RawInput = input
			return m.o.Policy.Rule(c) == broker.PolicyDeny
		}
	}
	return false
}

// callOf is what a policy is told of a request.
func (m *Machine) callOf(u harness.Asked, tool string) broker.Call {
	c := broker.Call{
		Tool: tool, Kind: orWord(u.Kind, ""), Cwd: m.turn.cfg.Cwd, Paths: slices.Clone(u.Files), RawInput: object(u.RawInput),
	}
	locations := u.Locations
	if t := m.tools[u.Call]; t != nil {
		c.Kind = orWord(c.Kind, t.kind)
		locations = append(locations[:len(locations):len(locations)], t.locations...)
	}
	for _, l := range locations {
		c.Paths = append(c.Paths, l.Path)
	}
	return c
}

// rule decides an open request where nobody is to be asked, else it starts its
// clock.
func (m *Machine) rule(r broker.Request, ruling broker.Ruling) {
	switch {
	case ruling != broker.PolicyAsk:
		m.decide(r.ID, ruling == broker.PolicyAllow, byPolicy)
	case m.absent && m.o.DenyWithoutClient:
		m.decide(r.ID, false, byNoClient)
	case m.o.PermissionTimeout > 0:
		m.arm(timerOf(r.ID), m.now+m.o.PermissionTimeout)
	}
}

// decide answers an open request without anybody's word, for everyone to see. The
// turn goes on.
func (m *Machine) decide(request string, allow bool, by string) {
	res, ok := m.broker.Decide(request, allow, by)
	if !ok {
		return
	}
	m.sayResolved(res, by)
	m.answerAsked(res.Request.Key, res.Verdict, undecided[by])
}

// undecided tells the model why it was denied without anybody having been asked.
var undecided = map[string]string{
	byPolicy:   "The policy of this server denies it.",
	byTimeout:  "Nobody has answered in time.",
	byNoClient: "Nobody is there to be asked.",
}

// clients takes the news that somebody is there, or nobody any more.
func (m *Machine) clients(in Clients) {
	m.absent = !in.Present
	if m.absent && m.o.DenyWithoutClient {
		for _, request := range m.PendingPermissions() {
			m.decide(request, false, byNoClient)
		}
		m.pump()
	}
}
