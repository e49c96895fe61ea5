package broker

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode"
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
	if other, too := input["cmd"]; too && ok {
		return nil, true // which of both runs is the tool's to say
	} else if too {
		raw, ok = other, true
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
	switch {
	case !isShell(argv[0]):
		return argv, true
	case len(argv) == 3 && takesLine(argv[1]):
		return lineWords(argv[2]), true
	}
	return nil, true
}

// lineWords are the words of a command line, of the one within where that is a
// shell's; nil where it may chain others, or is empty.
func lineWords(line string) []string {
	if strings.ContainsAny(line, chaining) || strings.ContainsFunc(line, oddSpace) {
		return nil
	}
	words := strings.FieldsFunc(line, blank)
	switch {
	case len(words) == 0:
		return nil
	case !isShell(words[0]):
		return words
	case len(words) < 3 || !takesLine(words[1]):
		return nil
	}
	_, quoted, _ := strings.Cut(line, words[1])
	return lineWords(unquoted(strings.TrimFunc(quoted, blank)))
}

// unquoted is a text that is one word to a shell, without its quotes; "" where it
// may be more than one, or another.
func unquoted(word string) string {
	if n := len(word); n > 1 && word[0] == word[n-1] && (word[0] == '\'' || word[0] == '"') {
		word = word[1 : n-1]
	} else if strings.ContainsFunc(word, blank) {
		return ""
	}
	if strings.ContainsAny(word, quoting) {
		return ""
	}
	return word
}

// isShell says whether a word names a shell.
func isShell(word string) bool { return slices.Contains(shells, path.Base(word)) }

// takesLine says whether a shell's next argument is a command line.
func takesLine(flag string) bool { return flag == "-c" || flag == "-lc" }

// blank is what a shell splits words at; oddSpace looks like it and is part of a
// word.
func blank(r rune) bool    { return r == ' ' || r == '\t' }
func oddSpace(r rune) bool { return !blank(r) && (unicode.IsSpace(r) || unicode.IsControl(r)) }
