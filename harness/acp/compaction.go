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
		summary = string(t.compactions[string(c.ID)])
	}
	if c.Status != "in_progress" && c.Status != "pending" {
		delete(t.compactions, string(c.ID))
	}
	t.emit(harness.Compaction{Key: string(c.ID), Status: string(c.Status), Summary: summary})
}

// maxSummary is about what is kept of one compaction's summary, in bytes.
const maxSummary = 1 << 20

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
		t.compactions = map[string][]byte{}
	}
	if id := string(c.ID); len(t.compactions[id]) < maxSummary {
		t.compactions[id] = append(t.compactions[id], protocol.Unquote(b.Text)...)
	}
}
