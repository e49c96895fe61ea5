package acp

import (
	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// compaction takes the state of a compaction.
func (t *translator) compaction(raw jsontext.Value) {
	c := read[struct {
		ID      text `json:"compactionId"`
		Status  text `json:"status"`
		Summary text `json:"summary"`
	}](raw)
	if c.ID == "" || c.Status == "" || !t.running() {
		t.note("compaction ignored", word(string(c.Status)))
		return
	}
	summary := string(c.Summary)
	if summary == "" {
		summary = t.compactions[string(c.ID)]
	}
	if c.Status != "in_progress" && c.Status != "pending" {
		delete(t.compactions, string(c.ID))
	}
	t.emit(harness.Compaction{Key: string(c.ID), Status: string(c.Status), Summary: summary})
}

// compactionSummary takes a piece of a summary; it is shown with the next state.
func (t *translator) compactionSummary(raw jsontext.Value) {
	c := read[struct {
		ID      text           `json:"compactionId"`
		Content jsontext.Value `json:"content"`
	}](raw)
	b := read[content](c.Content)
	if c.ID == "" || b.Text.Kind() != '"' {
		return
	}
	if t.compactions == nil {
		t.compactions = map[string]string{}
	}
	t.compactions[string(c.ID)] += protocol.Unquote(b.Text)
}
