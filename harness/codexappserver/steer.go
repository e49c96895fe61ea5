package codexappserver

import (
	"strings"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"
)

// A prompt can join a running turn, but only the one whose id is named with it; by the
// time that Codex reads it, another may run, or none. Whoever sent it was told that it
// was taken, so it must not be lost: the turn's end waits for the answer, and what came
// too late gets a native turn of its own before ours ends.

// steerParams are those of turn/steer.
type steerParams struct {
	ThreadID string      `json:"threadId"`
	Input    []inputItem `json:"input"`
	// ExpectedTurnID is the turn that the prompt is to join.
	ExpectedTurnID string `json:"expectedTurnId"`
}

// steer puts a further prompt into the running turn.
func (t *translator) steer(in harness.Steer) {
	if t.turn == nil {
		t.note("prompt for a turn that is over", "")
		return
	}
	t.turn.steers++
	t.writeSteer(in, t.turn.id)
}

func (t *translator) writeSteer(in harness.Steer, turn string) {
	items, err := inputItems(in.Input)
	if err != nil {
		t.turn.steers--
		t.emit(harness.Notice{Category: protocol.CategoryInvalidRequest, Message: err.Error()})
		return
	}
	t.call("turn/steer", steerParams{t.thread, items, turn}, func(t *translator, m rpcline.Message) {
		t.steered(in, turn, m)
	})
}

// steered takes the answer to turn/steer. A turn that was over by then leaves the
// prompt with us: it gets a turn of Codex's own within the one of ours.
func (t *translator) steered(in harness.Steer, turn string, m rpcline.Message) {
	if t.turn == nil {
		return
	}
	if m.Error != nil {
		found := runningID.FindStringSubmatch(m.Error.Message)
		switch {
		case found != nil && found[1] != turn:
			t.writeSteer(in, found[1])
			return
		case strings.Contains(m.Error.Message, "no active turn"):
			t.turn.again = append(t.turn.again, in)
		default:
			e := failed(m.Error, "Codex did not take the further prompt")
			t.emit(harness.Notice{Category: e.Category, Message: e.Message})
		}
	}
	t.turn.steers--
	if t.turn.steers == 0 {
		t.releaseHeld()
	}
}

// releaseHeld ends a turn whose end waited for a steer's answer.
func (t *translator) releaseHeld() {
	if held := t.turn.held; held != nil {
		t.turn.held, t.turn.steers = nil, 0
		t.endTurn(*held)
	}
}

// goOn begins another native turn with the prompts that came too late for the one
// that ended.
func (t *translator) goOn() {
	t.endItems(t.thread, "completed")
	t.stopTimer(idleTimer)
	var items []inputItem
	for _, s := range t.turn.again {
		more, _ := inputItems(s.Input) // it was written once already
		items = append(items, more...)
	}
	t.last, t.turn.id, t.turn.again = t.turn.id, "", nil
	t.startTurn(t.turn.in.Config, items)
}
