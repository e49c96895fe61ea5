package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"agent-server/protocol"
)

// inputMax bounds what a question shows of a tool's input, in lines. It is
// generous: whoever consents should have seen what to.
const inputMax = 200

// inputLines spells a tool's input for a person: a member a line, texts as they
// read and not as JSON quotes them. What is cut off is said. It knows no tool by
// name: what one harness calls command another calls cmd.
func inputLines(input protocol.Object) []string {
	if len(input) == 0 {
		return nil
	}
	var out []string
	// In the harness's own order, which is what its users know.
	err := eachMember(input, func(name string, value jsontext.Value) {
		out = append(out, memberLines(name, value)...)
	})
	if err != nil {
		out = []string{string(input)} // no object: as it is
	}
	return clipLines(out, inputMax)
}

// memberLines puts a text of several lines below its name, so that code reads as
// code. Anything else than a text stays JSON: it is short, and exact.
func memberLines(name string, value jsontext.Value) []string {
	text := string(value)
	if value.Kind() == '"' {
		text = protocol.Unquote(value)
	}
	lines := textLines(text)
	if len(lines) <= 1 {
		return []string{fmt.Sprintf("%s: %s", name, strings.TrimSuffix(text, "\n"))}
	}
	out := []string{name + ":"}
	for _, l := range lines {
		out = append(out, "  "+l)
	}
	return out
}

// eachMember calls f for each member of an object, in order. It reads as widely
// as JSON can be read: a question must be shown whatever a harness sends.
func eachMember(object protocol.Object, f func(name string, value jsontext.Value)) error {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	open, err := d.ReadToken()
	if err != nil {
		return fmt.Errorf("reading a tool's input: %w", err)
	}
	if open.Kind() != '{' {
		return errors.New("reading a tool's input: it is no object")
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return fmt.Errorf("reading a tool's input: %w", err)
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return fmt.Errorf("reading a tool's input: %w", err)
		}
		f(key, value)
	}
	return nil
}
