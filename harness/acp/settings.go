package acp

import (
	"strings"

	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// settings are what a session can be told between turns, as the agent lists it.
type settings struct {
	// modes are set by session/set_mode; models, an older form, by
	// session/set_model.
	modes, models choices
	// options are the config options.
	options []option
	// first are the values that the options had at the start, by id.
	first map[string]string
	// moded is true once a mode was set.
	moded bool
}

// choices are a list of values and the one in force.
type choices struct {
	list []choice
	// current is the value in force; first, the one at the start.
	current, first string
}

// choice is one value.
type choice struct {
	// value is what the agent takes; name is for people.
	value, name string
	// raw is the value as the agent describes it.
	raw protocol.Object
}

// option is one config option.
type option struct {
	// ID names it in session/set_config_option.
	ID text `json:"id"`
	// Category says what it sets: model, thought_level, mode, or what we do not
	// know.
	Category text `json:"category"`
	// Current is the value in force; "" where it is no text.
	Current text `json:"currentValue"`
	// Options are its values, or groups of them.
	Options jsontext.Value `json:"options"`
}

// learn takes what the answer that opened the session says of its settings.
func (s *settings) learn(result jsontext.Value) {
	said := read[struct {
		Modes struct {
			Current   text           `json:"currentModeId"`
			Available jsontext.Value `json:"availableModes"`
		} `json:"modes"`
		Models struct {
			Current   text           `json:"currentModelId"`
			Available jsontext.Value `json:"availableModels"`
		} `json:"models"`
		ConfigOptions jsontext.Value `json:"configOptions"`
	}](result)
	if said.Modes.Available != nil {
		s.modes = newChoices(said.Modes.Available, string(said.Modes.Current))
	}
	if said.Models.Available != nil {
		s.models = newChoices(said.Models.Available, string(said.Models.Current))
	}
	s.learnOptions(said.ConfigOptions)
}

// learnOptions takes the list of config options, which is always whole.
func (s *settings) learnOptions(raw jsontext.Value) {
	options := list[option](raw)
	if options == nil {
		return
	}
	s.options = options
	if s.first == nil {
		s.first = map[string]string{}
	}
	for _, o := range options {
		if _, seen := s.first[string(o.ID)]; !seen {
			s.first[string(o.ID)] = string(o.Current)
		}
	}
}

// entry is a value in any of the lists: modes have an id, models a modelId,
// options a value.
type entry struct {
	ID      text `json:"id"`
	ModelID text `json:"modelId"`
	Value   text `json:"value"`
	// Name is for people.
	Name text `json:"name"`
	// Options are set in a group of values.
	Options jsontext.Value `json:"options"`
}

// newChoices are a list and what is in force of it at the start.
func newChoices(raw jsontext.Value, current string) choices {
	return choices{list: choicesOf(raw), current: current, first: current}
}

// choicesOf reads a list of values; one of groups is taken as one list.
func choicesOf(raw jsontext.Value) []choice {
	var out []choice
	for _, described := range list[jsontextObject](raw) {
		e := read[entry](jsontext.Value(described))
		if e.Options != nil {
			out = append(out, choicesOf(e.Options)...)
			continue
		}
		if value := e.ID + e.ModelID + e.Value; value != "" {
			out = append(out, choice{string(value), string(e.Name), protocol.Object(described)})
		}
	}
	return out
}

// category is the first option of a category; nil where there is none.
func (s *settings) category(name text) *option {
	for i := range s.options {
		if s.options[i].Category == name {
			return &s.options[i]
		}
	}
	return nil
}

// find is the value that is spelled as one of the names, by its id before its
// title; names are in order of preference.
func find(list []choice, names ...string) (string, bool) {
	for _, name := range names {
		for _, c := range list {
			if squeeze(c.value) == squeeze(name) {
				return c.value, true
			}
		}
		for _, c := range list {
			if squeeze(c.name) == squeeze(name) {
				return c.value, true
			}
		}
	}
	return "", false
}

// squeeze leaves what all spellings of a name have in common: accept_edits,
// acceptEdits and "Accept edits" are one.
func squeeze(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, name))
}

// settle has the agent take the turn's settings, one after another since each
// may change what the next can be, and then writes the prompt. Each of them is
// looked at once a turn.
func (t *translator) settle() {
	for turn := t.turn; turn != nil && turn == t.turn; {
		turn.step++
		waits := false
		switch turn.step {
		case 1:
			waits = t.applyModel(turn.in.Config.Model)
		case 2:
			waits = t.applyThinking(turn.in.Config.ThinkingLevel)
		case 3:
			waits = t.applyMode(turn.in.Config.PermissionMode)
		default:
			t.prompt()
			return
		}
		if waits {
			return
		}
	}
}

// applyModel sets the model, or the first one again where none is asked for;
// true where an answer has to be waited for.
func (t *translator) applyModel(want *string) bool {
	if o := t.settings.category("model"); o != nil {
		target := t.settings.first[string(o.ID)]
		if want != nil {
			target = spelled(choicesOf(o.Options), *want)
		}
		return t.changeOption(o, target, "model")
	}
	models := &t.settings.models
	switch {
	case models.list != nil:
		target := models.first
		if want != nil {
			target = spelled(models.list, *want)
		}
		return t.setLegacyModel(target)
	case want != nil:
		t.note(ignoredMember, "model: the agent offers no choice")
	}
	return false
}

// spelled is the value that is meant, as the agent spells it; one that it does
// not list goes to it as it is, so that the agent refuses it and not we.
func spelled(list []choice, want string) string {
	for _, c := range list {
		if c.value == want {
			return want
		}
	}
	if value, ok := find(list, want); ok {
		return value
	}
	return want
}

// setLegacyModel sets the model by the method that is gone from the protocol but
// not from agents.
func (t *translator) setLegacyModel(target string) bool {
	if target == "" || target == t.settings.models.current {
		return false
	}
	t.await("session/set_model", struct {
		SessionID string `json:"sessionId"`
		ModelID   string `json:"modelId"`
	}{t.session, target}, "model", func(t *translator, _ jsontext.Value) { t.settings.models.current = target })
	return true
}

// changeOption sets a config option where it is not so already; true where an
// answer has to be waited for.
func (t *translator) changeOption(o *option, target, member string) bool {
	if target == "" || target == string(o.Current) {
		return false
	}
	t.setOption(o, target, member)
	return true
}

// setOption sets a config option.
func (t *translator) setOption(o *option, target, member string) {
	id := o.ID
	t.await("session/set_config_option", struct {
		SessionID string `json:"sessionId"`
		ConfigID  string `json:"configId"`
		Value     string `json:"value"`
	}{t.session, string(id), target}, member, func(t *translator, result jsontext.Value) {
		t.settings.took(id, text(target))
		t.settings.learnOptions(read[struct {
			ConfigOptions jsontext.Value `json:"configOptions"`
		}](result).ConfigOptions)
	})
}

// took notes the value of an option, for agents that do not answer with a list.
func (s *settings) took(id, value text) {
	for i := range s.options {
		if s.options[i].ID == id {
			s.options[i].Current = value
		}
	}
}

// await writes a request that the turn's prompt waits for. A setting that the
// agent refuses ends the turn: to run it with another would not be what was
// asked for.
func (t *translator) await(method string, params any, member string, took func(*translator, jsontext.Value)) {
	turn := t.turn
	t.call(method, params, func(t *translator, m rpcline.Message) {
		if m.Error == nil {
			took(t, m.Result)
			t.reportSettings()
		} else {
			t.settings.moded = false // where things stand is unknown: it is set anew
		}
		switch {
		case t.turn != turn:
		case m.Error != nil:
			e := t.failure(m.Error, "the agent refused config."+member)
			if e.Category != protocol.CategoryAuth {
				e.Category = protocol.CategoryInvalidRequest
			}
			t.reject(e)
		default:
			t.settle()
		}
	})
}

// thinkingNames are the words that agents have for a level of ours.
var thinkingNames = map[protocol.ThinkingLevel][]string{
	protocol.ThinkingOff:    {"off", "none", "disabled", "minimal"},
	protocol.ThinkingLow:    {"low"},
	protocol.ThinkingMedium: {"medium"},
	protocol.ThinkingHigh:   {"high"},
	protocol.ThinkingXHigh:  {"xhigh", "extra high", "max"},
}

// applyThinking sets how hard the model thinks, or as it was at first; true
// where an answer has to be waited for.
func (t *translator) applyThinking(want protocol.ThinkingLevel) bool {
	o := t.settings.category("thought_level")
	switch {
	case o == nil && want == "":
		return false
	case o == nil:
		t.note(ignoredMember, "thinkingLevel: the agent offers no choice")
		return false
	}
	names := thinkingNames[want]
	if want == "" {
		names = []string{t.settings.first[string(o.ID)]}
	}
	target, ok := find(choicesOf(o.Options), names...)
	if !ok && want != "" {
		t.note(ignoredMember, "thinkingLevel: the agent has no such level")
	}
	return t.changeOption(o, target, "thinkingLevel")
}
