package rpc

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxBatch is how many members a batch may have.
const MaxBatch = 100

// Kind is what a JSON value on the wire turns out to be.
type Kind int

const (
	// Invalid: JSON, but no JSON-RPC message.
	Invalid Kind = iota
	// Request: it is owed an answer.
	Request
	// Notification: it is owed none.
	Notification
	// Response: nothing that we asked for.
	Response
)

// Message is one JSON-RPC message, taken apart. Its values are copies: they
// outlive the line.
type Message struct {
	// Kind is what it is; of Invalid nothing else is set.
	Kind Kind
	// ID, Method and Params are what stood behind the members' names, as it stood
	// there; nil: there was none.
	ID, Method, Params []byte
}

// lenient reads JSON as widely as its grammar allows: repeated names and invalid
// UTF-8 are no syntax errors. What is nested deeper than 10,000 is: a bound is
// what keeps a line of brackets from costing a stack.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// ErrNotJSON is the reason of a parse error; where and why stays inside, since
// texts are for people and a line may hold secrets.
var ErrNotJSON = errors.New("not valid JSON")

// Split checks that a line is JSON and gives its members, if it is a batch.
func Split(line []byte) (members [][]byte, batch bool, err error) {
	line = TrimSpace(line)
	if !jsontext.Value(line).IsValid(lenient...) {
		return nil, false, ErrNotJSON
	}
	if line[0] != '[' {
		return [][]byte{line}, false, nil
	}
	members, err = elements(line)
	return members, true, err
}

// TrimSpace takes off what JSON calls white space, and nothing else.
func TrimSpace(line []byte) []byte { return bytes.Trim(line, " \t\r\n") }

// elements gives an array's members. Once there are more than MaxBatch it stops:
// the batch is refused whole.
func elements(array []byte) ([][]byte, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(array), lenient...)
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var out [][]byte
	for d.PeekKind() != ']' && len(out) <= MaxBatch {
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		out = append(out, v.Clone())
	}
	return out, nil
}

// Parse takes one message apart. The value is valid JSON. Of members with the
// same name the last one counts.
func Parse(value []byte) Message {
	if len(value) == 0 || value[0] != '{' {
		return Message{}
	}
	var m Message
	var version []byte
	outcome := false
	err := eachMember(value, func(name string, v []byte) {
		switch name {
		case "jsonrpc":
			version = v
		case "id":
			m.ID = bytes.Clone(v)
		case "method":
			m.Method = bytes.Clone(v)
		case "params":
			m.Params = bytes.Clone(v)
		case "result", "error":
			outcome = true
		}
	})
	if err != nil || !isVersion(version) {
		return Message{}
	}
	m.Kind = m.classify(outcome)
	return m
}

// isVersion says whether a value is the string 2.0, however it is spelled.
func isVersion(v []byte) bool {
	if string(v) == `"2.0"` {
		return true
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return err == nil && string(text) == "2.0"
}

// classify goes by the shape alone: a string method makes a request or, without
// a proper id, a notification. A result beside a method changes nothing: what can
// be served is served.
func (m *Message) classify(outcome bool) Kind {
	id := kindOf(m.ID)
	switch {
	case kindOf(m.Method) == '"' && (id == '"' || id == '0'):
		return Request
	case kindOf(m.Method) == '"':
		return Notification
	case outcome && (id == '"' || id == '0' || id == 'n'):
		return Response
	}
	return Invalid
}

// kindOf is a value's kind; 0 where there is none.
func kindOf(v []byte) jsontext.Kind {
	if v == nil {
		return 0
	}
	return jsontext.Value(v).Kind()
}

// eachMember calls f for each member of an object, in order; a value is valid
// during the call.
func eachMember(object []byte, f func(name string, value []byte)) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(object), lenient...)
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		if name.Kind() == '}' {
			return nil
		}
		key := name.String()
		v, err := d.ReadValue()
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		f(key, v)
	}
}
