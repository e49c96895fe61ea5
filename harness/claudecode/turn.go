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
	t.tracked = true
	if t.turn == nil {
		return
	}
	if i := t.turn.owes(string(l.Command)); i >= 0 {
		t.onFurther(i, l.State)
		return
	}
	if string(l.Command) != t.turn.uuid || t.turn.uuid == "" {
		return // the end of a turn before this one may come this late
	}
	switch l.State {
	case "queued":
		if t.turn.visited {
			t.register() // an interrupt takes it out of the queue
		}
	case "started":
		t.turn.started = true
		t.register()
	case "completed", "cancelled":
		t.settleSoon(string(l.State))
	default:
		t.note("unknown life cycle state", word(string(l.State)))
	}
}

// settleSoon ends the turn in a while, unless its result comes.
func (t *translator) settleSoon(state string) {
	t.turn.settled = state
	t.out.Timers = append(t.out.Timers, harness.Timer{Name: settleTimer, After: settleAfter})
}

// settleNot takes that back.
func (t *translator) settleNot() {
	if t.turn.settled != "" {
		t.turn.settled = ""
		t.stopTimer(settleTimer)
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
	end := harness.Finished{Reason: protocol.StopEndTurn, Raw: t.turn.settled}
	switch {
	case t.turn.held != nil:
		end = *t.turn.held
	case t.turn.settled == "cancelled" || t.turn.cancelled:
		end.Reason = protocol.StopCancelled
	}
	t.finish(end)
}

// onInit takes the line that starts every native turn: that of our prompt, or one
// of the CLI's own, upon the end of a background task for instance. Of its own it
// may start one right before it reads our prompt, which then waits: what it says
// belongs to our turn, its end does not.
func (t *translator) onInit(line []byte) {
	s := object[system](line)
	t.noteMode(s.Mode)
	t.noteModel(s.Model)
	switch {
	case t.turn == nil && !t.prompted:
		t.note("native turn before the first prompt", "")
		return
	case t.turn == nil:
		t.wake()
	case t.turn.woken:
	case !t.begins(s):
		t.turn.visited = true
		t.note("native turn of another prompt", "")
		return
	default:
		t.turn.started = true
		t.register()
	}
	t.create(s.Session)
}

// begins says whether an init begins the native turn of a prompt of the turn.
// Without prompt ids it does in an older CLI, and where the prompt was taken up.
func (t *translator) begins(s system) bool {
	prompts := texts(s.Prompts)
	if len(prompts) == 0 {
		return t.turn.written && (t.turn.started || !t.tracked)
	}
	return t.turn.answers(prompts)
}

// answers says whether one of these prompts is the turn's.
func (t *turn) answers(prompts []string) bool {
	return slices.ContainsFunc(prompts, func(uuid string) bool {
		return t.uuid == uuid || t.owes(uuid) >= 0
	})
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
	// Subtype is interrupt.
	Subtype string `json:"subtype"`
	// Queued is true where prompts that wait are to be dropped too.
	Queued bool `json:"cancel_queued,omitzero"`
}

// interrupt stops what the main agent does.
func (t *translator) interrupt(queued bool) {
	t.aside("interrupt", interrupting{"interrupt", queued})
}

// cancel interrupts the turn. The CLI itself withdraws what it has asked for, so
// nothing is written for open requests. A prompt still held is dropped.
func (t *translator) cancel() {
	switch {
	case t.turn == nil && len(t.background) > 0:
		t.stopTasks()
	case t.turn == nil:
		t.note("cancel without a turn", "")
	case !t.turn.written:
		t.emit(harness.Finished{Reason: protocol.StopCancelled})
		t.abandonTurn()
	default:
		t.turn.cancelled = true
		clear(t.asks)
		t.interrupt(!t.turn.started || len(t.turn.further) > 0)
	}
}

// finish ends the turn with all that belongs to it.
func (t *translator) finish(end harness.Finished) {
	if end.Reason == protocol.StopCancelled {
		t.endCompaction(compactCancelled)
	} else {
		t.endCompaction(compactFailed)
	}
	end.Tokens, end.Cost = t.turn.tokens, t.turn.cost
	again := t.keepAsks()
	t.emit(end)
	for _, a := range again {
		t.ask(a)
	}
	if t.turn.settled != "" {
		t.stopTimer(settleTimer)
	}
	t.leaveMessages()
	t.turn = nil
}

// leaveMessages lets go of what a native turn has said; not of its requests, for
// the machine still answers what is open.
func (t *translator) leaveMessages() {
	t.forgetUnfinished()
	t.stream, t.open = nil, openMessage{}
	clear(t.blocks)
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
