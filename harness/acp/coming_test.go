package acp

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
)

const taken = `"result":{"messageId":"msg"}`

func state(members string) string { return `{"sessionUpdate":"state_update",` + members + `}` }

// TestStateEndsATakenPrompt: an agent that answers a prompt at once tells its end by a
// state; of any other a state changes nothing.
func TestStateEndsATakenPrompt(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.update(state(`"state":"idle","stopReason":"refusal"`))
	f.answer("session/prompt", taken)
	f.update(state(`"state":"idle","stopReason":"refusal"`), state(`"state":"running"`), say("m", "hello"),
		state(`"state":"requires_action"`))
	if _, ended := first[harness.Finished](f.updates); ended {
		t.Errorf("it has ended early: %q", story(f.updates))
	}
	f.update(state(`"state":"idle","stopReason":"max_tokens","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3}`))
	end, _ := first[harness.Finished](f.updates)
	if end.Reason != protocol.StopMaxTokens || end.Tokens == nil {
		t.Errorf("ended as %+v", end)
	}
}

// TestStateOfACancelledPrompt: the cancel lands by the state as well.
func TestStateOfACancelledPrompt(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.answer("session/prompt", taken)
	f.update(state(`"state":"running"`))
	f.step(harness.Cancel{})
	f.update(state(`"state":"idle","stopReason":"cancelled"`))
	if end, _ := first[harness.Finished](f.updates); end.Reason != protocol.StopCancelled {
		t.Errorf("told %q", story(f.updates))
	}
}

// TestWholeMessages: one that was streamed is not said twice.
func TestWholeMessages(t *testing.T) {
	t.Parallel()
	whole := func(kind, id, said string) string {
		return `{"sessionUpdate":"` + kind + `","messageId":"` + id + `","content":[{"type":"text","text":"` + said + `"}]}`
	}
	f := running(t, nil)
	f.update(say("m", "hel"), whole("agent_message", "m", "hello"), whole("agent_message", "m", "hello"),
		whole("agent_thought", "t", "why"))
	expect(t, "told", story(f.updates), "message m", "text part-1", `part-1 + "hel"`, `part-1 = text "hello" done`,
		"message t", "reasoning part-2", `part-2 + "why"`)
}

// TestContentChunks add to a call's content.
func TestContentChunks(t *testing.T) {
	t.Parallel()
	chunk := func(text string) string {
		return `{"sessionUpdate":"tool_call_content_chunk","toolCallId":"c","content":{"type":"content","content":{"type":"text","text":"` + text + `"}}}`
	}
	f := running(t, nil)
	f.update(chunk("nobody's"), toolIs("c", "in_progress"), chunk("a"), chunk("b"))
	f.forget()
	f.update(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}`)
	expect(t, "told", story(f.updates),
		`tool c name=read kind=read completed {"status":"completed","input":{},"output":"a\nb","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"time":{"start":0,"end":0}}`)
}
