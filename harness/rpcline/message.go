package rpcline

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind is what a line is.
type Kind int

// The kinds of a line. Stray is the zero value: an object that is none of the
// others, a log line for instance.
const (
	Stray Kind = iota
	// Request has a method and an id: it wants an answer.
	Request
	// Notification has a method and no id.
	Notification
	// Answer has a result or an error. Its id may be missing or null where the
	// peer could not read the request.
	Answer
)

// Message is one line, taken apart.
type Message struct {
	// Kind says which of the members below count.
	Kind Kind
	// ID is the id's bytes as sent; nil where there is none, or null.
	ID jsontext.Value
	// Method is what is asked for or told.
	Method string
	// Params are as sent; nil when absent.
	Params jsontext.Value
	// Result is as sent; nil in an error answer.
	Result jsontext.Value
	// Error is set in an error answer.
	Error *Error
}

// Error is the error of an answer.
type Error struct {
	// Code is JSON-RPC's, the protocol's, or whatever the peer puts there.
	Code int64 `json:"code"`
	// Message is for people.
	Message string `json:"message"`
	// Data is as sent; nil when absent.
	Data jsontext.Value `json:"data,omitzero"`
}

// The error codes of JSON-RPC itself, and of the extension by which a request is
// withdrawn.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeCancelled      = -32800
)

// ErrNoObject is returned for a line that is no JSON object: a banner, an escape
// sequence, a cut line. It is noise, to be skipped.
var ErrNoObject = errors.New("line is no JSON object")

// Lenient are the options that foreign JSON is read with: bytes that are no
// UTF-8 and lone surrogates become U+FFFD, of duplicate members the last counts.
var Lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// envelope takes any JSON in each member, so that one of a wrong type spoils
// nothing but itself.
type envelope struct {
	ID     jsontext.Value `json:"id"`
	Method jsontext.Value `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

// Parse reads one line; its error is ErrNoObject. The message shares no memory
// with the line.
func Parse(line []byte) (Message, error) {
	var env envelope
	line = Trim(line)
	if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &env, Lenient) != nil {
		return Message{}, ErrNoObject
	}
	return env.open(), nil
}

// Trim is a line without what may surround its object: white space, a carriage
// return, and terminal escape sequences before it.
func Trim(line []byte) []byte {
	line = bytes.Trim(line, " \t\r\n")
	for len(line) > 1 && line[0] == '\x1b' {
		line = bytes.TrimLeft(line[escapeLength(line):], " \t\r\n")
	}
	return line
}

// open says what the members make of the line.
func (e envelope) open() Message {
	m := Message{ID: present(e.ID), Params: e.Params, Result: e.Result}
	isMethod := e.Method.Kind() == '"'
	switch {
	case isMethod && m.ID != nil:
		m.Kind = Request
	case isMethod:
		m.Kind = Notification
	case present(e.Error) != nil:
		m.Kind, m.Error, m.Result = Answer, readError(e.Error), nil
	case e.Result != nil:
		m.Kind = Answer
	}
	if isMethod {
		// A literal of valid JSON always reads.
		_ = json.Unmarshal(e.Method, &m.Method, Lenient)
	}
	return m
}

// present is a member's value; nil where it is absent or null.
func present(v jsontext.Value) jsontext.Value {
	if len(v) == 0 || v.Kind() == 'n' {
		return nil
	}
	return v
}

// readError reads an error member. One of another shape is still an error: its
// text is then the message.
func readError(raw jsontext.Value) *Error {
	var e Error
	if err := json.Unmarshal(raw, &e, Lenient); err != nil {
		return &Error{Code: CodeInternal, Message: string(raw)}
	}
	return &e
}
