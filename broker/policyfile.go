package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"agent-server/protocol"
)

// ParsePolicy reads a policy file: {"rules": [{"tool", "kind", "path", "command",
// "decision": "allow" | "deny" | "ask"}]}, every member of a rule but decision
// optional. An error names the member and what is wrong with it; a member that is
// not known is one too, since a misspelled condition would match everything.
func ParsePolicy(file []byte) (ToolPolicy, error) {
	if _, err := protocol.Canonical(file); err != nil {
		return ToolPolicy{}, fmt.Errorf("reading the policy: %w", syntax(file, err))
	}
	members, err := membersOf(file, "policy", "rules")
	if err != nil {
		return ToolPolicy{}, err
	}
	var list []json.RawMessage
	if raw := members["rules"]; raw != nil {
		if err := json.Unmarshal(raw, &list); err != nil || list == nil {
			return ToolPolicy{}, errors.New("rules: is no array")
		}
	}
	var p ToolPolicy
	for i, raw := range list {
		r, err := parseRule(raw, fmt.Sprintf("rules[%d]", i))
		if err != nil {
			return ToolPolicy{}, err
		}
		p.Rules = append(p.Rules, r)
	}
	return p, nil
}

// syntax says at which line a file stops being JSON; else err as it is.
func syntax(file []byte, err error) error {
	var at *json.SyntaxError
	var any json.RawMessage
	if !errors.As(json.Unmarshal(file, &any), &at) {
		return err
	}
	before := file[:min(int(at.Offset), len(file))]
	return fmt.Errorf("line %d: %w", 1+bytes.Count(before, []byte("\n")), at)
}

// membersOf are those of the object at a place, which may have the named ones.
func membersOf(raw []byte, where string, names ...string) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, fmt.Errorf("%s: is no object", where)
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		name, value, err := member(d)
		switch _, twice := members[name]; {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", where, err)
		case twice:
			return nil, fmt.Errorf("%s: member %q is there twice", where, name)
		case !slices.Contains(names, name):
			return nil, fmt.Errorf("%s: unknown member %q, it may have %s", where, name, strings.Join(names, ", "))
		}
		members[name] = value
	}
	return members, nil
}

// member reads the next one of an object.
func member(d *json.Decoder) (name string, value json.RawMessage, err error) {
	token, err := d.Token()
	if err != nil {
		return "", nil, err
	}
	name, _ = token.(string) // it is one, in what is JSON
	err = d.Decode(&value)
	return name, value, err
}

// parseRule reads the rule at a place.
func parseRule(raw json.RawMessage, where string) (r ToolRule, err error) {
	members, err := membersOf(raw, where, "tool", "kind", "path", "command", "decision")
	if err != nil {
		return r, err
	}
	var decision, kind string
	for name, into := range map[string]*string{
		"tool": &r.Tool, "kind": &kind, "path": &r.Path, "command": &r.Command, "decision": &decision,
	} {
		if raw, ok := members[name]; ok {
			if *into, err = text(raw); err != nil {
				return r, fmt.Errorf("%s.%s: %w", where, name, err)
			}
		}
	}
	if r.Kind, err = kindOf(kind); err != nil {
		return r, fmt.Errorf("%s.kind: %w", where, err)
	}
	if err := checkPath(r.Path); err != nil {
		return r, fmt.Errorf("%s.path: %w", where, err)
	}
	if strings.ContainsAny(r.Command, chaining+quoting) || strings.ContainsFunc(r.Command, oddSpace) {
		return r, fmt.Errorf("%s.command: words only, no quotes and nothing that chains commands", where)
	}
	if r.Ruling, err = rulingOf(decision); err != nil {
		return r, fmt.Errorf("%s.decision: %w", where, err)
	}
	return r, nil
}

// kinds are those that a rule may name.
var kinds = []protocol.ToolKind{protocol.KindRead, protocol.KindEdit, protocol.KindDelete, protocol.KindMove, protocol.KindSearch,
	protocol.KindExecute, protocol.KindThink, protocol.KindFetch, protocol.KindSwitchMode, protocol.KindTask, protocol.KindOther}

// kindOf is a rule's kind. The wire's words are open, but one that is misspelled would
// never match, and a deny of it deny nothing; a word of an agent's own begins with "_".
func kindOf(word string) (protocol.ToolKind, error) {
	kind := protocol.ToolKind(word)
	if word != "" && !strings.HasPrefix(word, "_") && !slices.Contains(kinds, kind) {
		return "", fmt.Errorf("%q is no kind of tool; those are %v", word, kinds)
	}
	return kind, nil
}

// text is a condition: a string that is not blank.
func text(raw json.RawMessage) (string, error) {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil || string(raw) == "null" {
		return "", errors.New("is no string")
	}
	if strings.TrimSpace(s) == "" {
		return "", errors.New("is empty; leave it out to match everything")
	}
	if strings.ContainsRune(s, utf8.RuneError) {
		return "", errors.New("is no text: bad UTF-8, or half of a pair")
	}
	return s, nil
}

// checkPath refuses what no file can match, or what reads as another place.
func checkPath(glob string) error {
	switch {
	case glob == "":
		return nil
	case strings.HasPrefix(glob, "~"):
		return errors.New("begins with ~, which nobody expands here")
	}
	for _, segment := range strings.Split(strings.TrimPrefix(glob, "/"), "/") {
		if segment == "" || segment == "." || segment == ".." {
			return errors.New("has a . or .. segment, or an empty one")
		}
	}
	return nil
}

func rulingOf(word string) (Ruling, error) {
	switch word {
	case "allow":
		return PolicyAllow, nil
	case "deny":
		return PolicyDeny, nil
	case "ask":
		return PolicyAsk, nil
	case "":
		return 0, errors.New("is missing: allow, deny or ask")
	}
	return 0, fmt.Errorf("%q is none of allow, deny, ask", word)
}
