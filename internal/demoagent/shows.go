package demoagent

import (
	"context"
	"strings"
	"time"
)

// planUpdate is the whole plan, each time.
type planUpdate struct {
	// Update is plan.
	Update string `json:"sessionUpdate"`
	// Entries are its steps, in order.
	Entries []planEntry `json:"entries"`
}

// planEntry is one step.
type planEntry struct {
	// Content is the step, for people.
	Content string `json:"content"`
	// Priority is high, medium or low.
	Priority string `json:"priority"`
	// Status is pending, in_progress or completed.
	Status string `json:"status"`
}

// planSteps are what the demo plans.
var planSteps = []planEntry{{Content: "Look around", Priority: "high"}, {Content: "Do it", Priority: "medium"}, {Content: "Tell", Priority: "low"}}

// plan shows a plan, and again after each step.
func plan(ctx context.Context, t *turn) error {
	if err := t.say(ctx, "Planning ", "three steps."); err != nil {
		return err
	}
	for done := range len(planSteps) + 1 {
		if ctx.Err() != nil {
			return errCancelled
		}
		t.send(planUpdate{Update: "plan", Entries: planAt(done)})
	}
	return t.say(ctx, "All three ", "are done.")
}

// planAt is the plan when so many steps are done.
func planAt(done int) []planEntry {
	entries := append([]planEntry(nil), planSteps...)
	for i := range entries {
		switch {
		case i < done:
			entries[i].Status = "completed"
		case i == done:
			entries[i].Status = "in_progress"
		default:
			entries[i].Status = "pending"
		}
	}
	return entries
}

// maxOutput bounds what big makes, below what most clients take as a line.
const maxOutput = 48 << 20

// big is a tool whose output is longer than most will show.
func big(ctx context.Context, t *turn) error {
	n, err := t.number(0, 0, 1, maxOutput)
	if err != nil {
		return err
	}
	if err := t.openTool(ctx, t.commandTool("cat big.txt")); err != nil {
		return err
	}
	if err := t.runTool(ctx); err != nil {
		return err
	}
	const row = "0123456789abcde\n"
	return t.completeTool(ctx, strings.Repeat(row, n/len(row)+1)[:n])
}

// compactionUpdate is how far a compaction has come.
type compactionUpdate struct {
	// Update is compaction_update, or compaction_summary_chunk with Content.
	Update string `json:"sessionUpdate"`
	// CompactionID is unique in the session.
	CompactionID string `json:"compactionId"`
	// Status is in_progress or completed.
	Status string `json:"status,omitzero"`
	// Content is a piece of the summary.
	Content *textBlock `json:"content,omitzero"`
}

// compact shows a compaction to a client that said it shows them, as the protocol
// asks; the demo has no context to compact.
func compact(ctx context.Context, t *turn) error {
	if !t.agent.showsCompactions() {
		return t.say(ctx, "The client shows no compactions.")
	}
	id := t.session.ids.next("compaction")
	summary := newText("Nothing was said so far.")
	for _, u := range []compactionUpdate{
		{Update: "compaction_update", CompactionID: id, Status: "in_progress"},
		{Update: "compaction_summary_chunk", CompactionID: id, Content: &summary},
		{Update: "compaction_update", CompactionID: id, Status: "completed"},
	} {
		if ctx.Err() != nil {
			return errCancelled // what is open ends with the turn
		}
		t.send(u)
	}
	return t.say(ctx, "The demo compacted ", "what it does not have.")
}

// slowCancel hears a cancel, and takes its time.
func slowCancel(ctx context.Context, t *turn) error {
	ms, err := t.number(0, 3000, 0, int(10*time.Minute/time.Millisecond))
	if err != nil {
		return err
	}
	if err := t.say(ctx, "Working ", "until cancelled."); err != nil {
		return err
	}
	<-ctx.Done()
	late := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer late.Stop()
	select {
	case <-late.C:
	case <-t.withdrawn:
	case <-t.agent.ended:
	}
	return errCancelled
}

// sequence is several prompts in one turn; all are looked at before the first is
// run.
func sequence(ctx context.Context, t *turn) error {
	_, rest := splitPrompt(t.text)
	parts := strings.Split(rest, ";")
	for _, part := range parts {
		if next := chooseScript(part); next.name == "" || next.name == "sequence" {
			return rpcErrorf(codeInvalidParams, "usage: %s, got %q", t.script.usage, strings.TrimSpace(part))
		}
	}
	defer func(text string, s script) { t.text, t.script = text, s }(t.text, t.script) // it is billed for what was asked
	for _, part := range parts {
		t.text, t.script = part, chooseScript(part)
		if err := t.script.run(ctx, t); err != nil {
			return err
		}
	}
	return nil
}
