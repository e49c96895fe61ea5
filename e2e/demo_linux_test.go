package e2e

import "agent-server/protocol"

// demoScenarios are the scripts of the demo agent.
var demoScenarios = []scenario{
	{
		name:  "hello",
		about: "A prompt without a script: the demo explains itself.",
		play:  func(c *chat) { c.say("hello") },
		story: []string{"text: This is the demo agent. …", "ended end_turn"},
	},
	{
		name:  "reasoning",
		about: "Thoughts, then text.",
		play:  func(c *chat) { c.say("think") },
		story: []string{"reasoning: …", "text: …", "ended end_turn"},
	},
	{
		name:  "tool_ok",
		about: "A tool that needs no permission, and completes.",
		play:  func(c *chat) { c.say("tool") },
		story: []string{"text: Reading a file.", "read_file completed: hello from the demo", "text: The demo read no file: …", "ended end_turn"},
	},
	{
		name:  "tool_fail",
		about: "A tool that fails; the turn goes on.",
		play:  func(c *chat) { c.say("fail") },
		story: []string{"text: Running a command that fails.", "run_command failed: exit status 1", "text: The tool failed and the turn went on.", "ended end_turn"},
	},
	{
		name:  "permission_allow",
		about: "A tool that is asked for, and allowed once.",
		play:  func(c *chat) { c.say("ask") },
		story: []string{"text: Running a command.", "run_command completed: hello", "asks run_command", "answered allow_once", "text: The demo ran no command: …", "ended end_turn"},
	},
	{
		name:  "permission_reject",
		about: "An edit that is asked for, with its diff, and refused; the turn goes on.",
		play: func(c *chat) {
			c.start("edit")
			c.rest(protocol.RejectOnce)
		},
		story: []string{"text: Editing a file.", "edit_file failed: …", "asks edit_file", "answered reject_once", "text: Not done: …", "ended end_turn"},
	},
	{
		name:  "permission_edited",
		about: "A tool that is allowed with another input, which no agent of this protocol can take: the answer becomes a refusal.",
		play: func(c *chat) {
			c.start("ask")
			c.answer(c.asked(), protocol.AllowOnce, `{"command":"echo other"}`)
			c.rest("")
		},
		story: []string{"text: Running a command.", "run_command failed: …", "asks run_command", "answered reject_once", "text: Not done: …", "ended end_turn"},
	},
	{
		name:  "permission_always",
		about: "A tool that is allowed for the session: in the next turn nobody is asked.",
		play: func(c *chat) {
			c.start("ask")
			c.rest(protocol.AllowAlways)
			c.say("ask")
		},
		story: []string{"text: Running a command.", "run_command completed: hello", "asks run_command", "answered allow_always", "text: The demo ran no command: …", "ended end_turn",
			"text: Running a command.", "run_command completed: hello", "text: The demo ran no command: …", "ended end_turn"},
	},
	{
		name:  "cancel_in_text",
		about: "A cancel while text streams; the agent confirms it.",
		play: func(c *chat) {
			c.start("hang text")
			c.until(textSeen)
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
		},
		story: []string{"text: Hanging …", "ended cancelled"},
	},
	{
		name:  "cancel_in_tool",
		about: "A cancel while a tool runs; the agent fails the tool and confirms.",
		play: func(c *chat) {
			c.start("hang tool")
			c.until(toolRuns)
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
		},
		story: []string{"run_command failed: cancelled", "ended cancelled"},
	},
	{
		name:  "cancel_before_first_yield",
		about: "A cancel before the agent has said anything, then a turn that runs.",
		play: func(c *chat) {
			c.start("hang silent")
			c.cancelled(protocol.CancelUnconfirmed, protocol.CancelCancelled)
			c.rest("")
			c.say("hello")
		},
		story: []string{"ended cancelled", "text: This is the demo agent. …", "ended end_turn"},
	},
	{
		name:  "crash",
		about: "The agent's process ends in the middle of a turn; the next turn has a new process, which resumes.",
		play: func(c *chat) {
			c.say("crash")
			c.say("hello")
		},
		story: []string{"text: Crashing now.", "error process_exit", "ended error", "resumed true", "text: This is the demo agent. …", "ended end_turn"},
	},
	{
		name:  "unknown_line",
		about: "Banners, escape codes, bad UTF-8 and messages of no known kind between the lines that count.",
		play:  func(c *chat) { c.say("noise") },
		story: []string{"text: Five clean words survive noise.", "ended end_turn"},
	},
	{
		name:   "resume_ok",
		about:  "A native session of an earlier gateway is gone on with, by config.resumeSessionId.",
		before: sayHello,
		play:   func(c *chat) { c.say("hello") },
		story:  []string{"resumed true", "text: This is the demo agent. …", "ended end_turn"},
	},
	{
		name:        "resume_fallback",
		unsupported: "the demo agent goes on with every native id, and remembers nothing of any",
	},
	{
		name:  "subagent",
		about: "A tool that runs a sub-agent, which calls a tool and says something.",
		play:  func(c *chat) { c.say("subagent") },
		story: []string{"text: Asking a sub-agent.", "task completed: It found nothing.", "read_file completed: hello from the demo", "text: The file says hello.", "text: There was no sub-agent: it was made up.", "ended end_turn"},
	},
	{
		name:  "compaction",
		about: "A compaction that the agent tells of; it has no context to compact.",
		play:  func(c *chat) { c.say("compact") },
		story: []string{"text: The demo compacted what it does not have.", "ended end_turn"},
	},
	{
		name:  "model_error",
		about: "The prompt is answered with an error.",
		play:  func(c *chat) { c.say("error") },
		story: []string{"error internal", "ended error"},
	},
}

// sayHello leaves a session behind.
func sayHello(c *chat) string {
	c.say("hello")
	return c.native()
}
