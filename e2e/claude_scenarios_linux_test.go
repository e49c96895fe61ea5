package e2e

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"

	"agent-server/internal/fakemodel"
	"agent-server/protocol"
)

// The prompts of the scenarios are scripts of the fake model.
const (
	// touch has Claude Code ask for a command that makes a file.
	touch = `[[tool name=Bash input={"command":"touch made","description":"Create a file"}]] [[then]] [[text say="Done."]]`
	// stalls has it stand in the middle of a text.
	stalls = `[[text say="word " repeat=20 pieces=20]] [[stall]]`
	before = `[[text say="said before"]]`
	after  = `[[text say="and after"]]`
)

// claudeScenarios are for the real CLI, whose model is the fake one.
var claudeScenarios = []scenario{
	{
		name:  "hello",
		about: "A text of four deltas.",
		play:  func(c *chat) { c.say(`[[text say="one two three four" pieces=4]]`) },
		story: []string{"text: one two three four", "ended end_turn"},
	},
	{
		name:  "reasoning",
		about: "Reasoning, then text.",
		play:  func(c *chat) { c.say(`[[think]] [[text say="The answer is 42."]]`) },
		story: []string{"reasoning: First I consider the question.", "text: The answer is 42.", "ended end_turn"},
	},
	{
		name:  "tool_ok",
		about: "A command that needs no permission, and completes.",
		play: func(c *chat) {
			c.say(`[[text say="I will run it."]] [[tool name=Bash input={"command":"echo hi"}]] [[then]] [[text say="It said hi."]]`)
		},
		story: []string{"text: I will run it.", "Bash completed: hi", "text: It said hi.", "ended end_turn"},
	},
	{
		name:  "tool_fail",
		about: "A command that fails; the turn goes on.",
		play: func(c *chat) {
			c.say(`[[tool name=Bash input={"command":"cat missing"}]] [[then]] [[text say="It is not there."]]`)
		},
		story: []string{"Bash failed: Exit code 1", "text: It is not there.", "ended end_turn"},
	},
	{
		name:  "permission_allow",
		about: "A command that is asked for, and allowed once: it has run.",
		play: func(c *chat) {
			c.start(touch)
			ev := c.asked()
			c.wantFile("made", false)
			c.answer(ev, protocol.AllowOnce, "")
			c.rest("")
			c.wantFile("made", true)
		},
		story: []string{"Bash completed: (Bash completed with no output)", "asks Bash", "answered allow_once", "text: Done.", "ended end_turn"},
	},
	{
		name:  "permission_reject",
		about: "A command that is asked for, and refused: it has not run, and the turn goes on.",
		play: func(c *chat) {
			c.start(touch)
			c.rest(protocol.RejectOnce)
			c.wantFile("made", false)
		},
		story: []string{"Bash failed: …", "asks Bash", "answered reject_once", "text: Done.", "ended end_turn"},
	},
	{
		name:  "permission_edited",
		about: "A command that is asked for, and allowed with another input, which is what runs.",
		play: func(c *chat) {
			c.start(touch)
			c.answer(c.asked(), protocol.AllowOnce, `{"command":"touch edited","description":"Create another file"}`)
			c.rest("")
			c.wantFile("made", false)
			c.wantFile("edited", true)
		},
		story: []string{"Bash completed: (Bash completed with no output)", "asks Bash", "answered allow_once", "text: Done.", "ended end_turn"},
	},
	{
		name:  "permission_always",
		about: "A command that is allowed for the session: in the next turn nobody is asked, and nothing was written into the project.",
		play: func(c *chat) {
			c.start(touch)
			c.rest(protocol.AllowAlways)
			if err := os.Remove(c.place.cwd + "/made"); err != nil {
				c.t.Error(err)
			}
			c.say(touch)
			c.wantFile("made", true)
			c.wantFile(".claude", false)
		},
		story: []string{"Bash completed: (Bash completed with no output)", "asks Bash", "answered allow_always", "text: Done.", "ended end_turn",
			"Bash completed: (Bash completed with no output)", "text: Done.", "ended end_turn"},
	},
	{
		name:  "cancel_in_text",
		about: "A cancel while text streams: confirmed, and the same process runs the next turn.",
		play: func(c *chat) {
			c.start(stalls)
			c.until(textSeen)
			pid := c.child().pid
			c.stalled(fakemodel.DefaultGate)
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
			c.say(after)
			if now := c.child().pid; now != pid {
				c.t.Errorf("process %d after the cancel, %d before", now, pid)
			}
		},
		story: []string{"text: word …", "ended cancelled", "text: and after", "ended end_turn"},
	},
	{
		name:  "cancel_in_tool",
		about: "A cancel while a command runs: confirmed, and the command is gone.",
		play: func(c *chat) {
			pipe := c.pipe()
			c.start(`[[tool name=Bash input={"command":"echo up > pipe; sleep 300"}]]`)
			c.answer(c.asked(), protocol.AllowOnce, "")
			c.heard(pipe, "up\n")
			c.running("sleep 300", true)
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
			c.running("sleep 300", false)
			c.say(after)
		},
		story: []string{"Bash cancelled:", "asks Bash", "answered allow_once", "ended cancelled", "text: and after", "ended end_turn"},
	},
	{
		name: "cancel_before_first_yield",
		about: "A cancel before the prompt was written, a cancel before the model has said anything, " +
			"and a turn that runs.",
		play: func(c *chat) {
			c.start(after)
			c.cancelled(protocol.CancelUnconfirmed)
			c.rest("")
			c.start("[[stall]] [[text]]")
			c.stalled(fakemodel.DefaultGate)
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
			c.say(after)
		},
		story: []string{"ended cancelled", "ended cancelled", "text: and after", "ended end_turn"},
	},
	{
		name:  "crash",
		about: "The CLI is killed in the middle of a turn; the next turn has a new process, which resumes.",
		play: func(c *chat) {
			c.say(before)
			c.start(stalls)
			c.until(textSeen)
			c.kill()
			c.rest("")
			c.say(after)
			c.remembers("said before", true)
		},
		story: []string{"text: said before", "ended end_turn", "text: word …", "error process_exit", "ended error",
			"resumed true", "text: and after", "ended end_turn"},
	},
	{
		name:   "unknown_line",
		about:  "A line, a stream event and a delta of no known type between those that count.",
		play:   func(c *chat) { c.say(unknownEvents) },
		edit:   insertUnknownLine,
		edited: "the line of type from_the_future was inserted; the CLI itself writes none of a type that is not known",
		story:  []string{"text: a", "ended end_turn"},
	},
	{
		name:  "resume_ok",
		about: "A session of an earlier gateway is gone on with, by config.resumeSessionId: the model is told what was said there.",
		before: func(c *chat) string {
			c.say(before)
			return c.native()
		},
		play: func(c *chat) {
			c.say(after)
			c.remembers("said before", true)
			if c.native() != *c.config.ResumeSessionID {
				c.t.Errorf("native id %s, want %s", c.native(), *c.config.ResumeSessionID)
			}
		},
		story: []string{"resumed true", "text: and after", "ended end_turn"},
	},
	{
		name:  "resume_fallback",
		about: "A native id that the CLI does not know: a fresh session, which says so.",
		play: func(c *chat) {
			c.config.ResumeSessionID = new("5a1e7f00-0000-4000-8000-000000000001")
			c.say(after)
		},
		story: []string{"resumed false", "text: and after", "ended end_turn"},
	},
	{
		name:  "subagent",
		about: "A sub-agent in the foreground, which runs a command of its own.",
		play: func(c *chat) {
			c.say(`[[tool name=Agent input={"description":"Look","subagent_type":"general-purpose","run_in_background":false,"prompt":"[[tool input={\"command\":\"echo sub\"}]]"}]] [[then]] [[text say="It has looked."]]`)
		},
		story: []string{"Agent completed: …", `text: [[tool input={"command":"echo sub"}]]`, "Bash completed: sub", "text: Done.", "text: It has looked.", "ended end_turn"},
	},
	{
		name:  "compaction",
		about: "The conversation is compacted by /compact; the next turn goes on.",
		play: func(c *chat) {
			c.say(before)
			c.say("/compact")
			c.say(after)
		},
		story: []string{"text: said before", "ended end_turn", "ended end_turn", "text: and after", "ended end_turn"},
	},
	{
		name:  "model_error",
		about: "The model's API refuses the request with 400; the next turn runs.",
		play: func(c *chat) {
			c.say("[[error status=400]]")
			c.say(after)
		},
		story: []string{"error invalid_request", "ended error", "text: and after", "ended end_turn"},
	},
}

// unknownEvents is a text between stream events of no known type.
const unknownEvents = `[[event]] [[text say="a"]] [[event type=content_block_delta data={"index":0,"delta":{"type":"fake_delta"}}]]`

// insertUnknownLine puts a line of no known type behind the one that starts the turn.
func insertUnknownLine(native string) string {
	lines := strings.SplitAfter(native, "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `\"subtype\":\"init\"`) })
	if i < 0 {
		return native
	}
	head, _, _ := strings.Cut(lines[i], `"line":`)
	line := head + `"line":"{\"type\":\"from_the_future\",\"payload\":{\"text\":\"not for us\"}}"}` + "\n"
	return strings.Join(slices.Insert(lines, i+1, line), "")
}

// stalled waits until the model stands at a gate.
func (c *chat) stalled(gate string) {
	c.t.Helper()
	ctx, cancel := c.bounded()
	defer cancel()
	if err := c.place.srv.WaitStalled(ctx, gate); err != nil {
		c.t.Fatal(err)
	}
}

// remembers wants the model's last request to tell, or not to, what was said in
// an earlier turn.
func (c *chat) remembers(said string, want bool) {
	c.t.Helper()
	requests := slices.DeleteFunc(c.place.srv.Requests(), func(r fakemodel.Request) bool { return r.Side })
	last := requests[len(requests)-1]
	if got := bytes.Contains(last.Body, []byte(said)); got != want {
		c.t.Errorf("the model was told %q: %v, want %v", said, got, want)
	}
}

// running waits until a command runs in the place, or no longer does. The CLI ends
// what it has started a little after it has said so.
func (c *chat) running(command string, want bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	runs := func(i inmate) bool { return strings.Contains(i.cmdline, command) }
	for slices.ContainsFunc(c.place.inmates(c.t), runs) != want {
		if !pause(ctx) {
			c.t.Fatalf("%q runs: %v, want %v", command, !want, want)
		}
	}
}
