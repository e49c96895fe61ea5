package acp

import (
	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// planKey is the native key of a turn's plan: an agent has one, and sends it whole
// each time.
const planKey = "plan"

// planEntry is one step, as a plan part has it.
type planEntry struct {
	// Content is the step, for people.
	Content string `json:"content"`
	// Status is pending, in_progress or completed.
	Status string `json:"status"`
	// Priority is the agent's own word; absent where it has none.
	Priority string `json:"priority,omitzero"`
}

// plan takes the whole plan. A step with a status that no reader knows counts as
// pending, and what is no step is left out: one odd step must not hide the others.
func (t *translator) plan(raw jsontext.Value) {
	if !t.running() {
		t.note("update outside a turn ignored", planKey)
		return
	}
	p := read[struct {
		Entries jsontext.Value `json:"entries"`
	}](raw)
	entries := []planEntry{}
	for _, e := range list[struct {
		Content  text `json:"content"`
		Status   text `json:"status"`
		Priority text `json:"priority"`
	}](p.Entries) {
		entries = append(entries, planEntry{string(e.Content), planStatus(string(e.Status)), string(e.Priority)})
	}
	t.emit(harness.PartSet{Part: planKey, Value: &protocol.UnknownPart{Kind: protocol.PartPlan, Raw: protocol.Encode(struct {
		Type    protocol.PartType `json:"type"`
		Entries []planEntry       `json:"entries"`
	}{protocol.PartPlan, entries})}})
}

// planStatus is one of the three words that a plan part may hold.
func planStatus(status string) string {
	switch status {
	case "in_progress", "completed":
		return status
	}
	return "pending"
}
