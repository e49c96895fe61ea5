package codexappserver

import (
	"strings"

	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// Commands run in a terminal that the model can come back to. One that takes longer
// than the model wants to wait goes on while the turn does, or ends, and tells its end
// then, under the turn that began it. Pieces of output come lossy and late, for short
// commands not at all: they show that a command runs, and nothing more.
//
// A command stands in a shell's quotes on the wire. What Codex understood of it comes
// beside that, and makes the title and the kind.

// commandTool describes a command.
func commandTool(f fields) tool {
	return tool{
		name: "commandExecution", title: commandTitle(f), kind: commandKind(f.Actions),
		locations: commandLocations(f), input: members(f.raw, "command", "cwd"),
	}
}

// action is what Codex has understood of a command.
type action struct {
	Type    rpcline.Text `json:"type"`
	Command rpcline.Text `json:"command"`
	Path    rpcline.Text `json:"path"`
}

// commandTitle is the command as a person would type it: without the shell that
// Codex wraps around it.
func commandTitle(f fields) string {
	actions := rpcline.List[action](f.Actions)
	if len(actions) == 1 && actions[0].Command != "" {
		return string(actions[0].Command)
	}
	return unwrap(string(f.Command))
}

// unwrap takes a shell's -c off a command that is quoted as a whole.
func unwrap(command string) string {
	for _, flag := range []string{" -lc ", " -c "} {
		_, quoted, found := strings.Cut(command, flag)
		if found && len(quoted) > 1 && quoted[0] == '\'' && strings.IndexByte(quoted[1:], '\'') == len(quoted)-2 {
			return quoted[1 : len(quoted)-1]
		}
	}
	return command
}

// commandKind is what a command does, where Codex knows: all its parts have to
// agree.
func commandKind(actions jsontext.Value) protocol.ToolKind {
	kinds := map[rpcline.Text]protocol.ToolKind{
		"read": protocol.KindRead, "listFiles": protocol.KindSearch, "search": protocol.KindSearch,
	}
	var kind protocol.ToolKind
	for _, a := range rpcline.List[action](actions) {
		is, known := kinds[a.Type]
		if !known || kind != "" && kind != is {
			return protocol.KindExecute
		}
		kind = is
	}
	if kind == "" {
		return protocol.KindExecute
	}
	return kind
}

// commandLocations are the files that Codex saw named.
func commandLocations(f fields) []protocol.Location {
	var paths []string
	for _, a := range rpcline.List[action](f.Actions) {
		paths = append(paths, string(a.Path))
	}
	return located(paths...)
}

// commandError is why a command failed: its exit code, and what it wrote.
func commandError(f fields) string {
	said := "The command failed."
	if f.ExitCode.Set {
		said = "Exit code " + string(protocol.Encode(f.ExitCode.Value))
	}
	if f.Output != "" {
		said += "\n" + string(f.Output)
	}
	return said
}

// outputGrew takes a piece of a command's output. Our vocabulary has no delta for
// it, and Codex loses some: the end tells it whole. But the command runs.
func (t *translator) outputGrew(p params) {
	if it := t.items[itemKey{string(p.ThreadID), string(p.ItemID)}]; it != nil {
		t.runs(it)
	}
}

// statusChanged takes what a thread waits for. Idle is never a turn's end, but
// after it that cannot be far.
func (t *translator) statusChanged(p params) {
	if string(p.ThreadID) != t.thread {
		return
	}
	s := rpcline.Read[struct {
		Type  rpcline.Text   `json:"type"`
		Flags jsontext.Value `json:"activeFlags"`
	}](p.Status)
	t.waiting = false
	for _, flag := range rpcline.Texts(s.Flags) {
		t.waiting = t.waiting || flag == "waitingOnApproval"
	}
	if !t.waiting {
		for _, key := range t.order {
			t.runs(t.items[key])
		}
	}
	if s.Type != "active" && t.turn != nil && t.turn.id != "" {
		t.setTimer(idleTimer, idleLimit)
	}
}
