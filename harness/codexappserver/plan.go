package codexappserver

import (
	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"
)

// The plan part is an addition of ours that the base protocol does not know, so it
// goes as a part of an unknown type, whole each time.

// planEntry is one step of a plan, as the protocol writes it.
type planEntry struct {
	Content string `json:"content"`
	// Status is pending, in_progress or completed.
	Status string `json:"status"`
}

// planned takes the model's list of steps, always whole: one part a turn, which
// each list replaces.
func (t *translator) planned(p params) {
	if t.stale(p) {
		t.note("plan of a turn that is over", "")
		return
	}
	entries := []planEntry{}
	for _, step := range rpcline.List[struct {
		Step   rpcline.Text `json:"step"`
		Status rpcline.Text `json:"status"`
	}](p.Plan) {
		status := string(step.Status)
		if status == "inProgress" {
			status = "in_progress"
		}
		entries = append(entries, planEntry{string(step.Step), status})
	}
	owner := t.owner(string(p.ThreadID))
	p.ItemID = "plan"
	raw := protocol.Encode(struct {
		Type    protocol.PartType `json:"type"`
		Entries []planEntry       `json:"entries"`
	}{protocol.PartPlan, entries})
	t.emit(harness.PartSet{
		Part: p.key(""), Owner: owner, Value: &protocol.UnknownPart{Kind: protocol.PartPlan, Raw: raw},
	})
}
