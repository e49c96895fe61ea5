package session

import (
	"slices"
	"strings"
	"time"

	"agent-server/harness"
)

// The machine's own timers.
var (
	// timerAnswer is when a cancel that has not landed is answered.
	timerAnswer = TimerID{Name: "cancel-answer"}
	// timerStop is when a harness that ignores a cancel is stopped.
	timerStop = TimerID{Name: "cancel-stop"}
	// timerStartup is when a latched cancel stops waiting for the harness.
	timerStartup = TimerID{Name: "startup"}
	// timerDrain is when a turn that outlives a shutdown is cancelled.
	timerDrain = TimerID{Name: "drain"}
	// timerIdle is when an idle process is evicted.
	timerIdle = TimerID{Name: "idle"}
	// timerRestate is when what streams is shown whole again.
	timerRestate = TimerID{Name: "restate"}
	// timerQuiet is when a harness turn with nothing left to wait for ends.
	timerQuiet = TimerID{Name: "quiet"}
)

// Clocks of the machine, in milliseconds.
const (
	// answerAfter a written interrupt its cancel is answered as unconfirmed.
	answerAfter = 5_000
	// stopAfter a written interrupt the harness is stopped.
	stopAfter = 10_000
	// startupLimit bounds how long a latched cancel waits.
	startupLimit = 60_000
	// quietAfter the last background task is gone its harness turn ends.
	quietAfter = 1_000
)

// armed is a timer that is set.
type armed struct {
	id TimerID
	at int64
}

// arm sets a timer, or moves it.
func (m *Machine) arm(id TimerID, at int64) {
	if i := m.armedAt(id); i >= 0 {
		m.timers[i].at = at
	} else {
		m.timers = append(m.timers, armed{id, at})
	}
	m.out.Timers = append(m.out.Timers, Timer{ID: id, At: at})
}

// armSooner sets a timer, unless it is set for an earlier time.
func (m *Machine) armSooner(id TimerID, at int64) {
	if i := m.armedAt(id); i < 0 || m.timers[i].at > at {
		m.arm(id, at)
	}
}

// disarm stops a timer, if it is set.
func (m *Machine) disarm(id TimerID) {
	if i := m.armedAt(id); i >= 0 {
		m.timers = slices.Delete(m.timers, i, i+1)
		m.out.Timers = append(m.out.Timers, Timer{ID: id})
	}
}

// disarmGeneration stops every timer of a translator.
func (m *Machine) disarmGeneration(gen int) {
	for i := len(m.timers) - 1; i >= 0; i-- {
		if m.timers[i].id.Gen == gen {
			m.disarm(m.timers[i].id)
		}
	}
}

// armedAt is the timer's place; -1 where it is not set.
func (m *Machine) armedAt(id TimerID) int {
	return slices.IndexFunc(m.timers, func(a armed) bool { return a.id == id })
}

// setTimer does what a translator asked for.
func (m *Machine) setTimer(p *process, t harness.Timer) {
	id := TimerID{Gen: p.gen, Name: t.Name}
	if t.After <= 0 {
		m.disarm(id)
		return
	}
	m.arm(id, m.now+max(1, int64(t.After/time.Millisecond)))
}

// deadline takes the expiry of a timer. One that is not set any more was on its
// way when it was stopped; one that comes early was on its way when it was moved,
// and is set again, so that it cannot be lost.
func (m *Machine) deadline(in Deadline) {
	i := m.armedAt(in.Timer)
	if i < 0 {
		m.note("expiry of a timer that is not set", in.Timer.Name)
		return
	}
	if at := m.timers[i].at; m.now < at {
		m.out.Timers = append(m.out.Timers, Timer{ID: in.Timer, At: at})
		return
	}
	m.timers = slices.Delete(m.timers, i, i+1)
	m.expire(in.Timer)
}

// expire does what a timer was set for. Who sets one stops it where its reason
// goes, so the reason still stands.
func (m *Machine) expire(id TimerID) {
	switch id {
	case timerAnswer:
		m.cancelUnanswered()
	case timerStop, timerStartup:
		m.cancelIgnored()
	case timerDrain:
		m.cancelForShutdown()
	case timerIdle:
		m.evict()
	case timerQuiet:
		m.takeOver()
	case timerRestate:
		m.restateDue()
	default:
		m.expireNamed(id)
	}
}

// expireNamed is expire for timers of which there are many: those of requests, and
// the translator's.
func (m *Machine) expireNamed(id TimerID) {
	if request, ok := strings.CutPrefix(id.Name, permissionTimer); ok && id.Gen == 0 {
		m.decide(request, false, byTimeout)
	} else {
		m.tell(harness.Expired{Timer: id.Name})
	}
	m.pump()
}

// permissionTimer is what the name of a request's timer begins with: when it is
// rejected unanswered.
const permissionTimer = "permission "

// timerOf is the timer of a request.
func timerOf(request string) TimerID { return TimerID{Name: permissionTimer + request} }
