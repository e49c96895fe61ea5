package session

import (
	"slices"

	"agent-server/protocol"
)

// maxQueued bounds the turns that wait, maxQueuedBytes their inputs together: they
// wait in memory.
const (
	maxQueued      = 64
	maxQueuedBytes = 64 << 20
)

// retryQueued is when a place in a full queue may be asked for again, in
// milliseconds: nobody knows when a turn ends.
const retryQueued = 5_000

// A queued turn is admitted: it is started in the step in which the turn before it
// ends, or unqueued, and one of both exactly once. It was checked when it was
// queued and is not checked again: what this machine lacks by then fails it. Its
// config, which may hold secrets, waits in memory alone; its input is in the log,
// so that it is not lost where the queue is.

// full says whether a turn finds no place in the queue.
func (m *Machine) full(in StartTurn) bool {
	bytes := inputBytes(in.Input)
	for _, q := range m.queue {
		bytes += inputBytes(q.Input)
	}
	return len(m.queue) >= maxQueued || bytes > maxQueuedBytes
}

// inputBytes is about what an input takes.
func inputBytes(in protocol.Input) int {
	n := len(in.Text)
	for _, item := range in.Items {
		n += len(item.Text) + len(deref(item.Data)) + len(deref(item.URL))
	}
	return n
}

// enqueue has an admitted turn wait.
func (m *Machine) enqueue(in StartTurn) {
	m.queue = append(m.queue, in)
	m.emit((&protocol.TurnQueued{
		SessionID: m.o.SessionID, TurnID: in.TurnID, Position: int64(len(m.queue)), Timestamp: m.now,
		Meta: withMember(nil, protocol.MetaInput, protocol.Encode(in.Input)),
	}).Unknown())
}

// startNext starts the turn that has waited longest, once no turn is open; false
// where none is to be started.
func (m *Machine) startNext() bool {
	if m.turn != nil || len(m.queue) == 0 {
		return false
	}
	in := m.queue[0]
	m.queue = slices.Delete(m.queue, 0, 1)
	m.became(in.TurnID, protocol.Started)
	m.run(in)
	return true
}

// unqueue takes a turn out of the queue; false where it does not wait.
func (m *Machine) unqueue(turnID, reason string) bool {
	i := slices.IndexFunc(m.queue, func(in StartTurn) bool { return in.TurnID == turnID })
	if i < 0 {
		return false
	}
	m.sayUnqueued(m.queue[i], reason)
	m.queue = slices.Delete(m.queue, i, i+1)
	return true
}

// unqueueAll takes every turn out of the queue.
func (m *Machine) unqueueAll(reason string) {
	for _, in := range m.queue {
		m.sayUnqueued(in, reason)
	}
	m.queue = nil
}

// sayUnqueued gives a turn's input back to whoever wrote it.
func (m *Machine) sayUnqueued(in StartTurn, reason string) {
	m.became(in.TurnID, "")
	m.emit((&protocol.TurnUnqueued{
		SessionID: m.o.SessionID, TurnID: in.TurnID, Reason: reason, Input: in.Input, Timestamp: m.now,
	}).Unknown())
}

// became notes where an admitted turn stands now; "" where it does not run and
// never did.
func (m *Machine) became(turnID string, d protocol.Disposition) {
	a := m.admitted[turnID]
	a.disposition = d
	m.admitted[turnID] = a
}
