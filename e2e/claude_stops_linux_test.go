package e2e

import (
	"testing"

	"agent-server/protocol"
)

// How a turn ends, as the real CLI tells it; one process plays all, so that a fault
// does not reach into a later turn.
func TestClaudeStopReasons(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
	for _, tc := range []struct {
		prompt   string
		reason   protocol.StopReason
		category protocol.ErrorCategory
	}{
		{`[[text say="cut"]] [[stop reason=max_tokens]] [[repeat]]`, protocol.StopMaxTokens, ""},
		{`[[text say="cut"]] [[stop reason=max_tokens]] [[then]] [[text say=" on"]]`, protocol.StopEndTurn, ""},
		{`[[text say="no"]] [[stop reason=refusal]] [[repeat]]`, protocol.StopRefusal, ""},
		{`[[stop reason=end_turn]]`, protocol.StopEndTurn, ""},
		{`[[error status=401]]`, protocol.StopError, protocol.CategoryAuth},
		{`[[error status=403]]`, protocol.StopError, protocol.CategoryAuth},
		{`[[error status=404]]`, protocol.StopError, protocol.CategoryInvalidRequest},
		{`[[error status=429 retry_after=0]]`, protocol.StopError, protocol.CategoryRateLimit},
		{`[[error status=529]]`, protocol.StopError, protocol.CategoryUpstream},
		{`[[text say="one two"]] [[cut times=2]] [[text say=" three"]]`, protocol.StopEndTurn, ""},
		{"/context", protocol.StopEndTurn, ""},
		{"/nosuchcommand", protocol.StopEndTurn, ""},
	} {
		end := c.say(tc.prompt)
		var category protocol.ErrorCategory
		if end.Error != nil {
			category = end.Error.Category
		}
		if end.StopReason != tc.reason || category != tc.category {
			t.Errorf("%s: %s %s, want %s %s", tc.prompt, end.StopReason, category, tc.reason, tc.category)
		}
	}
	c.over()
}

// A non-streaming answer after two cuts shows its text once.
func TestClaudeFallsBackWithoutDoubling(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
	c.start(`[[text say="one two"]] [[stall gate=seen]] [[cut times=2]] [[text say=" three"]]`)
	c.until(textSeen)
	c.place.srv.Release("seen")
	c.rest("")
	c.over()
	whole := 0
	for _, ev := range c.events {
		m, ok := ev.(*protocol.MessagePart)
		if !ok {
			continue
		}
		if p, ok := m.Part.(*protocol.TextPart); ok && p.Text == "one two three" {
			whole++
		}
	}
	if whole != 1 {
		t.Errorf("the whole answer is shown %d times:\n%v", whole, c.story())
	}
}

// After /clear the conversation is another: the model remembers nothing, and the
// native id is the new one's, which a later process goes on with.
func TestClaudeCleared(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
	c.say(before)
	c.say("/clear")
	c.say(`[[text say="said later"]]`)
	c.remembers("said before", false)
	c.config.ThinkingLevel = protocol.ThinkingHigh // which takes a new process
	c.say(after)
	c.remembers("said before", false)
	c.remembers("said later", true)
	ids := map[string]bool{}
	for _, ev := range c.events {
		if created, ok := ev.(*protocol.SessionCreated); ok {
			ids[created.NativeSessionID] = true
		}
	}
	if len(ids) != 2 {
		t.Errorf("native ids %v, want two", ids)
	}
	c.over()
}
