package acp

import (
	"time"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// Version 1 has no word for an agent that works by itself: it just speaks, with no
// prompt under way. Its text then opens a turn of its own, which ends once it has
// said nothing for a while.

// quietTimer bounds the silence in which such a turn ends.
const quietTimer = "quiet"

// quiet is that silence.
const quiet = time.Second

// wake begins a turn of the agent's own, for text that it says; false where the agent
// is not known for such, or a turn of ours is about to begin.
func (t *translator) wake() bool {
	if !t.agent.Quirks.Unasked || t.stage != ready || t.turn != nil || t.refused != nil {
		return false
	}
	t.turn = &turn{written: true, own: true}
	t.speech = speech{n: t.speech.n}
	t.emit(harness.Woken{})
	return true
}

// stillAwake sets the clock anew with each line of such a turn.
func (t *translator) stillAwake() {
	if t.turn != nil && t.turn.own {
		t.out.Timers = append(t.out.Timers, harness.Timer{Name: quietTimer, After: quiet})
	}
}

// fallAsleep ends such a turn.
func (t *translator) fallAsleep() {
	if t.turn == nil || !t.turn.own {
		return
	}
	end := harness.Finished{Reason: protocol.StopEndTurn}
	if t.turn.cancelled {
		end.Reason = protocol.StopCancelled
	}
	t.finish(end)
}

// parent is the call whose sub-agent an update is of, by its _meta; "" at top level.
// A call that is named so runs a sub-agent.
func (t *translator) parent(meta jsontext.Value) string {
	if meta.Kind() != '{' {
		return ""
	}
	m := read[struct {
		Own        text `json:"agent-server/parentToolCallId"`
		ClaudeCode struct {
			Parent text `json:"parentToolUseId"`
		} `json:"claudeCode"`
	}](meta)
	owner := string(m.Own)
	if owner == "" {
		owner = string(m.ClaudeCode.Parent)
	}
	tl := t.tools[owner]
	if tl == nil {
		return "" // of a call that was never shown nothing can hang
	}
	if !tl.runs {
		tl.runs = true
		t.emit(harness.ToolSet{Call: owner, Kind: protocol.KindTask, Subagent: &protocol.Subagent{}})
	}
	return owner
}
