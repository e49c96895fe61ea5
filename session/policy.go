package session

import (
	"agent-server/broker"
	"agent-server/harness"
)

// ruling is what the policy says of a request. An allow that the harness has no
// word for, but a wider one, is asked.
func (m *Machine) ruling(u harness.Asked, r broker.Request) broker.Ruling {
	if m.o.Policy == nil {
		return broker.PolicyAsk
	}
	c := broker.Call{Tool: r.Tool, Kind: orWord(u.Kind, ""), Cwd: m.turn.cfg.Cwd, RawInput: r.RawInput}
	locations := u.Locations
	if t := m.tools[u.Call]; t != nil {
		c.Kind = orWord(c.Kind, t.kind)
		locations = append(locations[:len(locations):len(locations)], t.locations...)
	}
	for _, l := range locations {
		c.Paths = append(c.Paths, l.Path)
	}
	ruling := m.o.Policy.Rule(c)
	if ruling == broker.PolicyAllow && !r.Permittable() {
		return broker.PolicyAsk
	}
	return ruling
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
	m.sayResolved(res.Request, res.Shown, by)
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
