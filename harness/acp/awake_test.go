package acp

import (
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// awake is an agent that works by itself, between turns.
func awake(t *testing.T) *fake {
	t.Helper()
	f := newFake(t, Agent{ID: "agent", Quirks: Quirks{Unasked: true}}, harness.Launch{Config: config()}, nil)
	f.begin(config())
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	f.forget()
	return f
}

const late = `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"late"}}`

// TestOwnTurn: text that nobody asked for stands in a turn of the agent's own, which
// ends when it has been silent for a while.
func TestOwnTurn(t *testing.T) {
	t.Parallel()
	f := awake(t)
	f.update(late, toolIs("c", "pending"), toolIs("c", "completed"))
	if diff := cmp.Diff(harness.Timer{Name: quietTimer, After: time.Second}, f.timers[len(f.timers)-1]); diff != "" {
		t.Error(diff)
	}
	f.step(harness.Expired{Timer: quietTimer})
	f.step(harness.Expired{Timer: quietTimer})
	told := story(f.updates)
	if told[0] != "Woken{Trigger:}" || told[len(told)-1] != "finished end_turn raw=" {
		t.Errorf("told %q", told)
	}
	f.forget()
	f.update(late)
	if _, is := f.updates[0].(harness.Woken); !is {
		t.Errorf("the next time: %q", story(f.updates))
	}
}

// TestOwnTurnCancelled ends as that.
func TestOwnTurnCancelled(t *testing.T) {
	t.Parallel()
	f := awake(t)
	f.update(late)
	f.step(harness.Cancel{})
	f.step(harness.Expired{Timer: quietTimer})
	told := story(f.updates)
	if told[len(told)-1] != "finished cancelled raw=" || len(f.sent()) != 1 {
		t.Errorf("told %q, written %q", told, f.sent())
	}
}

// TestUnaskedText of another agent is dropped, as is the tail of a turn.
func TestUnaskedText(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	f.forget()
	f.update(late)
	expect(t, "told", story(f.updates))
}

// TestSubagent: what a sub-agent does hangs on the call that runs it.
func TestSubagent(t *testing.T) {
	t.Parallel()
	for _, meta := range []string{`"_meta":{"agent-server/parentToolCallId":"p"}`, `"_meta":{"claudeCode":{"parentToolUseId":"p"}}`} {
		f := running(t, nil)
		f.update(toolIs("p", "in_progress"),
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"x","kind":"read","status":"pending",`+meta+`}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"inside"},`+meta+`}`,
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"outside"}}`)
		owners, opened := map[string]string{}, 0
		var task *harness.ToolSet
		for _, u := range f.updates {
			switch u := u.(type) {
			case harness.ToolSet:
				owners[u.Call] = u.Owner
				if u.Subagent != nil {
					task = &u
				}
			case harness.PartOpened:
				owners[u.Part] = u.Owner
			case harness.MessageOpened:
				opened++
			}
		}
		if owners["c"] != "p" || owners["p"] != "" || task == nil || task.Call != "p" || task.Kind != protocol.KindTask || opened != 2 {
			t.Errorf("%s: owners %v, task %+v, %d messages: %q", meta, owners, task, opened, story(f.updates))
		}
		inside, outside := 0, 0
		for part, owner := range owners {
			if part == "c" || part == "p" {
				continue
			}
			if owner == "p" {
				inside++
			} else {
				outside++
			}
		}
		if inside != 1 || outside != 1 {
			t.Errorf("%s: %d parts inside, %d outside: %v", meta, inside, outside, owners)
		}
	}
}
