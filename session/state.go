package session

import "agent-server/protocol"

// Phase is where a session stands.
type Phase int

// The phases, in the order in which a session passes them.
const (
	// PhaseIdle: no turn is open.
	PhaseIdle Phase = iota
	// PhaseRunning: a turn is open.
	PhaseRunning
	// PhaseClosing: session.ended was said, its process still runs.
	PhaseClosing
	// PhaseClosed: session.ended was said and no process is left.
	PhaseClosed
)

// Phase says where the session stands.
func (m *Machine) Phase() Phase {
	switch {
	case m.turn != nil:
		return PhaseRunning
	case !m.ended:
		return PhaseIdle
	case m.Processes() > 0:
		return PhaseClosing
	}
	return PhaseClosed
}

// Active is the open turn; false where there is none.
func (m *Machine) Active() (turnID string, ok bool) {
	if m.turn == nil {
		return "", false
	}
	return m.turn.id, true
}

// Idle says whether nothing goes on: no turn, no background task.
func (m *Machine) Idle() bool { return m.turn == nil && m.BackgroundTasks() == 0 }

// BackgroundTasks counts what the harness runs on beside the turns.
func (m *Machine) BackgroundTasks() int {
	if m.proc == nil {
		return 0
	}
	return len(m.proc.tasks)
}

// QueuedTurns counts the turns that wait.
func (m *Machine) QueuedTurns() int { return len(m.queue) }

// Title is what the harness calls the session; "" while it has no name.
func (m *Machine) Title() string { return deref(m.reported.title) }

// Harness is the harness that the session is bound to.
func (m *Machine) Harness() protocol.HarnessID { return m.info.ID }

// NativeID is the native conversation that the next process goes on with; ""
// while there is none.
func (m *Machine) NativeID() string { return m.native.id }

// NextSeq is the seq of the next event.
func (m *Machine) NextSeq() int64 { return m.next }

// Generation is the generation of the live process; 0 where there is none. A
// process that is being stopped counts no more.
func (m *Machine) Generation() int {
	if m.proc == nil {
		return 0
	}
	return m.proc.gen
}

// Processes counts those that were asked for and have not exited, those that are
// being stopped too.
func (m *Machine) Processes() int { return len(m.alive) }

// PendingPermissions are the ids of the open requests, in order of asking.
func (m *Machine) PendingPermissions() []string {
	var open []string
	for _, r := range m.broker.Pending() {
		open = append(open, r.ID)
	}
	return open
}
