package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agent-server/harness"
	"agent-server/protocol"
)

// tell queues an input for the live translator. It is given by pump, once what
// the translator said before has been taken in whole.
func (m *Machine) tell(in harness.Input) { m.proc.feed = append(m.proc.feed, in) }

// pump gives the live translator what is queued, until nothing is: answers may
// come of answers.
func (m *Machine) pump() {
	for p := m.proc; p != nil && p == m.proc && !p.gone && len(p.feed) > 0; {
		in := p.feed[0]
		p.feed = slices.Delete(p.feed, 0, 1)
		if isCancel(in) {
			if m.turn == nil {
				continue // it has lost its turn meanwhile
			}
			m.turn.unanswered = nil // the translator answers them now
		}
		m.apply(p, p.tr.Step(in))
	}
}

func isCancel(in harness.Input) bool {
	_, is := in.(harness.Cancel)
	return is
}

// apply takes in what a translator said: what happened first, then what it wants
// done.
func (m *Machine) apply(p *process, out harness.Output) {
	m.out.Diagnostics = append(m.out.Diagnostics, out.Diagnostics...)
	for i, u := range out.Updates {
		if m.proc != p {
			m.note("updates of a process that was let go", strconv.Itoa(len(out.Updates)-i))
			return
		}
		m.update(p, u)
	}
	if m.proc != p {
		return
	}
	m.write(p, out.Stdin, slices.ContainsFunc(out.Updates, isPrompt))
	for _, t := range out.Timers {
		m.setTimer(p, t)
	}
	m.processWish(p, out.Process)
}

func isPrompt(u harness.Update) bool {
	_, is := u.(harness.PromptWritten)
	return is
}

// write is for the live process; what this step had for an older one is of no
// use any more. prompt: the open turn's is in it.
func (m *Machine) write(p *process, b []byte, prompt bool) {
	if len(b) == 0 || p.gone || p.stopping {
		return
	}
	if m.out.StdinGen != p.gen {
		m.out.Stdin, m.out.StdinGen, m.out.Prompt = nil, p.gen, false
	}
	m.out.Stdin = append(m.out.Stdin, b...)
	m.out.Prompt = m.out.Prompt || prompt
}

// processWish does what the translator wants done with its process.
func (m *Machine) processWish(p *process, wish harness.Process) {
	switch {
	case wish == harness.Keep:
	case m.turn == nil:
		m.stop()
	case wish == harness.Restart && !m.turn.written:
		m.note("process restarted: the harness asked for it", "")
		m.stop()
		m.replace()
	case m.spawning(p):
		// It will never run, so no exit would end the turn.
		m.stop()
		m.failTurn(protocol.CategoryInternal, "the harness gave up before it was started")
	default:
		m.halt(p)
		p.stopping = true
	}
}

// update takes in one thing that happened. What needs a turn and finds none has
// come late.
func (m *Machine) update(p *process, u harness.Update) {
	if m.turn == nil {
		m.lateUpdate(p, u)
		return
	}
	switch u := u.(type) {
	case harness.TextAppended:
		m.textAppended(u)
	case harness.InputAppended:
		m.inputAppended(u)
	case harness.PartOpened:
		m.partOpened(u)
	case harness.PartSet:
		m.partSet(u)
	case harness.ToolSet:
		m.toolSet(u)
	case harness.MessageOpened:
		m.messageOpened(u)
	case harness.MessageClosed:
		m.messageClosed()
	case harness.Abandoned:
		m.abandoned(u)
	case harness.Asked:
		m.asked(u)
	case harness.Withdrawn:
		m.withdrawn(u)
	case harness.Usage:
		m.usage(u)
	case harness.Compaction:
		m.compaction(u)
	case harness.Notice:
		m.notice(u)
	case harness.PromptWritten:
		m.turn.written = true
	case harness.Registered:
		m.registered()
	case harness.Woken:
		m.woken(u)
	case harness.Finished:
		m.finished(u)
	case harness.Rejected:
		m.rejected(u)
	default:
		m.sessionUpdate(p, u)
	}
}

// lateUpdate takes in what comes while no turn is open: what the harness does of
// its own accord opens one, the end of a tool whose turn is over still goes to its
// place, consent is refused so that the harness does not wait for ever, and what
// else needs a turn is dropped.
func (m *Machine) lateUpdate(p *process, u harness.Update) {
	if trigger, ok := m.wakes(p, u); ok {
		m.openOwn(p, trigger)
		m.update(p, u)
		return
	}
	switch u := u.(type) {
	case harness.ToolSet:
		m.toolSet(u)
	case harness.Asked:
		m.refuseAsked(u, "no turn is open")
	case harness.Withdrawn:
		m.withdrawn(u)
	default:
		m.sessionUpdate(p, u)
	}
}

// sessionUpdate takes in what concerns the session, whether a turn is open or
// not; anything else is dropped.
func (m *Machine) sessionUpdate(p *process, u harness.Update) {
	switch u := u.(type) {
	case harness.Created:
		m.created(p, u)
	case harness.ResumeFailed:
		m.resumeFailed(p, u)
	case harness.Background:
		p.tasks = u.Tasks
	case harness.SessionInfo:
		m.sessionInfo(u)
	default:
		m.note("update dropped: no turn is open", strings.TrimPrefix(fmt.Sprintf("%T", u), "harness."))
	}
}
