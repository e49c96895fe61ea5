package acp

import (
	"slices"
	"time"

	"agent-server/harness"
	"agent-server/protocol"
)

// Version 1 has no word for an agent that works by itself: it just speaks, with no
// prompt under way. That may be work that runs on beside the turns, or the tail of a
// turn whose answer overtook it; nobody can tell, and nothing is lost: it opens a turn
// of its own, which makes room for a client's at once and ends once the agent has been
// silent for a while. Nothing opens one
//   - before the process has answered a prompt: what is said then is the replay of an
//     old session, or a greeting;
//   - that may be the tail of a turn which was cancelled;
//   - that is white space alone, or what the agent's Quirks.Chatter names.

// quietTimer bounds the silence in which such a turn ends.
const quietTimer = "quiet"

// quiet is that silence.
const quiet = time.Second

// maxQuiet is how often it is waited for anew while a tool or a request is open.
const maxQuiet = 600

// maxSaidIDs bounds the message ids of one turn that are kept.
const maxSaidIDs = 256

// heard says whether what the agent says has a turn to stand in, and opens one where
// it may. What comes while the next prompt waits for its settings stands in that turn.
func (t *translator) heard(id string) bool {
	switch _, old := t.replay.said.recall(id); {
	case old:
		return false
	case t.running():
	case !t.served || t.refused != nil || t.stage != ready || t.fenced.holds(id):
		return false
	case t.turn == nil:
		t.turn = &turn{written: true, own: true}
		t.speech = speech{n: t.speech.n}
		t.emit(harness.Woken{Yields: true})
	}
	if ids := t.turn.ids; id != "" && len(ids) < maxSaidIDs && !slices.Contains(ids, id) {
		t.turn.ids = append(ids, id)
	}
	return true
}

// fence keeps the tail of a cancelled turn out: the ids of its messages, and whatever
// has none.
type fence struct {
	up  bool
	ids []string
}

// holds says whether something with that id may be of the cancelled turn.
func (f fence) holds(id string) bool {
	return f.up && (id == "" || slices.Contains(f.ids, id))
}

// stillAwake sets the clock anew with each line of such a turn.
func (t *translator) stillAwake() {
	if t.turn != nil && t.turn.own && !t.turn.loop {
		t.turn.silent = 0
		t.out.Timers = append(t.out.Timers, harness.Timer{Name: quietTimer, After: quiet})
	}
}

// fallAsleep ends such a turn, unless something is still to come in it.
func (t *translator) fallAsleep() {
	if t.turn == nil || !t.turn.own || t.turn.loop {
		return
	}
	if (len(t.asks) > 0 || t.toolsOpen()) && !t.turn.cancelled && t.turn.silent < maxQuiet {
		t.turn.silent++
		t.out.Timers = append(t.out.Timers, harness.Timer{Name: quietTimer, After: quiet})
		return
	}
	t.finishOwn(harness.Finished{Reason: protocol.StopEndTurn})
}

// finishOwn ends a turn of the agent's own; as cancelled, where it was.
func (t *translator) finishOwn(end harness.Finished) {
	if t.turn.cancelled {
		end = harness.Finished{Reason: protocol.StopCancelled, Raw: end.Raw}
	}
	t.finish(end)
}

// giveWay leaves a turn of the agent's own whose place another has taken. The machine
// has closed what was open in it.
func (t *translator) giveWay() {
	if t.turn == nil || !t.turn.own {
		return
	}
	said := t.out.Updates
	t.leave(false)
	t.out.Updates = said
	t.out.Timers = append(t.out.Timers, harness.Timer{Name: quietTimer})
}
