package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"agent-server/protocol"
)

// moment is a place in a turn at which it is cancelled.
type moment struct {
	name string
	// reach starts a turn and brings it there. It returns a command that must be gone
	// after the cancel; "": none runs.
	reach func(c *chat) (command string)
	// story is what must come of it, but for the next turn.
	story []string
}

// moments are those that no scenario of the fixtures has: in mid-text, in a command
// and before the model's first word stand there.
var moments = []moment{
	{
		name: "pending permission",
		reach: func(c *chat) string {
			c.start(touch)
			c.asked()
			return ""
		},
		story: []string{"Bash …", "asks Bash", "answered cancelled", "ended cancelled"},
	},
	{
		name: "sub-agent",
		reach: func(c *chat) string {
			pipe := c.pipe()
			c.start(`[[tool name=Agent input={"description":"Look","subagent_type":"general-purpose","run_in_background":false,` +
				`"prompt":"[[tool input={\"command\":\"echo up > pipe; sleep 301\"}]]"}]] [[then]] [[text]]`)
			c.answer(c.asked(), protocol.AllowOnce, "")
			c.heard(pipe, "up\n")
			return "sleep 301"
		},
		story: []string{"Agent …", "text: [[tool…", "Bash …", "asks Bash", "answered allow_once", "ended cancelled"},
	},
	{
		name: "compaction",
		reach: func(c *chat) string {
			c.say(before)
			c.start(`/compact [[stall gate=summary]] [[text say="<summary>s</summary>"]]`)
			c.stalled("summary")
			return ""
		},
		story: []string{"text: said before", "ended end_turn", "text: Compaction canceled.", "ended cancelled"},
	},
	{
		name: "wait for a retry",
		reach: func(c *chat) string {
			c.start(`[[error status=529 retry_after=60]]`)
			c.until(func(ev protocol.Event) bool { return ev.Type() == protocol.TypeError })
			return ""
		},
		story: []string{"error _upstream", "ended cancelled"},
	},
	{
		name: "sub-agent in the background, the turn still open",
		reach: func(c *chat) string {
			pipe := c.pipe()
			c.start(slowAgent + stalls)
			c.until(textSeen)
			c.stalled("default")
			c.place.srv.Release("sub")
			c.answer(c.asked(), protocol.AllowOnce, "")
			c.heard(pipe, "up\n")
			return "sleep 302"
		},
		story: []string{"Agent completed: …", "text: word …", "Bash …", "asks Bash", "answered allow_once", "ended cancelled"},
	},
}

// slowAgent has Claude Code start a sub-agent in the background whose model waits at
// a gate before it runs a command without an end; then the main agent goes on.
const slowAgent = `[[tool name=Agent input={"description":"Wait","subagent_type":"general-purpose",` +
	`"prompt":"[[stall gate=sub]] [[tool input={\"command\":\"echo up > pipe; sleep 302\"}]]"}]] [[then]] `

// A cancel lands at every moment: it is confirmed, what ran is gone, the process
// stays, and the next turn runs in it.
func TestClaudeCancelledAnywhere(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	for _, m := range moments {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
			command := m.reach(c)
			pid := c.child().pid
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
			if command != "" {
				c.running(command, false)
			}
			c.say(after)
			if now := c.child().pid; now != pid {
				t.Errorf("process %d after the cancel, %d before", now, pid)
			}
			c.over()
			c.end()
			c.wantMoment(m.story)
		})
	}
}

// wantMoment compares a story that the next turn follows.
func (c *chat) wantMoment(story []string) {
	c.t.Helper()
	c.tells(c.t, append(story, "text: and after", "ended end_turn")...)
}

// What runs in the background is cancelled in the harness turn that it speaks in: it
// is stopped, and its commands with it.
func TestClaudeCancelsBackgroundWork(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
	pipe := c.pipe()
	c.start(slowAgent + `[[text say="It waits."]]`)
	c.rest("")
	c.stalled("sub")
	c.place.srv.Release("sub")
	ev := c.asked()
	c.answer(ev, protocol.AllowOnce, "")
	c.heard(pipe, "up\n")
	c.turn = ev.TurnID
	c.cancelled(protocol.CancelCancelled)
	c.rest("")
	c.running("sleep 302", false)
	c.say(after)
	c.over()
	c.end()
	c.tells(t, "Agent completed: …", "text: It waits.", "ended end_turn", "Bash …", "asks Bash", "answered allow_once", "ended cancelled",
		"text: and after", "ended end_turn")
}

// A further prompt is folded into the turn that runs a command, and answered behind
// one that only speaks; either way one turn ends.
func TestClaudeSteered(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	for name, play := range map[string]func(c *chat) []string{
		"in a command": func(c *chat) []string {
			pipe := c.pipe()
			c.start(`[[tool input={"command":"cat pipe > got","description":"Read"}]] [[then]] [[text say="one"]]`)
			c.answer(c.asked(), protocol.AllowOnce, "")
			c.running("cat pipe", true)
			c.steer(`[[text say="two"]]`)
			if err := os.WriteFile(pipe, []byte("go"), 0); err != nil {
				c.t.Fatal(err)
			}
			return []string{"Bash completed: (Bash completed with no output)", "asks Bash", "answered allow_once"}
		},
		"in a text": func(c *chat) []string {
			c.start(`[[text say="word " repeat=20 pieces=20]] [[stall]] [[text say="end"]]`)
			c.until(textSeen)
			c.stalled("default")
			c.steer(`[[text say="two"]]`)
			c.place.srv.Release("default")
			return []string{"text: " + strings.Repeat("word ", 20) + "end"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
			if !slices.Contains(c.Server().Capabilities.IfBusy, string(protocol.BusySteer)) {
				t.Skip("the gateway does not offer to steer")
			}
			story := play(c)
			c.rest("")
			c.say(after)
			c.over()
			c.end()
			c.tells(t, append(story, "text: two", "ended end_turn", "text: and after", "ended end_turn")...)
		})
	}
}

// steer puts a further prompt into the turn that runs.
func (c *chat) steer(prompt string) {
	c.t.Helper()
	running := c.turn
	c.startWith(protocol.TurnStartParams{Input: protocol.TextInput(prompt), IfBusy: protocol.BusySteer})
	c.turn = running
}
