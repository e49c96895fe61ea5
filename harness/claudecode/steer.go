package claudecode

import (
	"slices"

	"agent-server/harness"
	"agent-server/protocol"
)

// A prompt that is written while a turn runs waits in the CLI. Behind a tool's
// result it is folded into the running turn; where no tool runs any more it is
// answered in a native turn of its own, which follows at once. Either way it is
// part of the turn that it was written into: that ends with the result that
// answers the last of its prompts, so that none is lost, and none answered twice.

// steer writes a further prompt into the running turn.
func (t *translator) steer(in harness.Steer) {
	if t.turn == nil || !t.turn.written || t.turn.cancelled {
		t.note("steer without a turn", "")
		return
	}
	uuid := t.newID()
	line, err := promptLine(uuid, in.Input)
	if err != nil {
		t.emit(harness.Notice{Category: protocol.CategoryInvalidRequest, Message: err.Error()})
		return
	}
	t.turn.further = append(t.turn.further, further{uuid: uuid})
	t.out.Stdin = append(t.out.Stdin, line...)
}

// further is a prompt of a turn beyond its first, whose answer is still to come.
type further struct {
	// uuid is its native id.
	uuid string
	// begun is true once the CLI has taken it up: the next result answers it.
	begun bool
}

// owes finds a further prompt of the turn; -1: it is none, or is answered.
func (t *turn) owes(uuid string) int {
	return slices.IndexFunc(t.further, func(p further) bool { return p.uuid == uuid })
}

// onFurther takes the life cycle of a further prompt.
func (t *translator) onFurther(i int, state text) {
	switch state {
	case "started":
		t.turn.further[i].begun = true
	case "completed", "cancelled":
		t.turn.further = slices.Delete(t.turn.further, i, i+1)
		if t.turn.held != nil && len(t.turn.further) == 0 {
			t.settleSoon(string(state))
		}
	}
}

// hasMore says whether a prompt of the turn is still to be answered after a result
// that answers these.
func (t *turn) hasMore(answered []string) bool {
	t.further = slices.DeleteFunc(t.further, func(p further) bool {
		return p.begun || slices.Contains(answered, p.uuid)
	})
	return len(t.further) > 0 && !t.cancelled
}
