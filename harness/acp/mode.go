package acp

import (
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// applyMode sets the permission mode; true where an answer has to be waited for.
//
// It is set in each new or reopened session even where it seems to be in force,
// and again whenever the agent has moved away from it: agents start in modes of
// their own that never ask.
func (t *translator) applyMode(want protocol.PermissionMode) bool {
	if want == "" {
		want = protocol.ModeDefault
	}
	list, current, first := t.modes()
	target, ok := find(list, t.modeNames(want)...)
	switch {
	case ok:
	case want != protocol.ModeDefault:
		t.reject(protocol.TurnError{
			Category: protocol.CategoryInvalidRequest,
			Message:  "config.permissionMode: the agent has no mode " + string(want),
		})
		return false
	case t.settings.moded:
		target = first
	default:
		return false // what it starts in is its default
	}
	if t.settings.moded && target == current {
		return false
	}
	t.setMode(target)
	return true
}

// modeNames are the spellings of a mode: the operator's alone, where there is
// one.
func (t *translator) modeNames(mode protocol.PermissionMode) []string {
	if name := t.agent.Modes[mode]; name != "" {
		return []string{name}
	}
	return []string{string(mode)}
}

// modes are the agent's modes, the one in force and the one at the start: from
// their own list, else from the config option that takes its place.
func (t *translator) modes() (list []choice, current, first string) {
	if m := t.settings.modes; m.list != nil {
		return m.list, m.current, m.first
	}
	if o := t.settings.category("mode"); o != nil {
		return choicesOf(o.Options), string(o.Current), t.settings.first[string(o.ID)]
	}
	return nil, "", ""
}

// setMode sets the mode in the way that the agent lists it.
func (t *translator) setMode(target string) {
	t.settings.moded = true
	if t.settings.modes.list == nil {
		t.setOption(t.settings.category("mode"), target, "permissionMode")
		return
	}
	t.await("session/set_mode", struct {
		SessionID string `json:"sessionId"`
		ModeID    string `json:"modeId"`
	}{t.session, target}, "permissionMode", func(t *translator, _ jsontext.Value) {
		t.settings.modes.current = target
	})
}

// modeChanged takes the news of a mode that the agent went into by itself.
func (t *translator) modeChanged(raw jsontext.Value) {
	mode := read[struct {
		Current text `json:"currentModeId"`
	}](raw).Current
	if mode != "" {
		t.settings.modes.current = string(mode)
		t.reportSettings()
	}
}

// optionsChanged takes a new list of config options.
func (t *translator) optionsChanged(raw jsontext.Value) {
	t.settings.learnOptions(read[struct {
		ConfigOptions jsontext.Value `json:"configOptions"`
	}](raw).ConfigOptions)
	t.reportSettings()
}
