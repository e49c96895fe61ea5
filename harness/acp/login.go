package acp

import (
	"slices"
	"strings"

	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// login is one way to log in that an agent offers.
type login struct {
	// ID is what authenticate takes; Name is for people.
	ID   text `json:"id"`
	Name text `json:"name"`
	// Description says more; it may name a command.
	Description text `json:"description"`
	// Type is absent for what authenticate takes; terminal is run by a person.
	Type text `json:"type"`
	// Args make the agent's own executable ask a person, where Type is terminal.
	Args jsontext.Value `json:"args"`
}

// offersLogin says whether authenticate takes a method: one that the agent lists and
// that no terminal is needed for. An agent that lists none is taken at its word.
func (t *translator) offersLogin(method string) bool {
	if method == "" {
		return false
	}
	i := slices.IndexFunc(t.logins, func(l login) bool { return string(l.ID) == method })
	return i < 0 && len(t.logins) == 0 || i >= 0 && t.logins[i].Type != "terminal"
}

// loginNeeded is the error of an agent that wants a login first: what to run, and
// where a key goes.
func (t *translator) loginNeeded(e *rpcline.Error) protocol.TurnError {
	message := string(t.agent.ID) + " wants a login: run `" + t.loginCommand() + "` in a terminal and log in there"
	var ways []string
	for _, l := range t.logins {
		way := orElse(l.Name, string(l.ID))
		if l.Description != "" && l.Description != text(way) {
			way += ", " + string(l.Description)
		}
		ways = append(ways, way)
	}
	if len(ways) > 0 {
		message += " (" + strings.Join(ways, "; ") + ")"
	}
	if t.agent.APIKeyEnv != "" {
		message += ", or give it a key: config.apiKey, or " + t.agent.APIKeyEnv + " in its environment"
	}
	if e.Message != "" {
		message += ". It said: " + e.Message
	}
	return protocol.TurnError{Category: protocol.CategoryAuth, Message: message}
}

// loginCommand is what a person runs to log in.
func (t *translator) loginCommand() string {
	if t.agent.Login != "" {
		return t.agent.Login
	}
	command := t.agent.Executable
	if command == "" {
		command = string(t.agent.ID)
	}
	for _, l := range t.logins {
		if l.Type == "terminal" {
			return strings.Join(append([]string{command}, texts(l.Args)...), " ")
		}
	}
	return command
}

// texts are the strings of a list.
func texts(raw jsontext.Value) []string {
	var out []string
	for _, s := range values(raw) {
		if s.Kind() == '"' {
			out = append(out, protocol.Unquote(s))
		}
	}
	return out
}

// failure is an error answer as a turn's error.
func (t *translator) failure(e *rpcline.Error, what string) protocol.TurnError {
	if e.Code == codeAuthRequired {
		return t.loginNeeded(e)
	}
	return failed(e, what)
}

// triesKey has the agent use its key where it wants a login, once; false where there
// is nothing to try.
func (t *translator) triesKey(e *rpcline.Error) bool {
	if e == nil || e.Code != codeAuthRequired || t.keyed || !t.offersLogin(t.agent.KeyAuthMethod) {
		return false
	}
	t.keyed = true
	t.authenticate(t.agent.KeyAuthMethod)
	return true
}
