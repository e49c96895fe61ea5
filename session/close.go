package session

import "agent-server/protocol"

// close ends the session for whoever asked. A running turn refuses it: only its
// own end, or a cancel, may take it away.
func (m *Machine) close(in Close) {
	switch {
	case m.ended:
		m.refuse(in.Token, protocol.ErrSessionClosing(m.o.SessionID))
	case m.turn != nil:
		m.refuse(in.Token, protocol.ErrCloseWhileActive(m.o.SessionID, m.turn.id))
	default:
		m.endSession(protocol.EndReleased)
		m.reply(in.Token, protocol.SessionCloseResult{Closed: true})
	}
}

// endSession says session.ended and lets the process go.
func (m *Machine) endSession(reason string) {
	m.emit(&protocol.SessionEnded{SessionID: m.o.SessionID, Reason: reason, Timestamp: m.now})
	m.ended = true
	m.out.Ended = true
	m.stop()
}

// shutdown lets an open turn finish for a while, then cancels it; settle ends
// the session once none is open. A second one moves the limit.
func (m *Machine) shutdown(in Shutdown) {
	m.shutting = true
	switch {
	case m.turn == nil:
	case in.Drain <= 0:
		m.cancelForShutdown()
	default:
		m.arm(timerDrain, m.now+in.Drain)
	}
}

// cancelForShutdown cancels the open turn with nobody waiting for an answer. It
// is bounded like any cancel, even where the harness cannot be interrupted yet.
func (m *Machine) cancelForShutdown() {
	m.acceptCancel()
	if m.turn != nil {
		m.armSooner(timerStop, m.now+stopAfter)
	}
}

// evict stops a process that had nothing to do for a while. The session stays;
// its next turn resumes the conversation.
func (m *Machine) evict() {
	m.note("idle process stopped", "")
	m.stop()
}

// watchIdle keeps the idle clock: it runs while a process lives and nothing goes
// on.
func (m *Machine) watchIdle() {
	idle := m.proc != nil && m.Idle() && m.o.IdleTimeout > 0
	switch set := m.armedAt(timerIdle) >= 0; {
	case idle && !set:
		m.arm(timerIdle, m.now+m.o.IdleTimeout)
	case !idle && set:
		m.disarm(timerIdle)
	}
}
