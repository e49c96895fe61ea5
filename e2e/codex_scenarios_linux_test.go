package e2e

import (
	"strings"

	"agent-server/internal/fakemodel"
	"agent-server/protocol"
)

// The prompts of the scenarios are scripts of the fake model. A command that is to
// leave its sandbox asks for that; nothing else of a command is asked about.
const (
	codexTouch = `[[tool name=exec_command input={"cmd":"touch made","sandbox_permissions":"require_escalated",` +
		`"justification":"Make a file?"}]] [[then]] [[text say="Done."]]`
	codexLong = `[[tool name=exec_command input={"cmd":"echo up > pipe; sleep 300","sandbox_permissions":"require_escalated",` +
		`"justification":"Wait?"}]] [[then]] [[text]]`
)

// codexScenarios are for the real Codex by its app-server, whose model is the fake
// one.
var codexScenarios = []scenario{
	{
		name:  "hello",
		about: "A text of four deltas.",
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
		story: []string{"text: I will run it.", "commandExecution completed: hi", "text: It said hi.", "ended end_turn"},
	},
	{
		name:  "tool_fail",
		about: "A command that fails; the turn goes on.",
		play: func(c *chat) {
			c.say(`[[tool name=exec_command input={"cmd":"cat missing"}]] [[then]] [[text say="It is not there."]]`)
		},
		story: []string{"commandExecution failed: Exit code 1", "text: It is not there.", "ended end_turn"},
	},
	{
		name:  "permission_allow",
		about: "A command that is asked for, and allowed once: it has run.",
		play: func(c *chat) {
			c.start(codexTouch)
			ev := c.asked()
			c.wantFile("made", false)
			c.answer(ev, protocol.AllowOnce, "")
			c.rest("")
			c.wantFile("made", true)
		},
		story: []string{"commandExecution completed:", "asks commandExecution", "answered allow_once", "text: Done.", "ended end_turn"},
	},
	{
		name:  "permission_reject",
		about: "A command that is asked for, and refused: it has not run, and the turn goes on.",
		play: func(c *chat) {
			c.start(codexTouch)
			c.rest(protocol.RejectOnce)
			c.wantFile("made", false)
		},
		story: []string{"commandExecution failed: …", "asks commandExecution", "answered reject_once", "text: Done.", "ended end_turn"},
	},
	{
		name:        "permission_edited",
		unsupported: "Codex takes no other input than the one it asks about; the broker makes a denial of an edited one",
	},
	{
		name:  "permission_always",
		about: "A command that is allowed for the session: in the next turn nobody is asked, and no rule was written.",
		play: func(c *chat) {
			c.start(codexTouch)
			c.rest(protocol.AllowAlways)
			c.wantFile("made", true)
			c.say(codexTouch)
			c.wantFile("../home/.codex/rules/default.rules", false)
		},
		story: []string{"commandExecution completed:", "asks commandExecution", "answered allow_always", "text: Done.", "ended end_turn",
			"commandExecution completed:", "text: Done.", "ended end_turn"},
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
		about: "A cancel while a command runs, which Codex itself would let run on: confirmed, and the command is gone.",
		play: func(c *chat) {
			pipe := c.pipe()
			c.start(codexLong)
			c.answer(c.asked(), protocol.AllowOnce, "")
			c.heard(pipe, "up\n")
			c.running("sleep 300", true)
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
			c.running("sleep 300", false)
			c.say(after)
		},
		story: []string{"commandExecution cancelled:", "asks commandExecution", "answered allow_once", "ended cancelled",
			"text: and after", "ended end_turn"},
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
		about: "Codex is killed in the middle of a turn; the next turn has a new process, which resumes.",
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
		about:  "A stream event of no known type, which Codex swallows, and a notification and an item of none.",
		play:   func(c *chat) { c.say(`[[event]] [[text say="a"]]`) },
		edit:   insertUnknownCodexLine,
		edited: "the notification from/the/future was inserted; Codex itself writes none that is not known",
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
	{
		name:  "subagent",
		about: "A sub-agent, which runs a command of its own while the turn that spawned it goes on, and outlives it.",
		play: func(c *chat) {
			c.config.Model = new("fake-1")
			c.start(`[[tool name=multi_agent_v1.spawn_agent input={"message":"[[tool name=exec_command input={\"cmd\":\"echo sub\"}]]\n[[then]] [[stall]]"}]] ` +
				`[[then]] [[stall gate=spawned]] [[text say="It has looked."]]`)
			c.until(func(ev protocol.Event) bool {
				m, ok := ev.(*protocol.MessagePart)
				return ok && m.Part.Head().ParentToolCallID != nil && partLine(m.Part) == "commandExecution completed: sub"
			})
			c.stalled(fakemodel.DefaultGate) // what it says at its end would make the model speak once more
			c.place.srv.Release("spawned")
			c.rest("")
		},
		story: []string{"spawnAgent completed: …", "text: [[tool name=exec_command …", "commandExecution completed: sub",
			"text: It has looked.", "ended end_turn"},
	},
	{
		name:  "compaction",
		about: "The context is over its limit, so Codex compacts it at the beginning of the next turn.",
		play: func(c *chat) {
			c.say(`[[usage input=150000]] [[text say="a lot"]]`)
			c.say(after)
		},
		story: []string{"text: a lot", "ended end_turn", "text: and after", "ended end_turn"},
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

// codexFurther are scenarios that other harnesses have no like of; they make no
// fixtures.
var codexFurther = []scenario{
	{
		name:  "cancel_in_sandbox",
		about: "A cancel while a command runs in the sandbox, in sessions of its own: its whole tree is gone.",
		play: func(c *chat) {
			c.start(`[[tool name=exec_command input={"cmd":"sh -c 'sleep 301 & sleep 302' & sleep 303"}]] [[then]] [[text]]`)
			c.until(toolRuns)
			c.running("sleep 301", true)
			c.running("sleep 303", true)
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
			c.running("sleep 301", false)
			c.running("sleep 303", false)
			c.say(after)
		},
		story: []string{"commandExecution cancelled:", "ended cancelled", "text: and after", "ended end_turn"},
	},
	{
		name:  "background",
		about: "A command that outlives its turn: it runs on, and ends with the session.",
		play: func(c *chat) {
			c.say(`[[tool name=exec_command input={"cmd":"sleep 305","yield_time_ms":300}]] [[then]] [[text say="It runs."]]`)
			c.running("sleep 305", true)
			c.say(after)
			c.running("sleep 305", true)
		},
		story: []string{"commandExecution in_progress:", "text: It runs.", "ended end_turn", "text: and after", "ended end_turn"},
	},
	{
		name:  "cancel_asking",
		about: "A cancel while a permission is open: nothing has run, and the next turn does.",
		play: func(c *chat) {
			c.start(codexTouch)
			c.asked()
			c.cancelled(protocol.CancelCancelled)
			c.rest("")
			c.wantFile("made", false)
			c.say(after)
		},
		story: []string{"commandExecution cancelled:", "asks commandExecution", "answered cancelled", "ended cancelled",
			"text: and after", "ended end_turn"},
	},
	{
		name:  "patch",
		about: "A patch that is asked for, and allowed: the file is there, shown as a diff.",
		play: func(c *chat) {
			c.start(`[[tool name=apply_patch raw="*** Begin Patch\n*** Add File: made\n+one\n*** End Patch\n"]] [[then]] [[text say="Patched."]]`)
			c.rest(protocol.AllowOnce)
			c.wantFile("made", true)
		},
		story: []string{"fileChange completed: …", "asks fileChange", "answered allow_once", "text: Patched.", "ended end_turn"},
	},
}

// partLine is a part as a story tells it.
func partLine(p protocol.Part) string {
	var s storyteller
	s.part(p)
	return s.lines[0]
}

// insertUnknownCodexLine puts a notification of no known method behind the one
// that starts the turn.
func insertUnknownCodexLine(native string) string {
	return insertBehind(native, `\"method\":\"turn/started\"`, `{\"method\":\"from/the/future\",\"params\":{\"text\":\"not for us\"}}`)
}

// insertBehind puts a line of the harness's, as it stands inside a JSON string,
// behind the first one that holds a mark.
func insertBehind(native, mark, line string) string {
	at := strings.Index(native, mark)
	if at < 0 {
		return native
	}
	start := strings.LastIndexByte(native[:at], '\n') + 1
	end := at + strings.IndexByte(native[at:], '\n') + 1
	head, _, _ := strings.Cut(native[start:end], `"line":`)
	return native[:end] + head + `"line":"` + line + `"}` + "\n" + native[end:]
}
