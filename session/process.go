package session

import (
	"encoding/json"
	"slices"
	"strconv"

	"agent-server/harness"
	"agent-server/protocol"
)

// maxRestarts bounds the processes that are replaced for one turn: a harness
// that asks for more would ask for ever.
const maxRestarts = 3

// process is one generation: a process and its translator. It is live from the
// step that asks for it until it exits, cannot be started, or is stopped:
//
//	spawn ─→ live ─→ gone          it exited, and its translator had its last word
//	           ├───→ let go        we stopped it: an older generation from then on
//	           └───→ stopping ─→ … its translator stopped it in a turn: its exit counts
//
// A session has one at most. What is let go is not waited for here: who performs
// the next spawn does that, so that two processes never share a native session.
type process struct {
	// gen is its generation, from 1.
	gen int
	// launch is what it was started for.
	launch harness.Launch
	tr     harness.Translator
	// cfg is the config in force.
	cfg protocol.RunConfig
	// created is true once this process has named its native session.
	created bool
	// resumed waits to be said by the next session.created; nil: nothing to say.
	resumed *bool
	// tasks run on beside the turns.
	tasks []harness.Task
	// stopping is true where the harness had itself stopped while a turn is
	// open: its exit ends the turn.
	stopping bool
	// gone is true once it has exited.
	gone bool
	// served is true once a turn has ended in it.
	served bool
	// feed is what the translator is to be told next.
	feed []harness.Input
}

// provide gives the open turn a process that is configured for it, and begins:
// the live one as it is, the live one reconfigured, or a new one that goes on
// with the conversation.
func (m *Machine) provide() {
	t := m.turn
	launch, moved := m.want(t.cfg)
	if p := m.proc; p != nil && (moved || !m.reconfigure(p)) {
		m.note("process restarted: it cannot take the turn's config", "")
		m.stop()
	}
	if m.turn == nil || t.restarts > 0 {
		return // what the harness said on being configured has decided already
	}
	if m.proc == nil && !m.spawn(launch) {
		return
	}
	if m.proc.created {
		m.sayCreated(m.proc)
	}
	m.begin()
}

// reconfigure gives a live process the turn's config, where it differs; false
// where only a new process can take it.
func (m *Machine) reconfigure(p *process) bool {
	if sameConfig(p.cfg, m.turn.cfg) {
		p.cfg = m.turn.cfg // for what only the machine looks at
		return true
	}
	out := p.tr.Step(harness.Configure{Old: p.cfg, New: m.turn.cfg})
	if out.Process != harness.Keep {
		m.out.Diagnostics = append(m.out.Diagnostics, out.Diagnostics...)
		return false
	}
	p.cfg = m.turn.cfg
	m.apply(p, out)
	m.pump()
	return true
}

// sameConfig says whether a process made for a can run b. What only the machine
// looks at is left out: the native session has a rule of its own, raw events are
// made here.
func sameConfig(a, b protocol.RunConfig) bool {
	identity := func(c protocol.RunConfig) string {
		c.ResumeSessionID, c.ResumeSessionAt, c.IncludeRaw = nil, nil, nil
		return string(protocol.TurnIdentity(protocol.Input{}, c))
	}
	return identity(a) == identity(b)
}

// spawn starts a generation; false where the harness cannot be launched so,
// which fails the turn.
func (m *Machine) spawn(l harness.Launch) bool {
	command, err := m.o.Harness.Launch(l)
	if err != nil {
		m.failTurn(protocol.CategoryInvalidRequest, err.Error())
		return false
	}
	m.gen++
	m.proc = &process{gen: m.gen, launch: l, cfg: l.Config, tr: m.o.Harness.New(l, m.newID)}
	m.out.Spawn = &Spawn{Gen: m.gen, Launch: l, Command: command}
	return true
}

// begin gives the turn to the live process. What was said of a prompt before it
// had one was said of another.
func (m *Machine) begin() {
	t := m.turn
	t.written, t.registered = false, false
	m.tell(harness.Begin{Turn: t.id, Input: t.input, Config: t.cfg})
	m.pump()
}

// replace gives the open turn another process, after the one before was stopped,
// and begins it again there. What the one before had open ends with it.
func (m *Machine) replace() {
	t := m.turn
	if t == nil {
		return
	}
	m.closeStreaming(nil)
	m.drainPermissions(byHarness)
	m.endMessage()
	t.parts, t.unanswered = map[string]*part{}, nil
	t.restarts++
	if t.cancel.accepted || t.restarts > maxRestarts {
		m.failTurn(protocol.CategoryInternal, "the harness asked for one restart after another")
		return
	}
	if m.spawn(m.launch(t.cfg)) {
		m.begin()
	}
}

// stop ends the live process by the ladder and lets it go: from here on it is an
// older generation.
func (m *Machine) stop() {
	if m.proc == nil {
		return
	}
	m.halt(m.proc)
	m.drop()
}

// halt asks for the end of a process. One that this very step asked for is not
// started at all. Nothing is written to it any more but its farewell.
func (m *Machine) halt(p *process) {
	if p.stopping || p.gone {
		return
	}
	if m.spawning(p) {
		m.out.Spawn = nil
	} else {
		m.out.Stop = &Stop{Gen: p.gen}
		if l, ok := p.tr.(harness.Leaver); ok {
			m.out.Stop.Stdin = l.Leave()
		}
	}
	if m.out.StdinGen == p.gen {
		m.out.Stdin, m.out.StdinGen, m.out.Prompt = nil, 0, false
	}
}

// writeRefused begins the turn again in another process, once, where its prompt
// never reached the one that it was written to: that had died since its last turn,
// and nobody knew. Once the harness has taken up anything of the turn the prompt
// has been somewhere, and the exit that follows is the turn's end.
func (m *Machine) writeRefused(in WriteRefused) {
	if _, ok := m.current(in.Gen, "refused write"); !ok {
		return
	}
	switch t := m.turn; {
	case t == nil || t.own || !t.written || t.registered || t.refused || m.proc.stopping:
		m.note("refused write that is not begun again", "")
	case t.cancel.accepted:
		m.stop()
		m.endTurn(ending{reason: protocol.StopCancelled})
	default:
		m.note("prompt refused by a dead process; begun again in another", "")
		t.refused, t.written = true, false
		m.stop()
		m.replace()
	}
}

// spawning says whether this very step asks for the process.
func (m *Machine) spawning(p *process) bool { return m.out.Spawn != nil && m.out.Spawn.Gen == p.gen }

// drop lets the live process go.
func (m *Machine) drop() {
	m.disarmGeneration(m.proc.gen)
	m.proc = nil
}

// current is the live process, if gen names it. Anything else is of an older
// generation and changes nothing.
func (m *Machine) current(gen int, what string) (*process, bool) {
	if m.proc != nil && m.proc.gen == gen {
		return m.proc, true
	}
	m.note("input of an older generation", what+" "+strconv.Itoa(gen))
	return nil, false
}

// spawned takes the news that the process runs. Nothing waits for it: what is
// written to it waits in its pipe.
func (m *Machine) spawned(in Spawned) { m.current(in.Gen, "spawned") }

// spawnFailed ends the turn that needed the process.
func (m *Machine) spawnFailed(in SpawnFailed) {
	m.left(in.Gen)
	if _, ok := m.current(in.Gen, "spawn failed"); !ok {
		return
	}
	m.drop()
	if in.InUse { // asked for a conversation that it cannot have, or not yet
		m.failTurn(protocol.CategoryInvalidRequest, in.Message)
		return
	}
	m.failTurn(protocol.CategoryProcessExit, in.Message)
}

// nativeLine takes one line of the harness.
func (m *Machine) nativeLine(in NativeLine) {
	p, ok := m.current(in.Gen, "line")
	if !ok {
		return
	}
	m.line = in.Line
	m.sayRaw()
	m.apply(p, p.tr.Line(in.Line))
	m.pump()
	m.line = nil
}

// sayRaw shows the line as it came, once, before what is made of it, and behind
// the echo of a turn that it opens; what is no JSON has no value to show.
func (m *Machine) sayRaw() {
	t, line := m.turn, m.line
	if t == nil || t.cfg.IncludeRaw == nil || !*t.cfg.IncludeRaw || !json.Valid(line) {
		return
	}
	m.line = nil
	data, meta := m.fitRaw(line)
	m.emit(&protocol.Raw{
		SessionID: m.o.SessionID, TurnID: t.id, Harness: m.info.ID, Data: data, Timestamp: m.now, Meta: meta,
	})
}

// lineDropped tells the translator that a line is missing.
func (m *Machine) lineDropped(in LineDropped) {
	if _, ok := m.current(in.Gen, "dropped line"); ok {
		m.tell(harness.Dropped{Bytes: in.Bytes})
		m.pump()
	}
}

// exited takes the end of the process. The translator speaks first: what looks
// like a crash may be an end that it understands.
func (m *Machine) exited(in Exited) {
	m.left(in.Gen)
	p, ok := m.current(in.Gen, "exit")
	if !ok {
		return
	}
	p.gone = true
	m.apply(p, p.tr.Step(harness.Exited{Status: in.Status}))
	if m.proc == p {
		m.drop()
	}
	switch {
	case m.proc != nil: // replaced
	case m.diedIdle(p):
		m.note("process died before it had the prompt; begun again in another", "")
		m.turn.refused = true
		m.replace()
	case m.turn != nil:
		m.failTurn(protocol.CategoryProcessExit, describe(in.Status))
	default:
		m.note("process exited between turns", "status "+strconv.Itoa(in.Status.Code))
	}
}

// diedIdle says whether a process that has served before has died before it was
// given the open turn's prompt: nobody has read that, and another may. One that dies
// of its own start would only do it again.
func (m *Machine) diedIdle(p *process) bool {
	t := m.turn
	return t != nil && p.served && !p.stopping && !t.own && !t.written && !t.refused && !t.cancel.accepted
}

// left notes that a process is gone, whether it was the live one or not.
func (m *Machine) left(gen int) {
	m.alive = slices.DeleteFunc(m.alive, func(g int) bool { return g == gen })
}
