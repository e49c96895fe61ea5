package claudecode

import (
	"strings"

	"agent-server/harness"
	"agent-server/protocol"
)

// compaction is one that was begun in this turn.
type compaction struct {
	// key is ours; the CLI has none.
	key string
	// running is true until it has ended.
	running bool
	// bounded is true once its boundary came, summed once its summary did.
	bounded, summed bool
}

// The states of a compaction.
const (
	compacting       = "in_progress"
	compactDone      = "completed"
	compactFailed    = "failed"
	compactCancelled = "cancelled"
)

// onStatus takes a change of the permission mode, and a compaction's begin and
// end. The rest are hints.
func (t *translator) onStatus(line []byte) {
	s := object[system](line)
	t.noteMode(s.Mode)
	if t.turn == nil {
		return
	}
	switch {
	case s.Status == "compacting" && (t.turn.compaction == nil || !t.turn.compaction.running):
		t.startCompaction()
	case s.Result == "success":
		t.updateCompaction(compactDone)
	case s.Result != "":
		t.updateCompaction(compactFailed)
	}
}

func (t *translator) startCompaction() {
	t.turn.compaction = &compaction{key: t.newID(), running: true}
	t.emit(harness.Compaction{Key: t.turn.compaction.key, Status: compacting})
}

// updateCompaction ends the running compaction, if one is.
func (t *translator) updateCompaction(status string) {
	if c := t.turn.compaction; c != nil && c.running {
		c.running = false
		t.emit(harness.Compaction{Key: c.key, Status: status})
	}
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
	c := t.turn.compaction
	if c == nil || c.bounded {
		c = &compaction{key: t.newID()}
		t.turn.compaction = c
	}
	c.running, c.bounded = false, true
	t.emit(harness.Compaction{Key: c.key, Status: compactDone, Trigger: string(m.Trigger),
		PreTokens: (*protocol.Number)(m.Pre), PostTokens: (*protocol.Number)(m.Post)})
}

// onSummary takes what the CLI tells the model in the user's name: after a
// compaction that is the summary; the rest concerns nobody else.
func (t *translator) onSummary(blocks []content) {
	if t.turn == nil || t.turn.compaction == nil || !t.turn.compaction.bounded || t.turn.compaction.summed {
		return
	}
	var summary strings.Builder
	for _, c := range blocks {
		if c.Type == "text" {
			summary.WriteString(string(c.Text))
		}
	}
	t.turn.compaction.summed = true
	t.emit(harness.Compaction{Key: t.turn.compaction.key, Status: compactDone, Summary: summary.String()})
}

// endCompaction gives one that still runs at the end of its turn the end that the
// CLI did not tell.
func (t *translator) endCompaction(cancelled bool) {
	status := compactFailed
	if cancelled {
		status = compactCancelled
	}
	t.updateCompaction(status)
}
