package claudecode

import (
	"slices"
	"strings"
	"time"

	"agent-server/harness"
	"agent-server/protocol"
)

// settleAfter is how long a result may follow the end of its prompt's life
// cycle. Seen: it comes up to 100 ms before that end, never behind it. Only a
// prompt that the CLI dropped, or a result that was lost as too long a line, has
// none.
const settleAfter = 2 * time.Second

// onLifecycle binds the prompt to the turn: started is the CLI having taken it.
func (t *translator) onLifecycle(line []byte) {
	l := object[lifecycle](line)
	if t.turn == nil || string(l.Command) != t.turn.uuid {
		return // the end of a turn before this one may come this late
	}
	switch l.State {
	case "queued":
	case "started":
		t.register()
	case "completed", "cancelled":
		t.turn.settled = string(l.State)
		t.out.Timers = append(t.out.Timers, harness.Timer{Name: settleTimer, After: settleAfter})
	default:
		t.note("unknown life cycle state", word(string(l.State)))
	}
}

// register says once that an interrupt now lands.
func (t *translator) register() {
	if !t.turn.registered {
		t.turn.registered = true
		t.emit(harness.Registered{})
	}
}

// settle ends a turn whose result does not come, by what its life cycle said.
func (t *translator) settle() {
	t.note("turn ended without a result", t.turn.settled)
	reason := protocol.StopEndTurn
	if t.turn.settled == "cancelled" {
		reason = protocol.StopCancelled
	}
	t.finish(harness.Finished{Reason: reason, Raw: t.turn.settled})
}

// onInit takes the line that starts every turn. Without prompt ids (an older
// CLI) it is taken for ours.
func (t *translator) onInit(line []byte) {
	s := object[system](line)
	t.noteMode(s.Mode)
	if t.turn == nil || !t.turn.written {
		t.note("native turn that nobody began", "")
		return
	}
	if prompts := texts(s.Prompts); len(prompts) > 0 && !slices.Contains(prompts, t.turn.uuid) {
		t.note("native turn of another prompt", "")
		return
	}
	t.register()
	t.create(s.Session)
}

// create says once a turn which native session it runs in. The id may change:
// /clear starts another conversation in the same process.
func (t *translator) create(session text) {
	if t.turn.created || session == "" {
		return
	}
	t.turn.created = true
	resumed := t.launch.Resume != "" && !t.createdBefore && !t.cleared
	t.createdBefore = true
	t.emit(harness.Created{NativeID: string(session), Resumed: resumed})
}

// onReset takes /clear: the conversation that was resumed is no longer the one
// that runs. The line's own id is not the next one's; init has that.
func (t *translator) onReset([]byte) {
	t.cleared = true
	t.gauge.request = apiUsage{}
	t.spent = new(float64)
}

// interrupting is the interrupt request.
type interrupting struct {
	Subtype string `json:"subtype"`
}

// cancel interrupts the turn. The CLI itself withdraws what it has asked for, so
// nothing is written for open requests. A prompt still held is dropped.
func (t *translator) cancel() {
	switch {
	case t.turn == nil:
		t.note("cancel without a turn", "")
	case !t.turn.written:
		t.emit(harness.Finished{Reason: protocol.StopCancelled})
		t.abandonTurn()
	default:
		t.turn.cancelled = true
		clear(t.asks)
		t.interrupts[t.request(interrupting{"interrupt"})] = true
	}
}

// finish ends the turn with all that belongs to it.
func (t *translator) finish(end harness.Finished) {
	if end.Reason == protocol.StopCancelled {
		t.endCompaction(compactCancelled)
	} else {
		t.endCompaction(compactFailed)
	}
	t.emit(end)
	if t.turn.settled != "" {
		t.stopTimer(settleTimer)
	}
	t.forgetUnfinished()
	t.turn, t.stream, t.open = nil, nil, openMessage{}
	clear(t.blocks) // not the requests: the machine still answers what is open
}

// startRefusals are beginnings of what the CLI writes to stderr when it will not
// start as asked, and what kind of fault that is.
var startRefusals = []struct {
	text     string
	category protocol.ErrorCategory
}{
	{"unknown option", protocol.CategoryInvalidRequest},
	{" is invalid. Allowed choices are ", protocol.CategoryInvalidRequest},
	{"cannot be used with root/sudo privileges", protocol.CategoryInvalidRequest},
	{inUse, protocol.CategoryInvalidRequest},
	{"Not logged in", protocol.CategoryAuth},
	{"Invalid API key", protocol.CategoryAuth},
}

// forgetUnfinished lets go of calls whose input was cut short: they never ran, so
// no result will come. Those that did run may still get theirs.
func (t *translator) forgetUnfinished() {
	if t.stream == nil {
		return
	}
	for _, b := range t.stream.blocks {
		if b.kind == toolBlock && !b.whole {
			delete(t.calls, b.key)
		}
	}
}

// inUse is what the CLI says of an id that another session has. It locks nothing:
// two processes may go on with one session, which it does not notice.
const inUse = "is already in use"

// exited takes the end of the process. A turn that was running is the machine's
// to end; here is only what a CLI says that would not start. Its code is 1 after
// a failed turn as well, so the code alone says nothing.
func (t *translator) exited(s harness.ExitStatus) {
	if t.turn == nil {
		return
	}
	t.endCompaction(compactFailed)
	if t.turn.written || s.Asked {
		return
	}
	reason := harness.LastLine(s.Stderr)
	switch {
	case t.launch.Resume != "" && strings.Contains(s.Stderr, inUse):
		t.emit(harness.ResumeFailed{InUse: true, Message: reason})
	case t.launch.Resume != "" && isLostSession(s.Stderr):
		t.emit(harness.ResumeFailed{Message: reason})
	default:
		for _, r := range startRefusals {
			if strings.Contains(s.Stderr, r.text) {
				t.emit(harness.Rejected{Error: protocol.TurnError{Category: r.category, Message: reason}})
				break
			}
		}
	}
	t.turn = nil
}

// isLostSession says whether a text is the CLI's about a conversation, or a place
// in one, that it does not have.
func isLostSession(s string) bool {
	return strings.Contains(s, "No conversation found") || strings.Contains(s, "No message found") ||
		strings.Contains(s, "--resume requires a valid session ID")
}
