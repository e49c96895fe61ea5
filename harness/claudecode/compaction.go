package claudecode

import (
	"strings"

	"agent-server/harness"
	"agent-server/protocol"
)

// compaction is one that was begun in this turn. What the CLI tells of its end
// comes in three lines (that it went well, what it saved, what the context is
// now); it is told in one, for a compaction that is over stays over.
type compaction struct {
	// end is its last word as far as known. The key in it is ours; the CLI has
	// none.
	end harness.Compaction
	// well is true once the CLI said that it went well.
	well bool
	// bounded is true once the CLI said what it saved.
	bounded bool
	// over is true once its end was told.
	over bool
}

// The states of a compaction.
const (
	compactRunning   = "in_progress"
	compactDone      = "completed"
	compactFailed    = "failed"
	compactCancelled = "cancelled"
)

// onStatus takes a change of the permission mode, and a compaction's begin and
// end. The rest are hints.
func (t *translator) onStatus(line []byte) {
	s := object[system](line)
	t.noteMode(s.Mode)
	c := t.openCompaction()
	switch {
	case t.turn == nil:
	case s.Status == "compacting" && c == nil:
		t.turn.compaction = t.newCompaction()
		t.emit(harness.Compaction{Key: t.turn.compaction.end.Key, Status: compactRunning})
	case c == nil:
	case s.Result == "success":
		c.well = true
	case s.Result != "" && t.turn.cancelled:
		// The result of /compact will say that all went well.
		t.turn.cut = true
		t.endCompaction(compactCancelled)
	case s.Result != "":
		t.endCompaction(compactFailed)
	}
}

// openCompaction is the turn's compaction whose end was not told; nil: none.
func (t *translator) openCompaction() *compaction {
	if t.turn == nil || t.turn.compaction == nil || t.turn.compaction.over {
		return nil
	}
	return t.turn.compaction
}

// newCompaction is one that ends well unless it is said otherwise.
func (t *translator) newCompaction() *compaction {
	return &compaction{end: harness.Compaction{Key: t.newID(), Status: compactDone}}
}

// onCompactBoundary takes how much a compaction saved.
func (t *translator) onCompactBoundary(line []byte) {
	if t.turn == nil {
		return
	}
	m := object[struct {
		Trigger text    `json:"trigger"`
		Pre     *number `json:"pre_tokens"`
		Post    *number `json:"post_tokens"`
	}](object[system](line).Compact)
	c := t.openCompaction()
	if c == nil || c.bounded {
		t.settleCompaction()
		c = t.newCompaction()
		t.turn.compaction = c
	}
	c.bounded = true
	t.gauge.request = apiUsage{} // how full the window is now, the next request says
	c.end.Trigger = string(m.Trigger)
	c.end.PreTokens, c.end.PostTokens = (*protocol.Number)(m.Pre), (*protocol.Number)(m.Post)
}

// onSummary takes what the CLI tells the model in the user's name: after a
// compaction that is the summary; the rest concerns nobody else.
func (t *translator) onSummary(blocks []content) {
	c := t.openCompaction()
	if c == nil || !c.bounded {
		return
	}
	var summary strings.Builder
	for _, b := range blocks {
		if b.Type == "text" {
			summary.WriteString(string(b.Text))
		}
	}
	c.end.Summary = summary.String()
	t.settleCompaction()
}

// settleCompaction tells the end of a compaction that went well: with the
// summary, or when something else comes that shows that there is none to come.
func (t *translator) settleCompaction() {
	if c := t.openCompaction(); c != nil && (c.well || c.bounded) {
		c.over = true
		t.emit(c.end)
	}
}

// endCompaction gives one that still runs an end that is not a good one.
func (t *translator) endCompaction(status string) {
	t.settleCompaction()
	if c := t.openCompaction(); c != nil {
		c.over = true
		t.emit(harness.Compaction{Key: c.end.Key, Status: status})
	}
}
