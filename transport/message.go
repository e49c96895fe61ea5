package transport

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxBatch is how many members a batch may have.
const maxBatch = 100

// kind is what a JSON value on the wire turns out to be.
type kind int

const (
	// invalid: JSON, but no JSON-RPC message.
	invalid kind = iota
	// request: it is owed an answer.
	request
	// notification: it is owed none.
	notification
	// response: nothing that we asked for.
	response
)

// message is one JSON-RPC message, taken apart. Its values are copies: they
// outlive the line.
type message struct {
	kind   kind
	id     []byte
	method []byte
	params []byte
}

// lenient reads JSON as widely as its grammar allows: repeated names and invalid
// UTF-8 are no syntax errors. What is nested deeper than 10,000 is: a bound is
// what keeps a line of brackets from costing a stack.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// errNotJSON is the reason of a parse error; where and why stays inside, since
// texts are for people and a line may hold secrets.
var errNotJSON = errors.New("not valid JSON")

// split checks that a line is JSON and gives its members, if it is a batch.
func split(line []byte) (members [][]byte, batch bool, err error) {
	line = trimSpace(line)
	if !jsontext.Value(line).IsValid(lenient...) {
		return nil, false, errNotJSON
	}
	if line[0] != '[' {
		return [][]byte{line}, false, nil
	}
	members, err = elements(line)
	return members, true, err
}

// trimSpace takes off what JSON calls white space, and nothing else.
func trimSpace(line []byte) []byte { return bytes.Trim(line, " \t\r\n") }

// elements gives an array's members. Once there are more than maxBatch it stops:
// the batch is refused whole.
func elements(array []byte) ([][]byte, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(array), lenient...)
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var out [][]byte
	for d.PeekKind() != ']' && len(out) <= maxBatch {
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		out = append(out, v.Clone())
	}
	return out, nil
}

// parse takes one message apart. The value is valid JSON. Of members with the
// same name the last one counts.
func parse(value []byte) message {
	if len(value) == 0 || value[0] != '{' {
		return message{}
	}
	var m message
	var version []byte
	outcome := false
	err := eachMember(value, func(name string, v []byte) {
		switch name {
		case "jsonrpc":
			version = v
		case "id":
			m.id = bytes.Clone(v)
		case "method":
			m.method = bytes.Clone(v)
		case "params":
			m.params = bytes.Clone(v)
		case "result", "error":
			outcome = true
		}
	})
	if err != nil || !isVersion(version) {
		return message{}
	}
	m.kind = m.classify(outcome)
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
func (m *message) classify(outcome bool) kind {
	id := kindOf(m.id)
	switch {
	case kindOf(m.method) == '"' && (id == '"' || id == '0'):
		return request
	case kindOf(m.method) == '"':
		return notification
	case outcome && (id == '"' || id == '0' || id == 'n'):
		return response
	}
	return invalid
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
