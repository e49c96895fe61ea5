package demoagent

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The error codes of JSON-RPC and of ACP that the agent uses.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeCancelled      = -32800 // the request was withdrawn by $/cancel_request
	codeNotFound       = -32002 // no such session
)

// rpcError is the error member of an answer.
type rpcError struct {
	// Code is one of the above.
	Code int `json:"code"`
	// Message is a sentence for people.
	Message string `json:"message"`
	// Data is absent unless there is more to say than the message does.
	Data any `json:"data,omitzero"`
}

// Error makes an rpcError an error, so that a script can return one.
func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// rpcErrorf makes an error without data.
func rpcErrorf(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// outgoing is every line the agent writes; which members are set tells a
// request, a notification and an answer apart.
type outgoing struct {
	// JSONRPC is 2.0.
	JSONRPC string `json:"jsonrpc"`
	// ID is the bytes that the client sent, or the number of our own request;
	// null in the answer to a line whose id could not be read; absent in a
	// notification.
	ID jsontext.Value `json:"id,omitzero"`
	// Method is absent in an answer.
	Method string `json:"method,omitzero"`
	// Params is an object, with a method.
	Params any `json:"params,omitzero"`
	// Result is an object, in an answer without Error.
	Result any `json:"result,omitzero"`
	// Error is what went wrong, in an answer without Result.
	Error *rpcError `json:"error,omitzero"`
}

// encode makes one line. A failure is a mistake in this package's own types.
func encode(message outgoing) []byte {
	line, err := json.Marshal(message, jsontext.PreserveRawStrings(true))
	if err != nil {
		panic(fmt.Sprintf("demo agent: encoding %T: %v", message, err))
	}
	return append(line, '\n')
}

// incoming is a line of the client's, taken apart. Without a method it is an
// answer; with a method and without an id it is a notification.
type incoming struct {
	id     jsontext.Value // as sent; nil when absent
	method string
	params jsontext.Value
	result jsontext.Value // nil in an error answer
}

// envelope takes any JSON type in each member, so that a wrong one can be
// answered under the request's id.
type envelope struct {
	JSONRPC jsontext.Value `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  jsontext.Value `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

var (
	null      = jsontext.Value("null")
	idPattern = regexp.MustCompile(`^(null|-?[0-9]+|".*")$`)
)

// blank reports whether a line holds nothing but JSON's white space.
func (n input) blank() bool {
	return !n.tooLong && len(bytes.Trim(n.line, " \t\r\n")) == 0
}

// decode reads one line. With an error the message holds the id to answer, null
// if there is none.
func decode(line input) (incoming, *rpcError) {
	value := jsontext.Value(bytes.Trim(line.line, " \t\r\n"))
	switch {
	case line.tooLong:
		return incoming{id: null}, rpcErrorf(codeInvalidRequest, "the line is longer than %d bytes", maxLine)
	case !value.IsValid():
		return incoming{id: null}, rpcErrorf(codeParse, "the line is not valid JSON")
	case value.Kind() != '{':
		return incoming{id: null}, rpcErrorf(codeInvalidRequest, "the line is not a JSON object; batches are not supported")
	}
	var env envelope
	if err := json.Unmarshal(value, &env); err != nil { // not seen: any value fits each member
		return incoming{id: null}, rpcErrorf(codeParse, "the line cannot be read: %v", err)
	}
	return env.open()
}

// open checks the envelope and takes the message out of it.
func (env envelope) open() (incoming, *rpcError) {
	msg := incoming{id: env.ID, params: env.Params, result: env.Result}
	if msg.id != nil && !idPattern.Match(msg.id) {
		msg.id = null
		return msg, rpcErrorf(codeInvalidRequest, "an id is null, an integer or a string")
	}
	fault := env.fault(&msg)
	if fault != nil && msg.id == nil {
		msg.id = null
	}
	return msg, fault
}

// fault reads the method and says what is wrong with the other members.
func (env envelope) fault(msg *incoming) *rpcError {
	if string(env.JSONRPC) != `"2.0"` {
		return rpcErrorf(codeInvalidRequest, `the member "jsonrpc" must be "2.0"`)
	}
	isAnswer := env.Method == nil && msg.id != nil && (env.Result == nil) != (env.Error == nil)
	if isAnswer {
		return nil
	}
	if err := json.Unmarshal(env.Method, &msg.method); err != nil || msg.method == "" {
		return rpcErrorf(codeInvalidRequest, "the object is neither a request nor an answer")
	}
	return nil
}

// decodeParams reads a request's params into p. The message names the member that
// has the wrong type in the protocol's words, not in Go's.
func decodeParams(params jsontext.Value, p any) *rpcError {
	if params.Kind() != '{' {
		return rpcErrorf(codeInvalidParams, "params must be an object")
	}
	err := json.Unmarshal(params, p)
	if wrong := (*json.SemanticError)(nil); errors.As(err, &wrong) {
		return rpcErrorf(codeInvalidParams, "params: %s cannot be a %s", wrong.JSONPointer, wrong.JSONKind)
	}
	if err != nil {
		return rpcErrorf(codeInvalidParams, "params: %v", err)
	}
	return nil
}
