package gateway

import (
	"time"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/protocol"
	"agent-server/session"
)

// A dormant session is open and has no machine: after a restart, or after a step that
// went wrong, until its next turn. Nothing goes on in it, since all that was going on
// was ended when it was found. It is bound to its harness, is listed as idle, and is
// closed like any other.

// openIn says whether a session that stands so was not closed. Where the log was told
// nothing of that, its last event tells.
func (g *Gateway) openIn(id string, state eventlog.State, head int64) bool {
	if state != eventlog.StateUnknown || head <= 0 {
		return state.Open()
	}
	last := g.lastEvent(id, head)
	return last != "" && last != protocol.TypeSessionEnded
}

// dormant says whether the session is; its lock is held.
func (s *Session) dormant() bool {
	return s.machine == nil && s.gw.openIn(s.id, s.state, s.head.Load())
}

// closeDormant serves a close of a session that has no machine; false, nothing
// answered, where it is not open.
func (g *Gateway) closeDormant(c *call, in session.Close, id string) bool {
	if _, known := g.headOf(id); !known {
		return false
	}
	s, err := g.obtain(id)
	if err != nil {
		g.zap.Error("session cannot be opened", zap.String("session", id), zap.Error(err))
		c.fail(refusal(id))
		return true
	}
	in.Token = g.tokens.issue(c, id)
	return g.settleDoor(s.close(in), in.Token, id)
}

// close closes a dormant session: it says so, in the log, and answers. No machine is
// needed for it, nor the harness, which may not be registered any more. One that a
// turn has woken meanwhile is closed by its machine.
func (s *Session) close(in session.Close) door {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.gw.tokens.isOpen(in.Token):
		return taken
	case !s.usable():
		return barred
	case s.machine != nil:
		s.run(in)
		return taken
	case !s.dormant():
		return absent
	}
	end := &protocol.SessionEnded{SessionID: s.id, Reason: protocol.EndReleased, Timestamp: time.Now().UnixMilli()}
	if err := s.say(eventlog.StateClosed, end); err != nil {
		s.gw.zap.Error("session log cannot be written", s.about(zap.Error(err))...)
		s.poison(logFault(s.id))
		return taken
	}
	s.letLogGo()
	s.gw.answer(session.Answer{Token: in.Token, Result: protocol.SessionCloseResult{Closed: true}}, s.id, s.next-1)
	return taken
}

// say makes events that no machine has decided durable, and then visible.
func (s *Session) say(state eventlog.State, events ...protocol.Event) error {
	var stamped []session.Stamped
	for i, ev := range events {
		stamped = append(stamped, session.Stamped{Seq: s.next + int64(i), Event: ev})
	}
	records := s.encoder.records(stamped)
	if err := s.append(nil, state, records); err != nil {
		return err
	}
	s.gw.metrics.observe(s.ranAs, stamped)
	s.publish(records)
	return nil
}

// letLogGo tells the log that nobody has the session open here: it may be let go for
// its age, if it is closed.
func (s *Session) letLogGo() {
	if log, keeps := s.gw.log.(eventlog.Releaser); keeps {
		log.Release(s.id)
	}
}

// going is what goes on in the session behind the step that its machine has taken.
func (s *Session) going() eventlog.State {
	switch m := s.machine; {
	case m.Phase() == session.PhaseClosing, m.Phase() == session.PhaseClosed:
		return eventlog.StateClosed
	case m.Idle() && m.QueuedTurns() == 0:
		return eventlog.StateIdle
	}
	return eventlog.StateBusy
}
