package e2e

import (
	"slices"
	"testing"

	"agent-server/protocol"
)

// A turn takes over from background work, which goes on and speaks in it.
func TestClaudeTurnBesideBackgroundWork(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
	c.start(agentCall("one") + `[[then]] [[text say="It looks."]]`)
	c.rest("")
	c.stalled("one")
	c.start(stalls)
	c.stalled("default")
	c.place.srv.Release("one")
	ev := c.asked()
	if ev.TurnID != c.turn {
		t.Errorf("asked in turn %s, want %s", ev.TurnID, c.turn)
	}
	c.answer(ev, protocol.AllowOnce, "")
	c.until(isSubText)
	c.place.srv.Release("default")
	c.rest("")
	c.rest("") // the main agent tells of it in a turn of its own
	c.over()
	c.end()
	c.wantFile("one", true)
	c.tells(t, "Agent completed: …", "text: It looks.", "ended end_turn",
		"text: word …", "Bash completed: (Bash completed with no output)", "asks Bash", "answered allow_once", "text: Done.", "ended end_turn",
		"text: Done.", "ended end_turn")
}

// isSubText fits the event that shows what a sub-agent says in the end.
func isSubText(ev protocol.Event) bool {
	m, ok := ev.(*protocol.MessagePart)
	if !ok {
		return false
	}
	text, ok := m.Part.(*protocol.TextPart)
	return ok && text.Text == "Done."
}

// What a background task asks is asked again when its turn ends.
func TestClaudeAskedBeyondTheTurn(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
	c.start(`[[tool name=Agent input={"description":"Look","subagent_type":"general-purpose",` +
		`"prompt":"[[tool input={\"command\":\"touch one\"}]]"}]] [[then]] ` + stalls)
	first := c.asked()
	c.stalled("default")
	c.place.srv.Release("default")
	c.until(func(ev protocol.Event) bool { return ev.Type() == protocol.TypeTurnEnded })
	again := c.asked()
	if again.TurnID == first.TurnID || again.RequestID == first.RequestID {
		t.Errorf("asked %v, then %v", first, again)
	}
	c.answer(again, protocol.AllowOnce, "")
	c.rest("")
	c.over()
	c.end()
	c.wantFile("one", true)
}

// A prompt that comes as the main agent is about to begin a turn of its own: its turn
// ends with its own answer, whatever the CLI says before.
func TestClaudePromptMeetsItsOwnTurn(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
	c.start(agentCall("one") + `[[then]] [[text say="It looks."]]`)
	c.rest("")
	c.stalled("one")
	c.place.srv.Release("one")
	c.answer(c.asked(), protocol.AllowOnce, "")
	c.until(func(ev protocol.Event) bool {
		news, ok := protocol.ReadSessionUpdated(ev)
		return ok && news.BackgroundTasks != nil && *news.BackgroundTasks == 0
	})
	c.startWith(protocol.TurnStartParams{Input: protocol.TextInput(after), IfBusy: protocol.BusyQueue})
	for {
		if end := c.rest(""); end.TurnID == c.turn {
			break
		}
	}
	c.say(`[[text say="and more"]]`)
	c.over()
	c.end()
	story := c.story()
	if i := slices.Index(story, "text: and after"); i < 0 || !slices.Contains(story[i:], "text: and more") {
		t.Errorf("story %q", story)
	}
}
