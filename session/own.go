package session

import (
	"agent-server/harness"
	"agent-server/protocol"
)

// A harness turn is one that the harness opened: its main loop woke of its own
// accord, or work that it runs on beside the turns has something to show or to
// ask, and no turn is open. It counts as registered from its start on. It ends by
// the main loop's own word where that woke; else once nothing is left that could
// speak in it, or at once where somebody wants a turn of their own.

// triggerUnknown is the echo of a harness turn of which nobody knows why.
const triggerUnknown = "background work"

// originHarness is what MetaOrigin says of a harness turn's start.
const originHarness = "harness"

// wakes says whether an update opens a harness turn where none is open, and what
// triggered it. Anything else that comes while no turn is open has come late.
func (m *Machine) wakes(p *process, u harness.Update) (trigger string, ok bool) {
	if m.shutting || m.closing || p.gone {
		return "", false // nothing opens any more
	}
	switch u := u.(type) {
	case harness.Woken:
		return u.Trigger, true
	case harness.PartOpened:
		return m.taskOf(p, u.Owner)
	case harness.PartSet:
		return m.taskOf(p, u.Owner)
	case harness.Asked:
		return m.taskOf(p, u.Owner)
	case harness.ToolSet:
		if m.tools[u.Call] == nil {
			return m.taskOf(p, u.Owner)
		}
	}
	return "", false
}

// taskOf describes the background task that speaks as the sub-agent of a call,
// or of a call of its; false where none does.
func (m *Machine) taskOf(p *process, owner string) (description string, ok bool) {
	if owner == "" {
		return "", false
	}
	for range maxOpenTools {
		for _, task := range p.tasks {
			if task.Call == owner {
				return task.Description, true
			}
		}
		t := m.tools[owner]
		if t == nil {
			break
		}
		owner = t.at.msg.parent
	}
	for _, task := range p.tasks {
		if task.Call == "" { // anybody may be its sub-agent
			return task.Description, true
		}
	}
	return "", false
}

// openOwn opens a harness turn, with an echo that names its trigger.
func (m *Machine) openOwn(p *process, trigger string) {
	t := &turn{id: m.newID(), cfg: p.cfg, own: true, written: true, registered: true}
	m.open(t, protocol.TextInput(orWord(trigger, triggerUnknown)),
		withMember(nil, protocol.MetaOrigin, protocol.Encode(originHarness)))
	m.sayRaw()
	if p.created {
		m.sayCreated(p)
	}
}

// woken takes the news that the main loop works of its own accord. In a client's
// turn that changes nothing: its translator tells the ends apart. Where the
// harness turn is being cancelled already, what woke meanwhile is interrupted too.
//
// Where it only speaks, the turn is its translator's to end, and a client's to take.
func (m *Machine) woken(u harness.Woken) {
	t := m.turn
	if !t.own {
		return
	}
	if u.Yields {
		t.spoken = !t.main
		return
	}
	t.main, t.spoken = true, false
	if t.cancel.delivered {
		m.tell(harness.Cancel{})
	}
}

// quiet says whether the open turn is a harness turn in which no main loop works.
func (m *Machine) quiet() bool { return m.turn != nil && m.turn.own && !m.turn.main }

// yields says whether the open turn makes room for a client's at once.
func (m *Machine) yields() bool {
	return m.quiet() && !m.turn.cancel.accepted && len(m.broker.Pending()) == 0
}

// takeOver ends a harness turn in favour of a client's: what its tasks have to
// say goes into whatever turn is open then.
func (m *Machine) takeOver() {
	if m.turn != nil {
		m.endTurn(ending{reason: protocol.StopEndTurn})
	}
}

// settleOwn ends a harness turn that nothing holds open any more; false where
// there is none. Once cancelled it is over with the last of its tasks.
func (m *Machine) settleOwn() bool {
	switch {
	case m.quiet() && m.turn.cancel.accepted && m.BackgroundTasks() == 0:
		m.endTurn(ending{reason: protocol.StopCancelled})
		m.pump()
	case len(m.queue) > 0 && m.yields():
		m.takeOver()
	default:
		return false
	}
	return true
}

// watchOwn keeps the clock of a harness turn that has nothing left to wait for: a
// task that ends may yet wake the main loop.
func (m *Machine) watchOwn() {
	over := m.yields() && m.BackgroundTasks() == 0 && !m.turn.spoken
	switch set := m.armedAt(timerQuiet) >= 0; {
	case over && !set:
		m.arm(timerQuiet, m.now+quietAfter)
	case !over && set:
		m.disarm(timerQuiet)
	}
}
