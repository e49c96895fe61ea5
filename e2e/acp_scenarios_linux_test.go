package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"agent-server/internal/fakemodel"
	"agent-server/protocol"
)

// dialect is how one ACP agent's scenarios differ from another's: what its tools are
// called, and what comes of them.
type dialect struct {
	// reads, misses, touches and waits are scripts of the fake model that use the
	// agent's tools: to read the file note, to read one that is not there, to make the
	// file made, and to announce itself on a pipe and then go on for long. The last
	// two are asked for.
	reads, misses, touches, waits string
	// stories are what comes of a scenario, by its name.
	stories map[string][]string
	// unsupported is why the agent does not have a scenario, by its name.
	unsupported map[string]string
	// strange is a stream event of no known type, where the agent takes one; "": it
	// fails the turn.
	strange string
	// forgets is true where a new process knows nothing of what was said before.
	forgets bool
}

// scenarios are those of an agent.
func (d dialect) scenarios() []scenario {
	var all []scenario
	for _, s := range d.plays() {
		why, missing := d.unsupported[s.name]
		if missing {
			s = scenario{name: s.name, unsupported: why}
		}
		s.story = d.afterCancels(d.stories[s.name])
		all = append(all, s)
	}
	return all
}

// afterCancels allows for a process that was lost to a cancel.
func (d dialect) afterCancels(story []string) []string {
	var out []string
	for i, line := range story {
		out = append(out, line)
		if line == "ended cancelled" && i+1 < len(story) && !strings.Contains(story[i+1], "resumed") {
			out = append(out, fmt.Sprintf("? resumed %v", !d.forgets))
		}
	}
	return out
}

// plays are the scenarios without what comes of them.
func (d dialect) plays() []scenario {
	return append(d.asking(), []scenario{
		{
			name:  "hello",
			about: "A text of four deltas.",
			play:  func(c *chat) { c.say(`[[text say="one two three four" pieces=4]]`) },
		},
		{
			name:  "reasoning",
			about: "What the model thought, then text.",
			play:  func(c *chat) { c.say(`[[think]] [[text say="The answer is 42."]]`) },
		},
		{
			name:  "tool_ok",
			about: "A tool that is not asked for, and completes.",
			play: func(c *chat) {
				c.file("note", "hello from a file\n")
				c.say(`[[text say="I will read it."]] ` + d.reads + ` [[then]] [[text say="It said hello."]]`)
			},
		},
		{
			name:  "tool_fail",
			about: "A tool that fails; the turn goes on.",
			play:  func(c *chat) { c.say(d.misses + ` [[then]] [[text say="It is not there."]]`) },
		},
		{
			name:  "cancel_in_text",
			about: "A cancel while text streams: confirmed, and the next turn runs.",
			play:  d.cancelInText,
		},
		{
			name:  "cancel_before_first_yield",
			about: "A cancel before the model has said anything, and a turn that runs.",
			play: func(c *chat) {
				c.start("[[stall]] [[text]]")
				c.stalled(fakemodel.DefaultGate)
				c.stopped()
				c.rest("")
				c.say(after)
			},
		},
		{
			name:  "model_error",
			about: "The model's API refuses the request with 400; the next turn runs.",
			play: func(c *chat) {
				c.say("[[error status=400]]")
				c.say(after)
			},
		},
		{
			name:  "crash",
			about: "The agent is killed in the middle of a turn; the next turn has a new process.",
			play:  d.crash,
		},
		{
			name:   "unknown_line",
			about:  "A notification of no known method, and a stream event of no known type where the agent swallows those.",
			play:   func(c *chat) { c.say(d.strange + `[[text say="a"]]`) },
			edit:   insertUnknownACPLine,
			edited: "the notification from/the/future was inserted; the agent itself writes none that is not known",
		},
		{
			name: "resume_ok", alone: true,
			about:  "A session of an earlier gateway is gone on with, by config.resumeSessionId: the model is told what was said there.",
			before: sayBefore,
			play: func(c *chat) {
				c.say(after)
				c.remembers("said before", true)
				if c.native() != *c.config.ResumeSessionID {
					c.t.Errorf("native id %s, want %s", c.native(), *c.config.ResumeSessionID)
				}
			},
		},
		{
			name: "resume_fallback", alone: true,
			about: "A native id that the agent does not know: a fresh session, which says so.",
			play: func(c *chat) {
				c.config.ResumeSessionID = new("01a22dc5-0000-7000-8000-000000000000")
				c.say(after)
			},
		},
		{
			name:  "compaction",
			about: "The context is over its limit, so the agent compacts it at the beginning of the next turn.",
			play: func(c *chat) {
				c.say(`[[usage input=150000]] [[text say="a lot"]]`)
				c.say(after)
			},
		},
		{name: "subagent"},
	}...)
}

// asking are the scenarios in which somebody is asked.
func (d dialect) asking() []scenario {
	return []scenario{
		{
			name:  "permission_allow",
			about: "A command that is asked for, and allowed once: it has run.",
			play: func(c *chat) {
				c.start(d.touches)
				ev := c.asked()
				c.wantFile("made", false)
				c.answer(ev, protocol.AllowOnce, "")
				c.rest("")
				c.wantFile("made", true)
			},
		},
		{
			name:  "permission_reject",
			about: "A command that is asked for, and refused: it has not run, and the next turn does.",
			play: func(c *chat) {
				c.start(d.touches)
				c.rest(protocol.RejectOnce)
				c.wantFile("made", false)
				c.say(after)
			},
		},
		{
			name:  "permission_edited",
			about: "A command that is allowed with another input, which no agent of this protocol can take: the answer becomes a refusal.",
			play: func(c *chat) {
				c.start(d.touches)
				c.answer(c.asked(), protocol.AllowOnce, `{"command":"touch other"}`)
				c.rest("")
				c.wantFile("made", false)
			},
		},
		{
			name:  "cancel_asking",
			about: "A cancel while a permission is open: nothing has run, and the next turn does.",
			play: func(c *chat) {
				c.start(d.touches)
				c.asked()
				c.stopped()
				c.rest("")
				c.wantFile("made", false)
				c.say(after)
			},
		},
		{
			name:  "cancel_in_tool",
			about: "A cancel while a command runs: confirmed, and the command is gone.",
			play:  d.cancelInTool,
		},
		{
			name:  "permission_always",
			about: "A command that is allowed for the session: in the next turn nobody is asked.",
			play: func(c *chat) {
				c.start(d.touches)
				c.rest(protocol.AllowAlways)
				c.wantFile("made", true)
				c.start(d.touches)
				c.until(func(ev protocol.Event) bool {
					if ev.Type() == protocol.TypePermissionRequested {
						c.t.Error("somebody was asked again")
					}
					return ev.Type() == protocol.TypeTurnEnded
				})
			},
		},
	}
}

// stopped cancels the turn. Some agents take more than their time to confirm it where
// the machine is busy; they may lose their process then.
func (c *chat) stopped() {
	c.t.Helper()
	c.cancelled(protocol.CancelCancelled, protocol.CancelUnconfirmed)
}

// cancelInText cancels a turn that speaks.
func (d dialect) cancelInText(c *chat) {
	c.start(stalls)
	c.until(textSeen)
	c.stalled(fakemodel.DefaultGate)
	c.stopped()
	c.rest("")
	c.say(after)
}

// cancelInTool cancels a turn whose command runs.
func (d dialect) cancelInTool(c *chat) {
	pipe := c.pipe()
	c.start(d.waits)
	c.answer(c.asked(), protocol.AllowOnce, "")
	c.heard(pipe, "up\n")
	c.running("sleep 300", true)
	c.stopped()
	c.rest("")
	c.running("sleep 300", false)
	c.say(after)
}

// crash kills the agent.
func (d dialect) crash(c *chat) {
	c.say(before)
	c.start(stalls)
	c.until(textSeen)
	c.kill()
	c.rest("")
	c.say(after)
	c.remembers("said before", !d.forgets)
}

// sayBefore leaves a session behind, in which something was said.
func sayBefore(c *chat) string {
	c.say(before)
	return c.native()
}

// file writes a file into the working folder.
func (c *chat) file(name, content string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.place.cwd, name), []byte(content), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// insertUnknownACPLine puts a notification of no known method behind the first chunk.
func insertUnknownACPLine(native string) string {
	return insertBehind(native, `\"agent_message_chunk\"`, strings.ReplaceAll(
		`{"jsonrpc":"2.0","method":"from/the/future","params":{"text":"not for us"}}`, `"`, `\"`))
}

// geminiScenarios are for the real Gemini CLI, whose model is the fake one.
var geminiScenarios = dialect{
	reads:   `[[tool name=read_file input={"file_path":"note"}]]`,
	misses:  `[[tool name=read_file input={"file_path":"missing"}]]`,
	touches: `[[tool name=run_shell_command input={"command":"touch made","description":"Make a file"}]] [[then]] [[text say="Done."]]`,
	waits:   `[[tool name=run_shell_command input={"command":"echo up > pipe; sleep 300","description":"Wait"}]] [[then]] [[text]]`,
	strange: `[[event]] `,
	forgets: true,
	unsupported: map[string]string{
		"resume_ok":  "Gemini CLI says that it opens old sessions, and fails to; the session is gone on with in a fresh one, as in resume_fallback",
		"subagent":   "Gemini CLI tells nothing of what a sub-agent does, only of the call that starts it",
		"compaction": "Gemini CLI tells nothing of a compaction",
	},
	stories: map[string][]string{
		"hello":             {"text: one two three four", "ended end_turn"},
		"reasoning":         {"reasoning: …", "text: The answer is 42.", "ended end_turn"},
		"tool_ok":           {"text: I will read it.", "read completed:", "text: It said hello.", "ended end_turn"},
		"tool_fail":         {"read failed: File not found: …", "text: It is not there.", "ended end_turn"},
		"permission_allow":  {"execute completed:", "asks execute", "answered allow_once", "text: Done.", "ended end_turn"},
		"permission_reject": {"execute cancelled:", "asks execute", "answered reject_once", "text: Done.", "ended end_turn", "text: and after", "ended end_turn"},
		"permission_edited": {"execute cancelled:", "asks execute", "answered reject_once", "text: Done.", "ended end_turn"},
		"permission_always": {"execute completed:", "asks execute", "answered allow_always", "text: Done.", "ended end_turn",
			"execute completed:", "text: Done.", "ended end_turn"},
		"cancel_asking":             {"execute cancelled:", "asks execute", "answered cancelled", "ended cancelled", "text: and after", "ended end_turn"},
		"cancel_in_text":            {"text: word …", "ended cancelled", "text: and after", "ended end_turn"},
		"cancel_in_tool":            {"execute c…", "asks execute", "answered allow_once", "ended cancelled", "text: and after", "ended end_turn"},
		"cancel_before_first_yield": {"ended cancelled", "text: and after", "ended end_turn"},
		"crash":                     {"text: said before", "ended end_turn", "text: word …", "error process_exit", "ended error", "resumed false", "text: and after", "ended end_turn"},
		"unknown_line":              {"text: a", "ended end_turn"},
		"resume_fallback":           {"resumed false", "text: and after", "ended end_turn"},
		"model_error":               {"error invalid_request", "ended error", "text: and after", "ended end_turn"},
	},
}.scenarios()

// opencodeScenarios are for the real opencode, whose model is the fake one.
var opencodeScenarios = dialect{
	reads:   `[[tool name=read input={"filePath":"note"}]]`,
	misses:  `[[tool name=read input={"filePath":"missing"}]]`,
	touches: `[[tool name=bash input={"command":"touch made","description":"Make a file"}]] [[then]] [[text say="Done."]]`,
	waits:   `[[tool name=bash input={"command":"echo up > pipe; sleep 300","description":"Wait"}]] [[then]] [[text]]`,
	unsupported: map[string]string{
		"subagent":   "opencode tells nothing of what a sub-agent does, only of the call that starts it",
		"compaction": "opencode tells nothing of a compaction: its summary comes as if the model had said it",
	},
	stories: map[string][]string{
		"hello":             {"text: one two three four", "ended end_turn"},
		"reasoning":         {"reasoning: First I consider the question.", "text: The answer is 42.", "ended end_turn"},
		"tool_ok":           {"text: I will read it.", "read completed: …", "text: It said hello.", "ended end_turn"},
		"tool_fail":         {"read failed: File not found: …", "text: It is not there.", "ended end_turn"},
		"permission_allow":  {"execute completed: (no output)", "asks execute", "answered allow_once", "text: Done.", "ended end_turn"},
		"permission_reject": {"execute failed: …", "asks execute", "answered reject_once", "ended end_turn", "text: and after", "ended end_turn"},
		"permission_edited": {"execute failed: …", "asks execute", "answered reject_once", "ended end_turn"},
		"permission_always": {"execute completed: (no output)", "asks execute", "answered allow_always", "text: Done.", "ended end_turn",
			"execute completed: (no output)", "text: Done.", "ended end_turn"},
		"cancel_asking":             {"execute …", "asks execute", "answered cancelled", "ended cancelled", "text: and after", "ended end_turn"},
		"cancel_in_text":            {"text: word …", "ended cancelled", "text: and after", "ended end_turn"},
		"cancel_in_tool":            {"execute …", "asks execute", "answered allow_once", "ended cancelled", "text: and after", "ended end_turn"},
		"cancel_before_first_yield": {"ended cancelled", "text: and after", "ended end_turn"},
		"crash":                     {"text: said before", "ended end_turn", "text: word …", "error process_exit", "ended error", "resumed true", "text: and after", "ended end_turn"},
		"unknown_line":              {"text: a", "ended end_turn"},
		"resume_ok":                 {"resumed true", "text: and after", "ended end_turn"},
		"resume_fallback":           {"resumed false", "text: and after", "ended end_turn"},
		"model_error":               {"error _upstream", "ended error", "text: and after", "ended end_turn"},
	},
}.scenarios()

// codexACPScenarios are for the real codex-acp, whose model is the fake one.
var codexACPScenarios = dialect{
	reads:   `[[tool name=exec_command input={"cmd":"cat note"}]]`,
	misses:  `[[tool name=exec_command input={"cmd":"cat missing"}]]`,
	touches: `[[tool name=exec_command input={"cmd":"touch made"}]] [[then]] [[text say="Done."]]`,
	waits:   `[[tool name=exec_command input={"cmd":"echo up > pipe; sleep 300"}]] [[then]] [[text]]`,
	strange: `[[event]] `,
	unsupported: map[string]string{
		"subagent": "the Codex in codex-acp 0.16.0 gives its model no tool that starts a sub-agent",
	},
	stories: map[string][]string{
		"hello":             {"text: one two three four", "ended end_turn"},
		"reasoning":         {"reasoning: …", "text: The answer is 42.", "ended end_turn"},
		"tool_ok":           {"text: I will read it.", "read completed: hello from a file", "text: It said hello.", "ended end_turn"},
		"tool_fail":         {"read failed: cat: missing: No such file or directory", "text: It is not there.", "ended end_turn"},
		"permission_allow":  {"execute completed:", "asks execute", "answered allow_once", "text: Done.", "ended end_turn"},
		"permission_reject": {"execute cancelled:", "asks execute", "answered reject_once", "ended cancelled", "text: and after", "ended end_turn"},
		"permission_edited": {"execute cancelled:", "asks execute", "answered reject_once", "ended cancelled"},
		"permission_always": {"execute completed:", "asks execute", "answered allow_always", "text: Done.", "ended end_turn",
			"execute completed:", "text: Done.", "ended end_turn"},
		"cancel_asking":             {"execute cancelled:", "asks execute", "answered cancelled", "ended cancelled", "text: and after", "ended end_turn"},
		"cancel_in_text":            {"text: word …", "ended cancelled", "text: and after", "ended end_turn"},
		"cancel_in_tool":            {"execute cancelled:", "asks execute", "answered allow_once", "ended cancelled", "resumed true", "text: and after", "ended end_turn"},
		"cancel_before_first_yield": {"ended cancelled", "text: and after", "ended end_turn"},
		"crash":                     {"text: said before", "ended end_turn", "text: word …", "error process_exit", "ended error", "resumed true", "text: and after", "ended end_turn"},
		"unknown_line":              {"text: a", "ended end_turn"},
		"resume_ok":                 {"resumed true", "text: and after", "ended end_turn"},
		"resume_fallback":           {"resumed false", "text: and after", "ended end_turn"},
		"compaction":                {"text: a lot", "ended end_turn", "text: Context compacted\n…", "ended end_turn"},
		"model_error":               {"error invalid_request", "ended error", "resumed true", "text: and after", "ended end_turn"},
	},
}.scenarios()
