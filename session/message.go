package session

import (
	"agent-server/harness"
	"agent-server/protocol"
)

// How messages and parts get their addresses:
//   - outputIndex counts every message of the turn, sub-agents' too; the echo is 0.
//   - partIndex counts first appearances within a message.
//   - A part keeps the address of its first sight. Later snapshots and deltas go
//     there, even if that message has ended, and open and close nothing.
//   - A new part of another speaker than the open message's ends that message and
//     opens one of its own; a message is never opened again.

// message is one message of a turn. It outlives its own end, and its turn's: what
// stands in it keeps its place.
type message struct {
	turn *turn
	id   string
	// output is its outputIndex.
	output int
	// role says who speaks; a role of its own makes a message of its own.
	role protocol.Role
	// parent is the tool call whose sub-agent speaks; "" at top level.
	parent string
	// parts counts the parts that stand in it.
	parts int
}

// place is where a part stands, from first sight on.
type place struct {
	msg   *message
	index int
}

// messageOpened starts a top-level message, ending the open one.
func (m *Machine) messageOpened(u harness.MessageOpened) {
	m.messageClosed()
	if u.Model != "" {
		m.turn.model = u.Model
	}
	m.openMessage("", protocol.RoleAssistant)
}

// messageClosed ends the open message by the harness's word: what still streamed
// in it has its last text.
func (m *Machine) messageClosed() {
	if m.turn.msg != nil {
		m.closeStreaming(m.turn.msg)
		m.endMessage()
	}
}

// openMessage starts a message; the one before has ended.
func (m *Machine) openMessage(parent string, role protocol.Role) {
	t := m.turn
	t.msg = &message{turn: t, id: m.newID(), output: t.outputs, role: role, parent: parent}
	t.outputs++
	m.emit(&protocol.MessageStarted{
		SessionID: m.o.SessionID, TurnID: t.id, MessageID: t.msg.id, OutputIndex: protocol.Number(t.msg.output),
		Role: role, ParentToolCallID: optional(parent), Model: m.modelOf(t.msg), Timestamp: m.now,
	})
}

// modelOf is what a message is written by: at top level what the harness itself
// named, else what was asked for.
func (m *Machine) modelOf(msg *message) *string {
	if msg.parent == "" && msg.role == protocol.RoleAssistant && m.turn.model != "" {
		return &m.turn.model
	}
	return optional(deref(m.turn.cfg.Model))
}

// endMessage ends the open message, if there is one. Parts that still stream go
// on in their place: a sub-agent's word in between does not cut them off.
func (m *Machine) endMessage() {
	t := m.turn
	if t.msg == nil {
		return
	}
	m.emit(&protocol.MessageEnded{SessionID: m.o.SessionID, TurnID: t.id, MessageID: t.msg.id, Timestamp: m.now})
	t.msg = nil
}

// newPlace is the place of a new part: in the open message, if that is the same
// speaker's, else in one of its own.
func (m *Machine) newPlace(parent string, role protocol.Role) place {
	if role != protocol.RoleUser {
		role = protocol.RoleAssistant
	}
	t := m.turn
	if t.msg == nil || t.msg.parent != parent || t.msg.role != role {
		m.endMessage()
		m.openMessage(parent, role)
	}
	at := place{t.msg, t.msg.parts}
	t.msg.parts++
	return at
}

// newHead is the head of a new part at a place.
func (m *Machine) newHead(at place) protocol.PartHead {
	return protocol.PartHead{
		ID: m.newID(), SessionID: m.o.SessionID, MessageID: at.msg.id, ParentToolCallID: optional(at.msg.parent),
	}
}

// show sends a snapshot.
func (m *Machine) show(at place, p protocol.Part) {
	m.emit(&protocol.MessagePart{
		SessionID: m.o.SessionID, TurnID: at.msg.turn.id, MessageID: at.msg.id,
		OutputIndex: protocol.Number(at.msg.output), PartIndex: protocol.Number(at.index), Part: p, Timestamp: m.now,
	})
}

// grown is a delta event with its delta, made in one piece: this is the busiest
// of all paths.
type grown[D any] struct {
	event protocol.MessagePartDelta
	delta D
}

// delta is the event of a part that grows.
func (m *Machine) delta(at place, id string, d protocol.Delta) protocol.MessagePartDelta {
	return protocol.MessagePartDelta{
		SessionID: m.o.SessionID, TurnID: at.msg.turn.id, MessageID: at.msg.id,
		OutputIndex: protocol.Number(at.msg.output), PartIndex: protocol.Number(at.index),
		PartID: id, Delta: d, Timestamp: m.now,
	}
}

// abandoned marks what is superseded and ends its message. Nothing is removed:
// who reads the log later sees what was shown.
func (m *Machine) abandoned(u harness.Abandoned) {
	t := m.turn
	ends := len(u.Parts) == 0
	for _, key := range u.Parts {
		if p := t.parts[key]; p != nil {
			ends = ends || p.at.msg == t.msg
			m.abandonPart(p)
			delete(t.parts, key)
		}
		if c := m.tools[key]; c != nil && c.at.msg.turn == t {
			ends = ends || c.at.msg == t.msg
			m.abandonTool(c)
		}
	}
	if ends {
		m.messageClosed()
	}
}

// abandonedMeta is the mark of a superseded part, added to what it had.
func abandonedMeta(meta protocol.Object) protocol.Object {
	return withMember(meta, protocol.MetaAbandoned, protocol.Object("true"))
}
