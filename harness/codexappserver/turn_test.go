package codexappserver

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
)

// A turn ends by the turn/completed of our thread and our turn, and by no other.
func TestLaw170_endOfOurTurnAlone(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tellOf("other", native, "turn/completed", `"turn":{"id":"turn-1","status":"completed"}`)
	f.tellOf(thread, "turn-0", "turn/completed", `"turn":{"id":"turn-0","status":"completed"}`)
	f.started(`"type":"collabAgentToolCall","id":"c","tool":"spawnAgent","prompt":"go"`)
	f.completed(`"type":"collabAgentToolCall","id":"c","tool":"spawnAgent","prompt":"go","receiverThreadIds":["sub"],"status":"completed"`)
	f.tellOf("sub", "s-1", "turn/started", `"turn":{"id":"s-1"}`)
	f.tellOf("sub", "s-1", "turn/completed", `"turn":{"id":"s-1","status":"failed"}`)
	none[harness.Finished](f)
	f.ends("completed")
	if end := last[harness.Finished](f); end.Reason != protocol.StopEndTurn {
		t.Errorf("ended %+v", end)
	}
}

// The end may come without a start, and before the answer that names the turn.
func TestEndWithoutAStart(t *testing.T) {
	t.Parallel()
	f := newFake(t, harness.Launch{Config: config()}, map[string]string{"turn/start": ""})
	f.begin()
	f.ends("interrupted")
	if end := last[harness.Finished](f); end.Reason != protocol.StopCancelled {
		t.Errorf("ended %+v", end)
	}
	f.answer("turn/start", `"result":{"turn":{"id":"turn-1"}}`) // late
	if f.tr.turn != nil {
		t.Error("a turn that is over runs again")
	}
}

func TestTurnStartedNamesTheTurn(t *testing.T) {
	t.Parallel()
	f := newFake(t, harness.Launch{Config: config()}, map[string]string{"turn/start": ""})
	f.begin()
	none[harness.Registered](f)
	f.tell("turn/started", `"turn":{"id":"turn-1"}`)
	last[harness.Registered](f)
}

// A prompt that Codex has no room for is written again, a few times.
func TestOverloadIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t, harness.Launch{Config: config()}, map[string]string{"turn/start": `"error":{"code":-32001,"message":"Server overloaded; retry later."}`})
	f.begin()
	for range maxTries - 1 {
		none[harness.Finished](f)
		if f.timers[retryTimer].After == 0 {
			t.Fatalf("timers %v", f.timers)
		}
		f.step(harness.Expired{Timer: retryTimer})
	}
	if end := last[harness.Finished](f); end.Error == nil || end.Error.Category != protocol.CategoryUpstream {
		t.Errorf("ended %+v", end)
	}
}

func TestCancelInterrupts(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.step(harness.Cancel{})
	f.wrote("turn/interrupt", `"threadId":"thread-1"`, `"turnId":"turn-1"`)
	none[harness.Finished](f)
	f.ends("interrupted")
	if end := last[harness.Finished](f); end.Reason != protocol.StopCancelled {
		t.Errorf("ended %+v", end)
	}
}

// The turn that runs may be another than we know of: its id is in the refusal.
func TestInterruptOfTheTurnThatRuns(t *testing.T) {
	t.Parallel()
	f := running(t)
	delete(f.answers, "turn/interrupt")
	f.step(harness.Cancel{})
	f.answer("turn/interrupt", "\"error\":{\"code\":-32600,\"message\":\"expected active turn id `turn-1` but found `turn-9`\"}")
	f.wrote("turn/interrupt", `"turnId":"turn-9"`)
	f.answer("turn/interrupt", `"error":{"code":-32600,"message":"no active turn to interrupt"}`)
	none[harness.Finished](f)
}

// A cancel interrupts the sub-agents that run as well.
func TestCancelReachesSubAgents(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.completed(`"type":"collabAgentToolCall","id":"c","tool":"spawnAgent","receiverThreadIds":["sub"],"status":"completed"`)
	f.tellOf("sub", "s-1", "turn/started", `"turn":{"id":"s-1"}`)
	f.step(harness.Cancel{})
	f.wrote("turn/interrupt", `"threadId":"sub"`, `"turnId":"s-1"`)
}

// What an interrupt leaves running is ended; what an earlier turn left on purpose
// is not.
func TestInterruptedCommandsAreEnded(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.answers["thread/backgroundTerminals/list"] = `"result":{"data":[{"itemId":"old","processId":"1"},{"itemId":"new","processId":"2"}]}`
	f.started(`"type":"commandExecution","id":"old","command":"serve"`)
	f.ends("completed")
	f.answers["turn/start"] = `"result":{"turn":{"id":"turn-2"}}`
	f.begin()
	f.tellOf(thread, "turn-2", "item/started", `"item":{"type":"commandExecution","id":"new","command":"sleep"}`)
	f.step(harness.Cancel{})
	f.forget()
	f.tellOf(thread, "turn-2", "turn/completed", `"turn":{"id":"turn-2","status":"interrupted"}`)
	f.wrote("backgroundTerminals/terminate", `"processId":"2"`)
	f.wroteNone(`"processId":"1"`)
	if _, ok := stateOfCall(f, "new").(*protocol.CancelledState); !ok {
		t.Errorf("the command is %+v", stateOfCall(f, "new"))
	}
	f.forget()
	f.tellOf(thread, "turn-2", "item/completed", `"item":{"type":"commandExecution","id":"new","command":"sleep","status":"failed"}`)
	f.want()
}

// A command may end after its turn, and in a later one: at its own place.
func TestCommandEndsAfterItsTurn(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.answers["thread/backgroundTerminals/list"] = `"result":{"data":[{"itemId":"c","processId":"1"}]}`
	f.started(`"type":"commandExecution","id":"c","command":"serve"`)
	f.forget()
	f.ends("completed")
	if b := last[harness.Background](f); len(b.Tasks) != 1 || b.Tasks[0].Call != "c" || b.Tasks[0].Description != "serve" {
		t.Errorf("background %+v", b)
	}
	f.forget()
	f.completed(`"type":"commandExecution","id":"c","command":"serve","status":"completed","aggregatedOutput":"bye","exitCode":0`)
	if s, ok := stateOfCall(f, "c").(*protocol.CompletedState); !ok || s.Output != "bye" {
		t.Errorf("state %+v", stateOfCall(f, "c"))
	}
	if b := last[harness.Background](f); len(b.Tasks) != 0 {
		t.Errorf("background %+v", b)
	}
}

// A command whose end was lost is not taken for one that runs on: Codex is asked.
func TestLostEndOfACommand(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.started(`"type":"commandExecution","id":"c","command":"x"`)
	f.ends("completed") // the list is empty
	if _, ok := stateOfCall(f, "c").(*protocol.FailedState); !ok {
		t.Errorf("state %+v", stateOfCall(f, "c"))
	}
	f = running(t)
	f.started(`"type":"commandExecution","id":"c","command":"x"`)
	f.step(harness.Dropped{Bytes: 99})
	f.forget()
	f.ends("completed")
	if _, ok := stateOfCall(f, "c").(*protocol.FailedState); !ok {
		t.Errorf("state %+v", stateOfCall(f, "c"))
	}
}

// Whatever is open when a turn ends is closed.
func TestUnfinishedItemsAreClosed(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]protocol.ToolStatus{
		"interrupted": protocol.ToolCancelled, "failed": protocol.ToolFailed, "completed": protocol.ToolFailed,
	} {
		f := running(t)
		f.tell("item/agentMessage/delta", `"itemId":"m","delta":"half"`)
		f.started(`"type":"mcpToolCall","id":"t","server":"s","tool":"x"`)
		f.forget()
		f.ends(status)
		if u, ok := f.updates[0].(harness.PartSet); !ok || u.Value.(*protocol.TextPart).State != protocol.StateDone {
			t.Errorf("%s: the text is closed by %+v", status, f.updates[0])
		}
		if got := stateOfCall(f, "t").Status(); got != want {
			t.Errorf("%s: the tool is %s, want %s", status, got, want)
		}
	}
}

// A turn that Codex begins by itself is told, and is no end of anything of ours.
func TestCodexWakesByItself(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.ends("completed")
	f.forget()
	f.tellOf(thread, "turn-2", "turn/started", `"turn":{"id":"turn-2"}`)
	last[harness.Woken](f)
	f.tellOf(thread, "turn-2", "turn/completed", `"turn":{"id":"turn-2","status":"completed"}`)
	last[harness.Finished](f)
}

// A prompt that meets such a turn joins it, or begins one.
func TestPromptJoinsATurnOfCodexs(t *testing.T) {
	t.Parallel()
	for _, answered := range []string{"turn-2", "turn-3"} {
		f := running(t)
		f.ends("completed")
		f.tellOf(thread, "turn-2", "turn/started", `"turn":{"id":"turn-2"}`)
		f.answers["turn/start"] = `"result":{"turn":{"id":"` + answered + `"}}`
		f.forget()
		f.begin()
		last[harness.Registered](f)
		f.tellOf(thread, answered, "turn/completed", `"turn":{"id":"`+answered+`","status":"completed"}`)
		last[harness.Finished](f)
	}
}

// A thread that is idle while its turn has no end is given up after a while.
func TestIdleWithoutAnEnd(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tell("thread/status/changed", `"status":{"type":"idle"}`)
	none[harness.Finished](f)
	if f.timers[idleTimer].After != idleLimit {
		t.Fatalf("timers %v", f.timers)
	}
	f.step(harness.Expired{Timer: idleTimer})
	if end := last[harness.Finished](f); end.Error == nil || f.process != harness.Stop {
		t.Errorf("ended %+v, process %v", end, f.process)
	}
}

func TestSteer(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.step(harness.Steer{Turn: "x", Input: protocol.TextInput("more")})
	f.wrote("turn/steer", `"expectedTurnId":"turn-1"`, `"text":"more"`)
	f.answer("turn/steer", "\"error\":{\"code\":-32600,\"message\":\"expected active turn id `turn-1` but found `turn-2`\"}")
	f.wrote("turn/steer", `"expectedTurnId":"turn-2"`)
	f.answer("turn/steer", `"result":{"turnId":"turn-2"}`)
	f.ends("completed")
	last[harness.Finished](f)
}

// A steer that comes too late is a prompt of the same turn of ours: nothing is lost.
func TestLateSteerIsNotLost(t *testing.T) {
	t.Parallel()
	for _, endFirst := range []bool{true, false} {
		f := running(t)
		f.step(harness.Steer{Turn: "x", Input: protocol.TextInput("more")})
		f.answers["turn/start"] = `"result":{"turn":{"id":"turn-2"}}`
		refusal := `"error":{"code":-32600,"message":"no active turn to steer"}`
		if endFirst {
			f.ends("completed")
			f.answer("turn/steer", refusal)
		} else {
			f.answer("turn/steer", refusal)
			f.ends("completed")
		}
		none[harness.Finished](f)
		f.wrote("turn/start", `"text":"more"`)
		f.tellOf(thread, "turn-2", "turn/completed", `"turn":{"id":"turn-2","status":"completed"}`)
		last[harness.Finished](f)
	}
}

// The next turn after any end works.
func TestEachEndLeavesTheThreadUsable(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"completed", "interrupted", "failed", "odd"} {
		f := running(t)
		f.ends(status)
		f.answers["turn/start"] = `"result":{"turn":{"id":"turn-2"}}`
		f.forget()
		f.begin()
		f.wrote("turn/start")
		if strings.Contains(strings.Join(f.written, ""), "initialize") || f.process != harness.Keep {
			t.Errorf("%s: a new process", status)
		}
	}
}
