package acp

import (
	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// What agents tell of the session itself: its title, their modes and commands, the
// model. Any of it may come at any time, and is told on as it comes.

// reportSettings tells the mode and the model in force, and which modes there are.
func (t *translator) reportSettings() {
	if t.agent.Quirks.Untold {
		return
	}
	list, mode, _ := t.modes()
	u := harness.SessionInfo{Mode: named(text(mode)), Model: named(text(t.settings.model()))}
	for _, c := range list {
		u.Modes = append(u.Modes, c.raw)
	}
	if u.Mode != nil || u.Model != nil || u.Modes != nil {
		t.emit(u)
	}
}

// model is the model in force; "" where the agent lists none.
func (s *settings) model() string {
	if o := s.category("model"); o != nil {
		return string(o.Current)
	}
	return s.models.current
}

// commandsChanged takes the whole list of commands.
func (t *translator) commandsChanged(raw jsontext.Value) {
	listed := read[struct {
		Commands jsontext.Value `json:"availableCommands"`
	}](raw).Commands
	if listed.Kind() != '[' {
		return
	}
	commands := []protocol.Object{} // an empty list takes back what there was
	for _, c := range list[jsontextObject](listed) {
		commands = append(commands, protocol.Object(c))
	}
	t.emit(harness.SessionInfo{Commands: commands})
}

// jsontextObject is an object as it came.
type jsontextObject jsontext.Value

// UnmarshalJSON takes any value.
func (o *jsontextObject) UnmarshalJSON(raw []byte) error {
	*o = jsontextObject(protocol.AppendRaw(nil, raw))
	return nil
}

// titled takes what the agent calls the session.
func (t *translator) titled(raw jsontext.Value) {
	title := read[struct {
		Title text `json:"title"`
	}](raw).Title
	if title != "" {
		t.emit(harness.SessionInfo{Title: new(string(title))})
	}
}
