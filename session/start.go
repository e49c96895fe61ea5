package session

import (
	"crypto/hmac"
	"crypto/sha256"

	"agent-server/protocol"
)

// hashSize is the size of an admission's hash.
const hashSize = sha256.Size

// startTurn checks in the order that clients rely on: what is refused first says
// what the next try will meet, and a retry is recognised before anything about
// it is judged again.
func (m *Machine) startTurn(in StartTurn) {
	if err := m.closedTo(in.Config.Harness); err != nil {
		m.refuse(in.Token, err)
		return
	}
	hash := m.hash(in)
	if known, ok := m.admitted[in.TurnID]; ok {
		m.admittedBefore(in, known, hash)
		return
	}
	way, err := m.way(in)
	if err == nil {
		err = in.Refusal
	}
	if err != nil {
		m.refuse(in.Token, err)
		return
	}
	if faults := m.faults(in); len(faults) > 0 {
		m.refuse(in.Token, protocol.ErrInvalidParams(faults))
		return
	}
	m.admit(in, admission{hash, way})
	switch way {
	case protocol.Steered:
		m.steer(in)
	case protocol.Queued:
		m.enqueue(in)
	default:
		m.takeOver()
		m.run(in)
	}
}

// way is what becomes of a turn that is to be admitted; an error where the session
// is too busy for it.
func (m *Machine) way(in StartTurn) (protocol.Disposition, *protocol.Error) {
	waits := in.IfBusy == protocol.BusyQueue || in.IfBusy == protocol.BusySteer
	switch {
	case m.turn == nil || m.yields():
		return protocol.Started, nil
	case in.IfBusy == protocol.BusySteer && m.steers(in):
		return protocol.Steered, nil
	case !waits:
		return "", protocol.ErrTurnActive(m.o.SessionID, m.turn.id)
	case m.full(in):
		return "", protocol.ErrOverloaded("too many turns wait in session "+m.o.SessionID, retryQueued)
	}
	return protocol.Queued, nil
}

// closedTo is why the session takes no turn of this harness; nil where it does.
func (m *Machine) closedTo(id protocol.HarnessID) *protocol.Error {
	switch {
	case m.shutting:
		return protocol.ErrShuttingDown()
	case m.ended, m.closing:
		return protocol.ErrSessionClosing(m.o.SessionID)
	case id != m.info.ID && !m.shownAs(id):
		return protocol.ErrHarnessBound(m.o.SessionID, m.info.ID)
	}
	return nil
}

// shownAs says whether id is what a base client sees in place of this session's
// harness, and so means it.
func (m *Machine) shownAs(id protocol.HarnessID) bool {
	return id == protocol.HarnessACP && !m.info.ID.Base()
}

// hash is the keyed hash of what makes the turn this turn. The content holds
// secrets, so it is never kept itself.
func (m *Machine) hash(in StartTurn) (sum [hashSize]byte) {
	mac := hmac.New(sha256.New, m.o.HashKey)
	mac.Write(protocol.TurnIdentity(in.Input, in.Config))
	mac.Sum(sum[:0])
	return sum
}

// admission is what is known of an admitted turn.
type admission struct {
	hash [hashSize]byte
	// disposition is what became of it; "" where that is not known any more, and
	// of one that was unqueued.
	disposition protocol.Disposition
}

// admittedBefore answers for a turn that was admitted before, whether it waits,
// still runs or has ended: the same turn is acknowledged again and nothing
// happens.
func (m *Machine) admittedBefore(in StartTurn, known admission, hash [hashSize]byte) {
	if known.hash != hash {
		m.refuse(in.Token, protocol.ErrTurnConflict(m.o.SessionID, in.TurnID))
		return
	}
	m.ackTurn(in, known.disposition, true)
}

// ackTurn acknowledges a turn. What became of it is said only to those who asked
// what to do on a busy session: others know one answer.
func (m *Machine) ackTurn(in StartTurn, d protocol.Disposition, again bool) {
	r := protocol.TurnStartResult{SessionID: m.o.SessionID, TurnID: in.TurnID, Deduplicated: again}
	if in.IfBusy != "" {
		r.Disposition = d
	}
	m.ack(in.Token, r)
}

// faults is everything wrong with the turn on this machine, at once.
func (m *Machine) faults(in StartTurn) []protocol.Fault {
	cfg := in.Config
	cfg.Harness = m.info.ID
	faults, remarks := m.o.Harness.Check(cfg)
	m.out.Diagnostics = append(m.out.Diagnostics, remarks...)
	if cfg.APIKey != nil && m.info.APIKeyEnv == "" {
		m.note("config member ignored", "apiKey: the harness has no variable for it")
	}
	faults = append(append([]protocol.Fault(nil), in.Faults...), faults...)
	if limit := m.o.MaxPermissionMode; limit != "" && reach(in.Config.PermissionMode) > reach(limit) {
		faults = append(faults, protocol.Fault{
			Path:    "config.permissionMode",
			Message: "goes beyond what this server allows: " + string(limit),
		})
	}
	return faults
}

// reach orders permission modes by how much a harness may do unasked.
func reach(mode protocol.PermissionMode) int {
	switch mode {
	case protocol.ModePlan:
		return 0
	case protocol.ModeAcceptEdits:
		return 2
	case protocol.ModeDontAsk:
		return 3
	case protocol.ModeBypassPermissions:
		return 4
	}
	return 1 // default, and what is absent
}

// admit records the turn and acknowledges it. The record goes into the same
// append as the turn's first events: either both are there after a crash, or
// neither is.
func (m *Machine) admit(in StartTurn, a admission) {
	m.admitted[in.TurnID] = a
	m.out.Admit = &Admission{TurnID: in.TurnID, Hash: a.hash}
	m.ackTurn(in, a.disposition, false)
}
