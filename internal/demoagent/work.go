package demoagent

import (
	"context"
	"time"
)

// subagent is a tool within which another agent works: it calls a tool, and says
// something.
func subagent(ctx context.Context, t *turn) error {
	if err := t.say(ctx, "Asking ", "a sub-agent."); err != nil {
		return err
	}
	task := toolCall{Title: "Look into it", Name: "task", Kind: "think", RawInput: taskInput{Prompt: "Look into it."}}
	if err := t.openTool(ctx, task); err != nil {
		return err
	}
	if err := t.runTool(ctx); err != nil {
		return err
	}
	if err := t.delegate(ctx, &ofSubagent{t.tool.ID}); err != nil {
		return err
	}
	if err := t.completeTool(ctx, "It found nothing."); err != nil {
		return err
	}
	return t.say(ctx, "There was no sub-agent: ", "it was made up.")
}

// taskInput is the rawInput of the tool that runs a sub-agent.
type taskInput struct {
	// Prompt is what it is asked.
	Prompt string `json:"prompt"`
}

// delegate is what the sub-agent does. A cancel ends its tool before the one that it
// works in.
func (t *turn) delegate(ctx context.Context, of *ofSubagent) error {
	call := t.fileTool("read_file", "read", "Read demo.txt")
	call.Update, call.Status, call.Meta = "tool_call", "pending", of
	call.ID = t.session.ids.next("call")
	block := newText("hello from the demo\n")
	steps := []toolCall{call,
		{Update: "tool_call_update", ID: call.ID, Status: "in_progress", Meta: of},
		{Update: "tool_call_update", ID: call.ID, Status: "completed", Content: []toolContent{{Type: "content", Content: &block}}, Meta: of}}
	for i, step := range steps {
		if ctx.Err() != nil {
			if i > 0 {
				t.send(toolCall{Update: "tool_call_update", ID: call.ID, Status: "failed", Meta: of})
			}
			return errCancelled
		}
		t.send(step)
	}
	if ctx.Err() != nil {
		return errCancelled
	}
	said := t.chunk(kindMessage, "The file says hello.")
	said.MessageID, said.Meta = t.session.ids.next(idPrefix[kindMessage]), of
	t.message = openMessage{}
	t.send(said)
	return nil
}

// background ends its turn, and has the agent speak again later, unasked. The end of
// the input is the end of it.
func background(ctx context.Context, t *turn) error {
	ms, err := t.number(0, 300, 0, int(10*time.Minute/time.Millisecond))
	if err != nil {
		return err
	}
	if err := t.say(ctx, "Working on ", "in the background."); err != nil {
		return err
	}
	late := t.chunk(kindMessage, "The background work is done.")
	late.MessageID = t.session.ids.next(idPrefix[kindMessage])
	t.later = func() {
		wait := time.NewTimer(time.Duration(ms) * time.Millisecond)
		defer wait.Stop()
		select {
		case <-wait.C:
			t.send(late)
		case <-t.agent.quitting:
		case <-t.agent.ended:
		}
	}
	return nil
}
