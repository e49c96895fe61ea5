package codexappserver

import (
	"slices"
	"strings"

	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// A sub-agent is a thread of its own on the same connection. Nothing says that it
// begins but the item of the call that spawned it: an older kind of item names the
// threads in its end, a newer one names one in its start. What a sub-agent does is
// shown below that call for as long as the process lives, whatever becomes of the
// call itself, which is over as soon as the thread exists.
//
// Waiting for a sub-agent, writing to it and closing it are calls of their own, which
// show what the agents' states were and own nothing.

// agentTool describes a call that has to do with a sub-agent. Only the one that
// spawns it runs it: what it says is shown below that.
func agentTool(f fields) tool {
	tl := tool{name: "subAgentActivity", kind: protocol.KindOther, input: members(f.raw, "kind", "agentThreadId", "agentPath", "model")}
	thread, spawns := string(f.AgentThread), f.Kind == "started"
	about := string(f.AgentPath)
	if f.Type == "collabAgentToolCall" {
		tl.name, tl.input = string(f.Tool), members(f.raw, "prompt", "model", "receiverThreadIds")
		spawns, about = f.Tool == "spawnAgent", string(f.Prompt)
		if threads := rpcline.Texts(f.Receivers); len(threads) == 1 {
			thread = threads[0]
		}
	}
	tl.title, _, _ = strings.Cut(about, "\n")
	if spawns {
		tl.kind = protocol.KindTask
		tl.subagent = &protocol.Subagent{Description: known(tl.title), Model: known(string(f.Model)), AgentID: known(thread)}
	}
	return tl
}

// known is s; nil where it is "".
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// agentText says how the agents stand that a call was about, a line each.
func agentText(f fields) string {
	states := rpcline.Read[map[string]jsontext.Value](f.States)
	var threads []string
	for thread := range states {
		threads = append(threads, thread)
	}
	slices.Sort(threads)
	var lines []string
	for _, thread := range threads {
		s := rpcline.Read[struct {
			Status  rpcline.Text `json:"status"`
			Message rpcline.Text `json:"message"`
		}](states[thread])
		line := thread + ": " + string(s.Status)
		if s.Message != "" {
			line += ": " + string(s.Message)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
