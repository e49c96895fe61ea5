package rpcline

import (
	"strconv"

	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// Framing is how lines are written. The zero value is JSON-RPC 2.0.
type Framing struct {
	// Bare leaves the "jsonrpc" member out, as Codex's app-server does.
	Bare bool
}

// AppendRequest appends a request of ours as a line. Params must encode; nil
// leaves them out.
func (f Framing) AppendRequest(dst []byte, id int64, method string, params any) []byte {
	dst = append(f.open(dst), `"id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, `,"method":`...)
	dst = protocol.AppendString(dst, method)
	return closeLine(appendParams(dst, params))
}

// AppendNotification appends a notification as a line. Params must encode; nil
// leaves them out.
func (f Framing) AppendNotification(dst []byte, method string, params any) []byte {
	dst = append(f.open(dst), `"method":`...)
	dst = protocol.AppendString(dst, method)
	return closeLine(appendParams(dst, params))
}

// AppendResult appends an answer to a request of theirs as a line. The result
// must encode.
func (f Framing) AppendResult(dst []byte, id jsontext.Value, result any) []byte {
	dst = append(f.open(dst), `"id":`...)
	dst = protocol.AppendRaw(dst, id)
	dst = append(dst, `,"result":`...)
	return closeLine(append(dst, protocol.Encode(result)...))
}

// AppendError appends an error answer to a request of theirs as a line.
func (f Framing) AppendError(dst []byte, id jsontext.Value, e Error) []byte {
	dst = append(f.open(dst), `"id":`...)
	dst = protocol.AppendRaw(dst, id)
	dst = append(dst, `,"error":`...)
	return closeLine(append(dst, protocol.Encode(e)...))
}

// open begins a line's object.
func (f Framing) open(dst []byte) []byte {
	if f.Bare {
		return append(dst, '{')
	}
	return append(dst, `{"jsonrpc":"2.0",`...)
}

func appendParams(dst []byte, params any) []byte {
	if params == nil {
		return dst
	}
	dst = append(dst, `,"params":`...)
	return append(dst, protocol.Encode(params)...)
}

func closeLine(dst []byte) []byte { return append(dst, '}', '\n') }
