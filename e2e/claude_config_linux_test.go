package e2e

import (
	"strings"
	"testing"

	"agent-server/protocol"
)

// What changes between two turns changes in the live process, or in a new one that
// goes on with the conversation.
func TestClaudeConfigChanges(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
	c.say(before)
	pid := c.child().pid
	kept := func(what string, want bool) {
		t.Helper()
		c.say(after)
		now := c.child().pid
		if (now == pid) != want {
			t.Errorf("%s: process %d, before %d; want it kept: %v", what, now, pid, want)
		}
		pid = now
		c.remembers("said before", true)
	}
	c.config.Model = new("opus")
	kept("another model", true)
	if model := c.lastRequest(); !strings.Contains(model, `"model":"claude-opus`) {
		t.Errorf("the model's server was asked %.200s", model)
	}
	c.config.PermissionMode = protocol.ModePlan
	kept("another permission mode", true)
	c.config.PermissionMode = protocol.ModeDefault
	c.config.ThinkingLevel = protocol.ThinkingHigh
	kept("more thinking", false)
	if asked := c.lastRequest(); !strings.Contains(asked, `"effort":"high"`) {
		t.Error("the effort did not reach the model's server")
	}
	// Newer models think as they like; this one does as it is told.
	c.config.Model = new("claude-sonnet-4-5")
	kept("an older model", true)
	if asked := c.lastRequest(); !thinks(asked) {
		t.Error("the model's server was not asked to think")
	}
	c.config.ThinkingLevel = protocol.ThinkingOff
	kept("no thinking", false)
	if asked := c.lastRequest(); thinks(asked) {
		t.Error("the model's server was asked to think")
	}
	c.config.SystemPromptAppend = new("Remember the milk.")
	kept("a system prompt", false)
	if !strings.Contains(c.lastRequest(), "Remember the milk.") {
		t.Error("the system prompt did not reach the model's server")
	}
	c.config.MaxTurns = new(int64(1))
	if end := c.say(`[[tool name=Bash input={"command":"echo hi"}]]`); end.StopReason != protocol.StopMaxTurnRequests {
		t.Errorf("the turn ended %s", end.StopReason)
	}
	c.over()
}

// thinks says whether a request wants the model to think.
func thinks(request string) bool {
	return strings.Contains(request, `"thinking":{"type":"adaptive"`) || strings.Contains(request, `"thinking":{"budget_tokens"`) ||
		strings.Contains(request, `"thinking":{"type":"enabled"`)
}

// lastRequest is what the model's server was asked last, not by a side call.
func (c *chat) lastRequest() string {
	requests := c.place.srv.Requests()
	for i := len(requests) - 1; i >= 0; i-- {
		if !requests[i].Side {
			return string(requests[i].Body)
		}
	}
	return ""
}

// The servers of a config are there in the first turn, whichever way they are
// reached; one that is not reached is told, and the turn runs.
func TestClaudeMCPServers(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
	c.config.MCPServers = map[string]protocol.MCPServer{
		"near": stdioMCP(t, "near"), "far": httpMCP(t, "far"), "stream": sseMCP(t, "stream"),
		"gone": {Type: protocol.MCPHTTP, URL: "http://127.0.0.1:1/"},
	}
	c.say(`[[tool name=mcp__near__echo input={"text":"a"}]] [[then]] [[tool name=mcp__far__echo input={"text":"b"}]] [[then]] ` +
		`[[tool name=mcp__stream__echo input={"text":"c"}]] [[then]] [[text say="All have spoken."]]`)
	c.over()
	c.end()
	c.tells(t, "error invalid_request",
		"mcp__near__echo completed: near says a", "asks mcp__near__echo", "answered allow_once",
		"mcp__far__echo completed: far says b", "asks mcp__far__echo", "answered allow_once",
		"mcp__stream__echo completed: stream says c", "asks mcp__stream__echo", "answered allow_once",
		"text: All have spoken.", "ended end_turn")
}

// No rule of the CLI's is as narrow as one call of an MCP tool: the gateway's own
// lets that call pass again, and asks for any other.
func TestClaudeAlwaysIsNarrow(t *testing.T) {
	t.Parallel()
	requireCLI(t, claudeBinary)
	c := newPlace(t).spawn(t).chat(protocol.HarnessClaudeCode)
	c.config.MCPServers = map[string]protocol.MCPServer{"near": stdioMCP(t, "near")}
	c.start(`[[tool name=mcp__near__echo input={"text":"a"}]]`)
	c.rest(protocol.AllowAlways)
	c.say(`[[tool name=mcp__near__echo input={"text":"a"}]]`)
	c.say(`[[tool name=mcp__near__echo input={"text":"b"}]]`)
	c.over()
	c.end()
	c.tells(t, "mcp__near__echo completed: near says a", "asks mcp__near__echo", "answered allow_always", "text: Done.", "ended end_turn",
		"mcp__near__echo completed: near says a", "text: Done.", "ended end_turn",
		"mcp__near__echo completed: near says b", "asks mcp__near__echo", "answered allow_once", "text: Done.", "ended end_turn")
}
