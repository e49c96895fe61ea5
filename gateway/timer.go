package gateway

import (
	"time"

	"agent-server/session"
)

// setTimers sets and stops timers; called under the session's lock.
func (s *Session) setTimers(timers []session.Timer) {
	for _, t := range timers {
		if old := s.timers[t.ID]; old != nil {
			delete(s.timers, t.ID)
			if old.Stop() {
				s.gw.wg.Done()
			}
		}
		if t.At != 0 {
			s.arm(t)
		}
	}
}

// arm sets one timer. Its callback counts as the gateway's until it has run or
// was stopped.
func (s *Session) arm(t session.Timer) {
	s.gw.wg.Add(1)
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(time.UnixMilli(t.At)), func() {
		defer s.gw.wg.Done()
		s.expire(t.ID, timer)
	})
	s.timers[t.ID] = timer
}

// expire feeds a Deadline, unless the timer was stopped or set again between its
// firing and its turn at the lock.
func (s *Session) expire(id session.TimerID, timer *time.Timer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timers[id] != timer || s.machine == nil {
		return
	}
	delete(s.timers, id)
	s.run(session.Deadline{Timer: id})
}

// stopAll gives the outputs that stop every timer.
func (s *Session) stopAll() []session.Timer {
	out := make([]session.Timer, 0, len(s.timers))
	for id := range s.timers {
		out = append(out, session.Timer{ID: id})
	}
	return out
}
