package acp

import (
	"slices"
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// awake is an agent that works by itself, between turns.
func awake(t *testing.T) *fake {
	t.Helper()
	f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config()}, nil)
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
	if told[0] != "Woken{Trigger: Yields:true}" || told[len(told)-1] != "finished end_turn raw=" {
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

// TestLaw181_lateText: what an agent says of its own accord is shown, once; but not the
// tail of a turn that was cancelled, nor what comes before the process has answered a
// prompt, nor what nobody has said.
func TestLaw181_lateText(t *testing.T) {
	t.Parallel()
	const ended, cancelled = `"result":{"stopReason":"end_turn"}`, `"result":{"stopReason":"cancelled"}`
	for name, c := range map[string]struct {
		quirks       Quirks
		answer, late string
		shown        bool
	}{
		"text":                             {answer: ended, late: say("", "late"), shown: true},
		"a thought":                        {answer: ended, late: chunkOf("agent_thought_chunk", "", "late"), shown: true},
		"an image":                         {answer: ended, late: `{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"AA=="}}`, shown: true},
		"the tail of its last message":     {answer: ended, late: say("m", "late"), shown: true},
		"after an error":                   {answer: `"error":{"code":-32603,"message":"x"}`, late: say("", "late"), shown: true},
		"a new call":                       {answer: ended, late: toolIs("new", "pending"), shown: true},
		"an old call":                      {answer: ended, late: `{"sessionUpdate":"tool_call_update","toolCallId":"new","status":"in_progress"}`},
		"white space":                      {answer: ended, late: say("", " \n")},
		"chatter":                          {quirks: Quirks{Chatter: "[M] "}, answer: ended, late: say("", "[M] yolo")},
		"the tail of what was cancelled":   {answer: cancelled, late: say("m", "late")},
		"what may be that":                 {answer: cancelled, late: say("", "late")},
		"a new message after what was":     {answer: cancelled, late: say("n", "late"), shown: true},
		"its call, a new one by its looks": {answer: cancelled, late: toolIs("new", "pending")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := quirky(t, c.quirks)
			f.update(say("m", "said"))
			f.answer("session/prompt", c.answer)
			f.forget()
			f.update(c.late)
			if _, woken := first[harness.Woken](f.updates); woken != c.shown || !c.shown && len(f.updates) > 0 {
				t.Errorf("told %q", story(f.updates))
			}
			f.begin(config())
			f.forget()
			f.update(say("m2", "answer"))
			expect(t, "the next turn's", story(f.updates), "message m2", "text "+f.part(), f.part()+` + "answer"`)
		})
	}
}

// first is the first update of a type.
func first[U harness.Update](updates []harness.Update) (U, bool) {
	for _, u := range updates {
		if u, is := u.(U); is {
			return u, true
		}
	}
	var none U
	return none, false
}

// part is the key of the part opened last.
func (f *fake) part() string {
	for _, u := range slices.Backward(f.updates) {
		if u, is := u.(harness.PartOpened); is {
			return u.Part
		}
	}
	return ""
}

// TestLateTextWhileThePromptWaits: the next turn has begun and its prompt waits for a
// setting; what comes late stands there, in a message of its own.
func TestLateTextWhileThePromptWaits(t *testing.T) {
	t.Parallel()
	f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config()}, map[string]string{
		"session/new": `"result":{"sessionId":"s-1",` + calmModes + `}`, "session/set_mode": `"result":{}`})
	f.begin(config())
	f.update(say("", "said"))
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	delete(f.answers, "session/set_mode")
	plan := config()
	plan.PermissionMode = protocol.ModePlan
	f.begin(plan)
	f.forget()
	f.update(say("", "late"))
	f.answer("session/set_mode", `"result":{}`)
	f.update(say("", "answer"))
	opened := 0
	for _, u := range f.updates {
		switch u.(type) {
		case harness.MessageOpened:
			opened++
		case harness.Woken, harness.Finished:
			t.Errorf("told %+v", u)
		}
	}
	if opened != 2 {
		t.Errorf("%d messages: %q", opened, story(f.updates))
	}
}

// TestTextBeforeTheFirstPrompt is nobody's news: a greeting, or the end of a replay.
func TestTextBeforeTheFirstPrompt(t *testing.T) {
	t.Parallel()
	f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config()}, map[string]string{
		"session/new": `"result":{"sessionId":"s-1",` + calmModes + `}`})
	f.begin(config()) // the mode is never answered
	f.update(late)
	f.answer("session/set_mode", `"error":{"code":-32603,"message":"no"}`)
	f.forget()
	f.update(late)
	expect(t, "told", story(f.updates))
}

// TestOwnTurnWaitsForItsTool: it does not end over a call or a request that is open.
func TestOwnTurnWaitsForItsTool(t *testing.T) {
	t.Parallel()
	f := awake(t)
	f.update(late, toolIs("c", "in_progress"))
	f.forget()
	f.step(harness.Expired{Timer: quietTimer})
	expect(t, "told", story(f.updates))
	if len(f.timers) != 1 || f.timers[0].After != quiet {
		t.Errorf("timers %v", f.timers)
	}
	f.update(toolIs("c", "completed"))
	f.step(harness.Expired{Timer: quietTimer})
	if _, ended := first[harness.Finished](f.updates); !ended {
		t.Errorf("told %q", story(f.updates))
	}
}

// TestOwnTurnGivesWay: what is open in it does not reach into the turn that takes its
// place.
func TestOwnTurnGivesWay(t *testing.T) {
	t.Parallel()
	f := awake(t)
	f.update(late, toolIs("c", "in_progress"))
	f.forget()
	f.begin(config())
	expect(t, "told", story(f.updates), "PromptWritten{}", "Registered{}")
	if f.timers[0] != (harness.Timer{Name: quietTimer}) {
		t.Errorf("its clock runs on: %v", f.timers)
	}
	f.update(toolIs("c", "completed"))
	if end, is := first[harness.ToolSet](f.updates); !is || end.Call != "c" || end.Assumed {
		t.Errorf("its call's end: %q", story(f.updates))
	}
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
