package rpcline

import (
	"agent-server/protocol"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Programs differ, from version to version too, in what they put where. A member
// of a wrong type counts as absent, and spoils nothing beside it.

// Text is a string member; "" where it is anything else.
type Text string

// UnmarshalJSON takes any value.
func (s *Text) UnmarshalJSON(raw []byte) error {
	*s = ""
	if len(raw) > 0 && raw[0] == '"' {
		*s = Text(protocol.Unquote(raw))
	}
	return nil
}

// Or is the text, or other where it is "".
func (s Text) Or(other string) string {
	if s == "" {
		return other
	}
	return string(s)
}

// Number is a number member; unset where it is anything else.
type Number struct {
	// Value is the number; 0 where it is unset.
	Value protocol.Number
	// Set says whether there is one.
	Set bool
}

// UnmarshalJSON takes any value.
func (n *Number) UnmarshalJSON(raw []byte) error {
	n.Value = 0
	n.Set = len(raw) > 0 && raw[0] != 'n' && json.Unmarshal(raw, &n.Value) == nil
	return nil
}

// Pointer is the number, or nil.
func (n Number) Pointer() *protocol.Number {
	if !n.Set {
		return nil
	}
	return new(n.Value)
}

// Flag is a boolean member; false where it is anything else.
type Flag bool

// UnmarshalJSON takes any value.
func (f *Flag) UnmarshalJSON(raw []byte) error {
	*f = string(raw) == "true"
	return nil
}

// Read decodes an object; the zero value where it is none.
func Read[T any](raw jsontext.Value) T {
	var v T
	if raw.Kind() != '{' || json.Unmarshal(raw, &v, Lenient) != nil {
		var none T
		return none
	}
	return v
}

// Values are the elements of an array; nil where it is none.
func Values(raw jsontext.Value) []jsontext.Value {
	var items []jsontext.Value
	if raw.Kind() != '[' || json.Unmarshal(raw, &items, Lenient) != nil {
		return nil
	}
	return items
}

// List decodes an array of objects, those that are; nil where it is none.
func List[T any](raw jsontext.Value) []T {
	var values []T
	for _, item := range Values(raw) {
		if item.Kind() == '{' {
			values = append(values, Read[T](item))
		}
	}
	return values
}

// Texts are the strings of an array; nil where it is none.
func Texts(raw jsontext.Value) []string {
	var texts []string
	for _, item := range Values(raw) {
		if item.Kind() == '"' {
			texts = append(texts, protocol.Unquote(item))
		}
	}
	return texts
}

// AsObject is a free value as an object: any other value becomes the member of
// one. nil where there is none, or null.
func AsObject(raw jsontext.Value, member string) protocol.Object {
	switch raw.Kind() {
	case jsontext.KindInvalid, 'n':
		return nil
	case '{':
		return protocol.AppendRaw(nil, raw)
	}
	o := append(protocol.AppendString([]byte{'{'}, member), ':')
	return append(protocol.AppendRaw(o, raw), '}')
}

// Word is a name that another program wrote, fit for a log: short, and of
// characters that names are made of.
func Word(name string) string {
	const most = 40
	clean := make([]byte, 0, most)
	for i := 0; i < len(name) && len(clean) < most; i++ {
		c := name[i]
		if c != '_' && c != '-' && c != '.' && c != '/' && c != '$' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			c = '?'
		}
		clean = append(clean, c)
	}
	return string(clean)
}
