package session

import (
	"agent-server/broker"
	"agent-server/harness"
	"agent-server/protocol"
)

// Machine is one session. Make it with New.
type Machine struct {
	o Options
	// info is the harness's, asked for once.
	info harness.Info
	ids  ids

	// now and out belong to the step that runs.
	now int64
	out Output
	// line is the native line that the step takes, while it has not been shown.
	line []byte

	// next is the seq of the next event.
	next int64
	// admitted are the turns of all lives of the session, with their content's
	// hash.
	admitted map[string]admission
	// timers are those that are set, the translator's too; a few at most.
	timers []armed

	// turn is the open one; nil between turns.
	turn *turn
	// queue are the admitted turns that wait for it to end, in order.
	queue []StartTurn
	// reported is what was said of the session itself.
	reported reported
	// proc is the live generation; nil where there is none, or only such as are
	// being stopped.
	proc *process
	// gen is the last generation given.
	gen    int
	native native
	// tools are the open turn's, and those that earlier turns left open, by call.
	tools  map[string]*tool
	broker broker.Broker
	// loose are the fields whose last deltas no snapshot restates, in order of
	// the first of them.
	loose []growing

	// absent is true while no client is there.
	absent bool
	// shutting is true from Shutdown on.
	shutting bool
	// closing is true once a close waits for the open turn; closers are those who
	// asked.
	closing bool
	closers []Token
	// ended is true once session.ended was said.
	ended bool
	// alive are the generations that were asked for and have not exited, those
	// that are being stopped too.
	alive []int
}

// New makes the machine of one session. It says nothing yet: no event, no
// process.
func New(o Options) *Machine {
	if o.NextSeq == 0 {
		o.NextSeq = 1
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = DefaultIdleTimeout
	}
	m := &Machine{
		o:        o,
		info:     o.Harness.Info(),
		ids:      newIDs(o.Seed),
		next:     o.NextSeq,
		admitted: make(map[string]admission, len(o.Admissions)),
		tools:    map[string]*tool{},
	}
	m.native.id, m.native.restored = o.NativeID, o.NativeID != ""
	m.broker.Restore(o.Rules)
	for _, a := range o.Admissions {
		m.admitted[a.TurnID] = admission{hash: a.Hash}
	}
	return m
}

// Step is the only door: what happened goes in, what must be done comes out. now
// is in epoch milliseconds and not negative. The Output is the caller's.
func (m *Machine) Step(now int64, in Input) Output {
	m.now = now
	switch in := in.(type) {
	case StartTurn:
		m.startTurn(in)
	case CancelTurn:
		m.cancelTurn(in)
	case ResolvePermission:
		m.resolvePermission(in)
	case Clients:
		m.clients(in)
	case WriteRefused:
		m.writeRefused(in)
	case Spawned:
		m.spawned(in)
	case SpawnFailed:
		m.spawnFailed(in)
	case NativeLine:
		m.nativeLine(in)
	case LineDropped:
		m.lineDropped(in)
	case Exited:
		m.exited(in)
	case Deadline:
		m.deadline(in)
	case Close:
		m.close(in)
	case Shutdown:
		m.shutdown(in)
	}
	m.settle()
	out := m.out
	m.out = Output{}
	return out
}

// settle does what follows from where a step has left the session.
func (m *Machine) settle() {
	for m.settleOwn() || m.startNext() {
	}
	if !m.ended {
		m.sayTasks(m.BackgroundTasks())
	}
	if (m.shutting || m.closing) && m.turn == nil && !m.ended {
		m.endSession(m.endReason())
	}
	m.watchLoose()
	m.watchOwn()
	m.watchIdle()
	if m.out.Spawn != nil {
		m.alive = append(m.alive, m.out.Spawn.Gen)
	}
}

// emit stamps an event and adds it to this step's.
func (m *Machine) emit(ev protocol.Event) {
	m.out.Events = append(m.out.Events, Stamped{Seq: m.next, Event: ev})
	m.next++
}

// ack answers before this step's events.
func (m *Machine) ack(t Token, result any) {
	m.out.Acks = append(m.out.Acks, Answer{Token: t, Result: result})
}

// reply answers after this step's events.
func (m *Machine) reply(t Token, result any) {
	m.out.Replies = append(m.out.Replies, Answer{Token: t, Result: result})
}

// refuse answers with an error.
func (m *Machine) refuse(t Token, err *protocol.Error) {
	m.out.Replies = append(m.out.Replies, Answer{Token: t, Err: err})
}

// note adds a diagnostic.
func (m *Machine) note(message, detail string) {
	m.out.Diagnostics = append(m.out.Diagnostics, harness.Diagnostic{Message: message, Detail: detail})
}
