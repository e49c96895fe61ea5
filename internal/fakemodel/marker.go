package fakemodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// opening finds the head of a marker. The name has to touch the brackets, so the
// conditionals of a shell, which have a space there, are no markers.
var opening = regexp.MustCompile(`\[\[([a-z_]+)`)

// key finds the head of one argument.
var key = regexp.MustCompile(`^\s+([a-z_]+)=`)

// hasMarker reports whether text holds something that looks like a marker.
func hasMarker(text string) bool { return opening.MatchString(text) }

// parse reads the markers of a prompt into a script, in order.
func parse(prompt string) (script, error) {
	b := builder{}
	b.then()
	for {
		at := opening.FindStringSubmatchIndex(prompt)
		if at == nil {
			return b.script, nil
		}
		a, rest, err := parseArgs(prompt[at[2]:at[3]], prompt[at[1]:])
		if err == nil {
			err = b.add(a)
		}
		if err != nil {
			return script{}, fmt.Errorf("reading marker %s: %w", prompt[at[2]:at[3]], err)
		}
		prompt = rest
	}
}

// parseArgs reads the arguments that follow a marker's name, and the closing brackets.
// It returns what stands behind them.
func parseArgs(name, text string) (*args, string, error) {
	a := &args{name: name, values: map[string]string{}}
	for {
		at := key.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		value, rest, err := parseValue(text[at[1]:])
		if err != nil {
			return nil, "", fmt.Errorf("value of %s: %w", text[at[2]:at[3]], err)
		}
		a.values[text[at[2]:at[3]]] = value
		text = rest
	}
	rest, closed := strings.CutPrefix(strings.TrimLeft(text, " \t\n"), "]]")
	if !closed {
		return nil, "", fmt.Errorf("want key=value or ]], have %.20q", text)
	}
	return a, rest, nil
}

// parseValue reads one value: a JSON string is unquoted, another JSON value and a bare
// word are kept as they stand. It returns what follows.
func parseValue(text string) (value, rest string, err error) {
	if text == "" || !strings.ContainsRune(`"{[`, rune(text[0])) {
		end := strings.IndexAny(text+" ", " \t\n]")
		return text[:end], text[end:], nil
	}
	var raw json.RawMessage
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&raw); err != nil {
		return "", "", err
	}
	rest = text[dec.InputOffset():]
	if raw[0] != '"' {
		return string(raw), rest, nil
	}
	err = json.Unmarshal(raw, &value)
	return value, rest, err
}
