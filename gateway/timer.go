package gateway

import (
	"time"

	"agent-server/session"
)

// alarm is one timer that is set. The gateway waits for it at its end, until it
// has run or was stopped.
type alarm struct{ timer *time.Timer }

// ring sets an alarm: f runs on a goroutine of its own, unless it is stopped
// before. f is given the alarm, which by then may be another's past.
func (g *Gateway) ring(after time.Duration, f func(*alarm)) *alarm {
	g.wg.Add(1)
	a := &alarm{}
	set := make(chan struct{}) // f must not run before a.timer is there to be read
	a.timer = time.AfterFunc(after, func() {
		defer g.wg.Done()
		<-set
		f(a)
	})
	close(set)
	return a
}

// stop ends an alarm that has not begun to run; one that has begun finds out by
// itself that it is too late. nil has none.
func (a *alarm) stop(g *Gateway) {
	if a != nil && a.timer.Stop() {
		g.wg.Done()
	}
}

// setTimers sets and stops timers; called under the session's lock. One that is
// set again is another alarm: the old one, if it is on its way already, finds that
// it is not meant any more.
func (s *Session) setTimers(timers []session.Timer) {
	for _, t := range timers {
		s.timers[t.ID].stop(s.gw)
		delete(s.timers, t.ID)
		if t.At != 0 {
			s.timers[t.ID] = s.gw.ring(time.Until(time.UnixMilli(t.At)), func(a *alarm) { s.expire(t.ID, a) })
		}
	}
}

// stopTimers stops every timer of the machine, which has ended.
func (s *Session) stopTimers() {
	for _, a := range s.timers {
		a.stop(s.gw)
	}
	clear(s.timers)
}

// expire feeds a Deadline, unless the timer was stopped or set again between its
// firing and its turn at the lock.
func (s *Session) expire(id session.TimerID, a *alarm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timers[id] != a || s.machine == nil {
		return
	}
	delete(s.timers, id)
	s.run(session.Deadline{Timer: id})
}
