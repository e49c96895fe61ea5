package rpc

import (
	"encoding/json"
	"strconv"

	"github.com/sourcegraph/jsonrpc2"

	"agent-server/protocol"
)

// EncodeResponse writes a response the way the protocol spells it: jsonrpc, id, then
// result or error. Result and data are canonical bytes already; the id is the
// caller's, and may hold what we never write raw.
func EncodeResponse(id []byte, r *jsonrpc2.Response) []byte {
	b := make([]byte, 0, 64+len(id)+size(r))
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = protocol.AppendRaw(b, id)
	switch {
	case r.Error != nil:
		b = append(b, `,"error":`...)
		b = appendError(b, r.Error)
	case r.Result != nil:
		b = append(append(b, `,"result":`...), *r.Result...)
	default:
		b = append(b, `,"result":null`...)
	}
	return append(b, '}')
}

// size is about what a response holds, so that a long one is not copied while it
// grows.
func size(r *jsonrpc2.Response) int {
	if r.Result != nil {
		return len(*r.Result)
	}
	return 0
}

// appendError appends an error object; data is left out where there is none.
func appendError(b []byte, e *jsonrpc2.Error) []byte {
	b = append(b, `{"code":`...)
	b = strconv.AppendInt(b, e.Code, 10)
	b = append(b, `,"message":`...)
	b = protocol.AppendString(b, e.Message)
	if e.Data != nil {
		b = append(b, `,"data":`...)
		b = append(b, *e.Data...)
	}
	return append(b, '}')
}

// Refusal is an answer to what was no request: its id is null. data is JSON; "":
// none.
func Refusal(code int64, text string, data string) []byte {
	r := &jsonrpc2.Response{Error: &jsonrpc2.Error{Code: code, Message: text}}
	if data != "" {
		raw := json.RawMessage(data)
		r.Error.Data = &raw
	}
	return EncodeResponse([]byte("null"), r)
}
