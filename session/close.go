package session

import "agent-server/protocol"

// close ends the session for whoever asked. A client's turn that runs or waits
// refuses it: only its own end, or a cancel, may take it away, and force is one.
// A harness turn is nobody's: it ends with the session.
func (m *Machine) close(in Close) {
	busy, clients := m.clientTurn()
	switch {
	case m.ended, m.closing:
		m.refuse(in.Token, protocol.ErrSessionClosing(m.o.SessionID))
	case clients && !in.Force:
		m.refuse(in.Token, protocol.ErrCloseWhileActive(m.o.SessionID, busy))
	default:
		m.closing = true
		m.closers = append(m.closers, in.Token)
		m.unqueueAll(protocol.UnqueuedSessionClosed)
		m.cancelForClose()
	}
}

// clientTurn is a client's turn that runs or waits; false where there is none.
func (m *Machine) clientTurn() (id string, ok bool) {
	switch {
	case m.turn != nil && !m.turn.own:
		return m.turn.id, true
	case len(m.queue) > 0:
		return m.queue[0].TurnID, true
	}
	return "", false
}

// cancelForClose makes an end of the open turn, if any; settle ends the session
// once none is open.
func (m *Machine) cancelForClose() {
	switch {
	case m.turn == nil:
	case m.turn.own:
		m.stop()
		m.endTurn(ending{reason: protocol.StopCancelled})
	default:
		m.cancelForShutdown()
	}
}

// endReason is why the session ends now. A close that is waited for was asked for
// by somebody; a shutdown happens to everybody.
func (m *Machine) endReason() string {
	if m.closing {
		return protocol.EndReleased
	}
	return protocol.EndShutdown
}

// endSession says session.ended, answers those who asked for it, and lets the
// process go, with all that ran on in it.
func (m *Machine) endSession(reason string) {
	m.sayTasks(0)
	for _, token := range m.closers {
		m.reply(token, protocol.SessionCloseResult{Closed: true})
	}
	m.closers = nil
	m.emit(&protocol.SessionEnded{SessionID: m.o.SessionID, Reason: reason, Timestamp: m.now})
	m.ended = true
	m.out.Ended = true
	m.stop()
}

// shutdown lets an open turn finish for a while, then cancels it; settle ends
// the session once none is open. A second one moves the limit.
func (m *Machine) shutdown(in Shutdown) {
	m.shutting = true
	m.unqueueAll(protocol.UnqueuedShutdown)
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
