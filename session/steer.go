package session

import (
	"agent-server/echo"
	"agent-server/harness"
	"agent-server/protocol"
)

// A steered turn never runs: its input goes into the turn that does, shown as a
// message of that turn under the ids that its own echo would have had. It has no
// start and no end of its own, and cannot be cancelled alone: what was said to a
// model cannot be unsaid.

// steers says whether the open turn can take a further input now: the harness
// can, it has taken up the prompt, nobody ends it, and the input wants no other
// config than the turn's. Where it cannot, the input waits as a turn of its own.
func (m *Machine) steers(in StartTurn) bool {
	t := m.turn
	return m.info.Steer && !t.own && t.written && t.registered && !t.cancel.accepted && !m.proc.stopping &&
		m.sameWish(in.Config, t.cfg)
}

// sameWish says whether a config asks for what the open turn runs with, the
// conversation too.
func (m *Machine) sameWish(cfg, running protocol.RunConfig) bool {
	cfg.Harness = m.info.ID
	return sameConfig(cfg, running) && deref(cfg.ResumeSessionID) == deref(running.ResumeSessionID) &&
		deref(cfg.ResumeSessionAt) == deref(running.ResumeSessionAt)
}

// steer puts an admitted turn's input into the open turn.
func (m *Machine) steer(in StartTurn) {
	t := m.turn
	m.endMessage()
	for _, ev := range echo.Events(echo.Spec{
		SessionID: m.o.SessionID, TurnID: in.TurnID, Model: t.cfg.Model, Input: in.Input, Timestamp: m.now,
	}) {
		m.emit(moved(ev, t))
	}
	t.outputs++
	m.tell(harness.Steer{Turn: in.TurnID, Input: in.Input})
	m.pump()
}

// moved is an event of an echo as one of t's next message.
func moved(ev protocol.Event, t *turn) protocol.Event {
	switch ev := ev.(type) {
	case *protocol.MessageStarted:
		ev.TurnID, ev.OutputIndex = t.id, protocol.Number(t.outputs)
	case *protocol.MessagePart:
		ev.TurnID, ev.OutputIndex = t.id, protocol.Number(t.outputs)
	case *protocol.MessageEnded:
		ev.TurnID = t.id
	}
	return ev
}
