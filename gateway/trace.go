package gateway

import (
	"encoding/json"
	"regexp"

	"agent-server/protocol"
)

// traceKeys are the members of a trace context that are kept, and how long each may
// be; the bounds are those that W3C tells every party to bear at least.
var traceKeys = []struct {
	name string
	max  int
}{{"traceparent", 55}, {"tracestate", 512}, {"baggage", 8192}}

// traceParent is version 00 of it. A context without one names no trace.
var traceParent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceOf is the trace context in a request's _meta, as the _meta of the turn's
// events; nil where there is none. Whatever else stands there is the client's, and
// goes nowhere; what is malformed or too long is left out, as W3C has it: a fault in
// a trace must not be one of the turn.
func traceOf(meta protocol.Object) protocol.Object {
	var members map[string]json.RawMessage
	if len(meta) == 0 || json.Unmarshal(meta, &members) != nil {
		return nil
	}
	var out protocol.Object
	for _, key := range traceKeys {
		var value string
		if raw := members[key.name]; len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &value) != nil || value == "" || len(value) > key.max {
			continue
		}
		if out == nil {
			if !traceParent.MatchString(value) {
				return nil // traceparent is the first key
			}
			out = protocol.Object("{")
		} else {
			out = append(out, ',')
		}
		out = append(protocol.AppendString(out, key.name), ':')
		out = protocol.AppendString(out, value)
	}
	if out == nil {
		return nil
	}
	return append(out, '}')
}
