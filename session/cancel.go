package session

import (
	"agent-server/harness"
	"agent-server/protocol"
)

// How a cancel goes, by how far the turn has come:
//
//	prompt not written   the turn ends at once           unconfirmed
//	not registered       latched until it registers      unconfirmed, at once
//	registered           the harness is interrupted      when it has landed: cancelled
//	                                                     after 5 s, or the turn's own end: unconfirmed
//	interrupt ignored    stopped after 10 s
//
// An answer of cancelled is a fact: the turn has ended so. Whatever else is
// answered, the turn's end is the truth.

// cancelling is how far the cancel of a turn has come.
type cancelling struct {
	// accepted is true from the first cancel on: nothing opens any more.
	accepted bool
	// delivered is true once the translator was told: both clocks run.
	delivered bool
	// lapsed is true once the answer's clock has run out: whoever asks from then
	// on is answered at once.
	lapsed bool
	// waiting are the cancels not answered yet.
	waiting []Token
}

// cancelTurn takes a cancel. One that is stamped with a turn that waits takes it
// out of the queue; with one that neither runs nor waits it touches nothing.
func (m *Machine) cancelTurn(in CancelTurn) {
	t := m.turn
	if m.unqueue(in.TurnID, protocol.UnqueuedCancelled) {
		m.reply(in.Token, protocol.TurnCancelResult{Outcome: protocol.CancelCancelled, TurnID: &in.TurnID})
		return
	}
	if t == nil || in.TurnID != "" && in.TurnID != t.id {
		m.reply(in.Token, m.noActiveTurn())
		return
	}
	c := &t.cancel
	c.waiting = append(c.waiting, in.Token)
	m.acceptCancel()
	if m.turn == t && (!c.delivered || c.lapsed) {
		m.answerUnconfirmed()
	}
}

// noActiveTurn says what runs instead of the turn that was meant.
func (m *Machine) noActiveTurn() protocol.TurnCancelResult {
	r := protocol.TurnCancelResult{Outcome: protocol.CancelNoActiveTurn}
	if m.turn != nil {
		r.ActiveTurnID = &m.turn.id
	}
	return r
}

// acceptCancel begins to cancel the open turn, once: open requests are taken
// back, and the harness is interrupted, as soon as it can be.
//
// A prompt that was not written yet never is: the translator holds it, so the
// process goes, and the turn ends at once. One that was written but not taken up
// cannot be interrupted yet: the cancel is latched.
func (m *Machine) acceptCancel() {
	t := m.turn
	if t.cancel.accepted {
		return
	}
	t.cancel.accepted = true
	m.drainPermissions("")
	switch {
	case !t.written:
		m.stop()
		m.endTurn(ending{reason: protocol.StopCancelled})
	case t.registered:
		m.deliverCancel()
		m.pump()
	default:
		m.arm(timerStartup, m.now+startupLimit)
	}
}

// registered takes the news that an interrupt lands from now on.
func (m *Machine) registered() {
	t := m.turn
	t.registered = true
	if t.cancel.accepted && !t.cancel.delivered {
		m.deliverCancel()
	}
}

// deliverCancel has the interrupt written, and starts both clocks.
func (m *Machine) deliverCancel() {
	m.turn.cancel.delivered = true
	m.disarm(timerStartup)
	m.arm(timerAnswer, m.now+answerAfter)
	m.armSooner(timerStop, m.now+stopAfter)
	m.tell(harness.Cancel{})
}

// answerUnconfirmed answers every waiting cancel: the turn's end will be the
// truth.
func (m *Machine) answerUnconfirmed() {
	c := &m.turn.cancel
	for _, token := range c.waiting {
		m.reply(token, m.cancelResult(protocol.CancelUnconfirmed))
	}
	c.waiting = nil
}

// cancelResult is an answer about the open turn.
func (m *Machine) cancelResult(o protocol.CancelOutcome) protocol.TurnCancelResult {
	return protocol.TurnCancelResult{Outcome: o, TurnID: &m.turn.id}
}

// answerCancels answers the cancels that still wait when the turn ends. Only an
// end as cancelled, after an interrupt was written, confirms one. The answers
// stand behind what was said so far (requests taken back, closing snapshots) and
// before the ends that follow.
func (m *Machine) answerCancels(reason protocol.StopReason) {
	c := &m.turn.cancel
	outcome := protocol.CancelUnconfirmed
	if reason == protocol.StopCancelled && c.delivered && !c.lapsed {
		outcome = protocol.CancelCancelled
	}
	for _, token := range c.waiting {
		a := Answer{Token: token, Result: m.cancelResult(outcome), Barrier: m.next - 1}
		m.out.Acks = append(m.out.Acks, a)
	}
	c.waiting = nil
}

// cancelUnanswered is the answer's clock running out.
func (m *Machine) cancelUnanswered() {
	m.turn.cancel.lapsed = true
	m.answerUnconfirmed()
}

// cancelIgnored is the harness's clock running out: it is stopped, and the turn
// has ended.
func (m *Machine) cancelIgnored() {
	m.note("harness stopped: it ignored a cancel", "")
	m.turn.cancel.lapsed = true
	m.stop()
	m.endTurn(ending{reason: protocol.StopCancelled})
}
