package fakemodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// object is a JSON object whose members keep their order. The real services put "type"
// first, CLIs pass events on as they came, and a reader may lean on that: so does this.
type object []member

// member is one member of an object.
type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for i, m := range o {
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		out.Write(append(append(name, ':'), value...))
	}
	return append(append([]byte("{"), out.Bytes()...), '}'), nil
}

// errNoObject is returned for text that is not one whole JSON object.
var errNoObject = errors.New("no JSON object")

// members reads a JSON object, keeping the order of its members.
func members(text string) (object, error) {
	if !json.Valid([]byte(text)) || text[0] != '{' {
		return nil, errNoObject
	}
	dec := json.NewDecoder(strings.NewReader(text))
	_, err := dec.Token() // the opening brace
	var o object
	for err == nil && dec.More() {
		var name json.Token
		var value json.RawMessage
		if name, err = dec.Token(); err == nil {
			err = dec.Decode(&value)
			o = append(o, member{name.(string), value}) // a name in an object is a string
		}
	}
	return o, err
}
