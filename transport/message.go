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

// message is one JSON-RPC message, taken apart; its bytes are the line's.
type message struct {
	kind   kind
	id     []byte
	method []byte
	params []byte
}

// lenient reads JSON as widely as its grammar allows: repeated names and invalid
// UTF-8 are no syntax errors.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// split checks that a line is JSON and gives its members, if it is a batch.
func split(line []byte) (members [][]byte, batch bool, err error) {
	line = bytes.TrimSpace(line)
	if !valid(line) {
		return nil, false, errNotJSON
	}
	if line[0] != '[' {
		return [][]byte{line}, false, nil
	}
	members, err = elements(line)
	return members, true, err
}

var errNotJSON = errors.New("not valid JSON")

func valid(line []byte) bool {
	return len(line) > 0 && jsontext.Value(line).IsValid(lenient...)
}

// elements gives an array's members. Once there are more than maxBatch it stops:
// the batch is refused whole.
func elements(array []byte) ([][]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(array), lenient...)
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

// parse takes one message apart. The value is valid JSON.
func parse(value []byte) message {
	if len(value) == 0 || value[0] != '{' {
		return message{}
	}
	var m message
	var version, result, fault []byte
	err := eachMember(value, func(name string, v []byte) {
		switch name {
		case "jsonrpc":
			version = v
		case "id":
			m.id = v
		case "method":
			m.method = v
		case "params":
			m.params = v
		case "result":
			result = v
		case "error":
			fault = v
		}
	})
	if err != nil || string(version) != `"2.0"` {
		return message{}
	}
	m.kind = m.classify(result != nil || fault != nil)
	return m
}

// classify goes by the shape alone: a string method makes a request or, without
// a proper id, a notification.
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

func kindOf(v []byte) jsontext.Kind {
	if v == nil {
		return 0
	}
	return jsontext.Value(v).Kind()
}

// eachMember calls f for each member of an object, in order.
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
		f(key, v.Clone())
	}
}
