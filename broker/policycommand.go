package broker

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// A command line is compared word by word, as text, with no shell's understanding
// of it: whatever could make it more, or other, than it reads is found by single
// characters, also where a shell would take them as they are. Too much is asked
// about so, nothing is allowed by it.

// chaining are the characters by which a command line may run more than its first
// words say, or write where they do not.
const chaining = ";&|<>(){}$`\n\r\x00"

// quoting are the characters by which a word may read other than it is.
const quoting = `"'\`

// shells take a command line of their own.
var shells = []string{"sh", "bash", "zsh", "dash", "ksh", "fish"}

// matchesCommand holds the rule's words against the beginning of the command line.
// A line that chains others is never sure: its first words say nothing of the rest.
func (r ToolRule) matchesCommand(c facts) match {
	if r.Command == "" {
		return certain
	}
	if !c.command {
		return never
	}
	if c.words == nil {
		return unsure
	}
	words := c.words
	want := strings.Fields(r.Command)
	for i, w := range want {
		switch {
		case i >= len(words):
			return never
		case words[i] == w:
		case strings.ContainsAny(words[i], quoting):
			return unsure
		default:
			return never
		}
	}
	return certain
}

// commandOf is a call's command line as words, nil where it may be more than one
// command; false where the call has none.
func commandOf(input map[string]json.RawMessage) (words []string, known bool) {
	raw, ok := input["command"]
	if !ok {
		raw, ok = input["cmd"]
	}
	if !ok {
		return nil, false
	}
	var line string
	if json.Unmarshal(raw, &line) == nil {
		return lineWords(line), true
	}
	var argv []string
	if json.Unmarshal(raw, &argv) != nil || len(argv) == 0 {
		return nil, true
	}
	if !slices.Contains(shells, path.Base(argv[0])) {
		return argv, true
	}
	if len(argv) == 3 && (argv[1] == "-c" || argv[1] == "-lc") {
		return lineWords(argv[2]), true
	}
	return nil, true
}

// lineWords are the words of a command line; nil where it may chain others, or is
// empty.
func lineWords(line string) []string {
	if strings.ContainsAny(line, chaining) {
		return nil
	}
	if words := strings.Fields(line); len(words) > 0 {
		return words
	}
	return nil
}
