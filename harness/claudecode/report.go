package claudecode

import (
	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// What the CLI tells of the session itself: its commands as it greets, its
// permission mode whenever that changes, its model with every turn, a title where
// it gives one. The machine tells readers only what is new of it.

// greeting is the answer to initialize, as far as it is of use.
type greeting struct {
	// Mode is the permission mode.
	Mode text `json:"current_permission_mode"`
	// Commands are objects {name, description, argumentHint, …}.
	Commands jsontext.Value `json:"commands"`
}

// noteGreeting takes what the CLI says of itself as it starts.
func (t *translator) noteGreeting(body jsontext.Value) {
	g := object[greeting](body)
	t.noteMode(g.Mode)
	var commands []protocol.Object
	for _, raw := range array(g.Commands) {
		if c := free(raw); c != nil {
			commands = append(commands, c)
		}
	}
	if len(commands) > 0 {
		t.emit(harness.SessionInfo{Commands: commands})
	}
}

// noteMode notes the permission mode that the CLI says it is in.
func (t *translator) noteMode(mode text) {
	if mode != "" && t.mode != string(mode) {
		t.mode = string(mode)
		t.emit(harness.SessionInfo{Mode: new(string(mode))})
	}
}

// noteModel tells which model the CLI runs on.
func (t *translator) noteModel(model text) {
	if model != "" && t.model != string(model) {
		t.model = string(model)
		t.emit(harness.SessionInfo{Model: new(string(model))})
	}
}

// onTitle takes a name that the CLI gives the session.
func (t *translator) onTitle(line []byte) {
	if title := object[system](line).Title; title != "" {
		t.emit(harness.SessionInfo{Title: new(string(title))})
	}
}
