package acp

import (
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Agents differ in what they put where. A member of a wrong type counts as
// absent, and spoils nothing beside it.

// text is a string member; "" where it is anything else.
type text string

// UnmarshalJSON takes any value.
func (s *text) UnmarshalJSON(raw []byte) error {
	*s = ""
	if len(raw) > 0 && raw[0] == '"' {
		*s = text(protocol.Unquote(raw))
	}
	return nil
}

// number is a number member; unset where it is anything else.
type number struct {
	value protocol.Number
	set   bool
}

// UnmarshalJSON takes any value.
func (n *number) UnmarshalJSON(raw []byte) error {
	n.set = json.Unmarshal(raw, &n.value) == nil && len(raw) > 0 && raw[0] != 'n'
	return nil
}

// pointer is the number, or nil.
func (n number) pointer() *protocol.Number {
	if !n.set {
		return nil
	}
	return &n.value
}

// flag is a boolean member; false where it is anything else.
type flag bool

// UnmarshalJSON takes any value.
func (f *flag) UnmarshalJSON(raw []byte) error {
	*f = string(raw) == "true"
	return nil
}

// present is a capability that an object stands for, an empty one too.
type present bool

// UnmarshalJSON takes any value.
func (p *present) UnmarshalJSON(raw []byte) error {
	*p = len(raw) > 0 && (raw[0] == '{' || string(raw) == "true")
	return nil
}

// read decodes an object; the zero value where it is none.
func read[T any](raw jsontext.Value) T {
	var v T
	if raw.Kind() != '{' || json.Unmarshal(raw, &v, rpcline.Lenient) != nil {
		var none T
		return none
	}
	return v
}

// values are the members of an array; nil where it is none.
func values(raw jsontext.Value) []jsontext.Value {
	var items []jsontext.Value
	if raw.Kind() != '[' || json.Unmarshal(raw, &items, rpcline.Lenient) != nil {
		return nil
	}
	return items
}

// list decodes an array of objects, those that are; nil where it is none.
func list[T any](raw jsontext.Value) []T {
	items := values(raw)
	if items == nil {
		return nil
	}
	out := make([]T, 0, len(items))
	for _, item := range items {
		if item.Kind() == '{' {
			out = append(out, read[T](item))
		}
	}
	return out
}

// object is raw where it is an object with members; nil otherwise.
func object(raw jsontext.Value) protocol.Object {
	if raw.Kind() != '{' || len(read[map[string]jsontext.Value](raw)) == 0 {
		return nil
	}
	return protocol.AppendRaw(nil, raw)
}
