package e2e

import (
	"agent-server/internal/fakemodel"
	"agent-server/protocol"
)

// codexAsksNobody is why codex exec has no permissions.
const codexAsksNobody = "codex exec asks for nothing: its sandbox is the gate"

// codexExecScenarios are for the real Codex, a process a turn, whose model is the
// fake one.
var codexExecScenarios = []scenario{
	{
		name:  "hello",
		about: "A text, which comes whole.",
		play:  func(c *chat) { c.say(`[[text say="one two three four" pieces=4]]`) },
		story: []string{"text: one two three four", "ended end_turn"},
	},
	{
		name:  "reasoning",
		about: "A summary of what the model thought, then text.",
		play:  func(c *chat) { c.say(`[[think]] [[text say="The answer is 42."]]`) },
		story: []string{"reasoning: First I consider the question.", "text: The answer is 42.", "ended end_turn"},
	},
	{
		name:  "tool_ok",
		about: "A command that the sandbox lets run, and that completes.",
		play: func(c *chat) {
			c.say(`[[text say="I will run it."]] [[tool name=exec_command input={"cmd":"echo hi"}]] [[then]] [[text say="It said hi."]]`)
		},
		story: []string{"text: I will run it.", "command_execution completed: hi", "text: It said hi.", "ended end_turn"},
	},
	{
		name:  "tool_fail",
		about: "A command that fails; the turn goes on.",
		play: func(c *chat) {
			c.say(`[[tool name=exec_command input={"cmd":"cat missing"}]] [[then]] [[text say="It is not there."]]`)
		},
		story: []string{"command_execution failed: Exit code 1", "text: It is not there.", "ended end_turn"},
	},
	{name: "permission_allow", unsupported: codexAsksNobody},
	{name: "permission_reject", unsupported: codexAsksNobody},
	{name: "permission_edited", unsupported: codexAsksNobody},
	{name: "permission_always", unsupported: codexAsksNobody},
	{
		name:  "cancel_in_text",
		about: "A cancel while the model answers: the process is stopped, and the next turn has one of its own.",
		play: func(c *chat) {
			c.say(before)
			c.start(stalls)
			c.stalled(fakemodel.DefaultGate)
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
			c.say(after)
			c.remembers("said before", true)
		},
		story: []string{"text: said before", "ended end_turn", "resumed true", "ended cancelled", "resumed true", "text: and after", "ended end_turn"},
	},
	{
		name:  "cancel_in_tool",
		about: "A cancel while a command runs: the process is stopped, and the command is gone.",
		play: func(c *chat) {
			c.start(`[[tool name=exec_command input={"cmd":"sleep 306"}]] [[then]] [[text]]`)
			c.until(toolRuns)
			c.running("sleep 306", true)
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
			c.running("sleep 306", false)
			c.say(after)
		},
		story: []string{"command_execution cancelled:", "ended cancelled", "resumed true", "text: and after", "ended end_turn"},
	},
	{
		name:  "cancel_before_first_yield",
		about: "A cancel before the model has said anything, and a turn that runs.",
		play: func(c *chat) {
			c.start("[[stall]] [[text]]")
			c.stalled(fakemodel.DefaultGate)
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
			c.say(after)
		},
		story: []string{"ended cancelled", "resumed true", "text: and after", "ended end_turn"},
	},
	{
		name:  "crash",
		about: "Codex is killed in the middle of a turn; the next turn has a new process, which resumes.",
		play: func(c *chat) {
			c.say(before)
			c.start(stalls)
			c.stalled(fakemodel.DefaultGate)
			c.kill()
			c.rest("")
			c.say(after)
			c.remembers("said before", true)
		},
		story: []string{"text: said before", "ended end_turn", "resumed true", "error process_exit", "ended error",
			"resumed true", "text: and after", "ended end_turn"},
	},
	{
		name:   "unknown_line",
		about:  "A stream event of no known type, which Codex swallows, and a line of none.",
		play:   func(c *chat) { c.say(`[[event]] [[text say="a"]]`) },
		edit:   insertUnknownExecLine,
		edited: "the line of type from.the.future was inserted; Codex itself writes none of a type that is not known",
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
		about: "A native id that Codex does not know: a fresh session, which says so.",
		play: func(c *chat) {
			c.config.ResumeSessionID = new("01a22dc5-0000-7000-8000-000000000000")
			c.say(after)
		},
		story: []string{"resumed false", "text: and after", "ended end_turn"},
	},
	{name: "subagent", unsupported: "codex exec tells nothing of what a sub-agent does, only of the calls that lead it"},
	{name: "compaction", unsupported: "codex exec tells nothing of a compaction"},
	{
		name:  "model_error",
		about: "The model's API refuses the request with 400; the next turn runs.",
		play: func(c *chat) {
			c.say("[[error status=400]]")
			c.say(after)
		},
		story: []string{"error invalid_request", "ended error", "resumed true", "text: and after", "ended end_turn"},
	},
}

// insertUnknownExecLine puts a line of no known type behind the one that starts the
// turn.
func insertUnknownExecLine(native string) string {
	return insertBehind(native, `\"type\":\"turn.started\"`, `{\"type\":\"from.the.future\",\"text\":\"not for us\"}`)
}
