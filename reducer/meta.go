package reducer

import (
	"bytes"

	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// withMember is the object with one member set: in its place if the name is there
// already, else at the end. A nil object is an empty one; so is what is no object,
// which the decoder does not let through.
func withMember(object protocol.Object, name string, value []byte) protocol.Object {
	out, set := []byte{'{'}, false
	eachMember(object, func(key string, raw jsontext.Value) {
		if key == name {
			raw, set = value, true
		}
		out = append(member(out, key), raw...)
	})
	if !set {
		out = append(member(out, name), value...)
	}
	return append(out, '}')
}

// eachMember calls f with every member of the object, in order, names decoded. It
// is as tolerant as the decoder of events, which lets a name stand twice: a fold
// fails on nothing that decodes.
func eachMember(object protocol.Object, f func(name string, raw jsontext.Value)) {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return
		}
		name := t.String()
		raw, err := d.ReadValue()
		if err != nil {
			return
		}
		f(name, raw)
	}
}

// member begins a member of the object that dst ends with, comma and all. Only an
// object without members ends in a brace that opens: values that are written are
// written to their end.
func member(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(protocol.AppendString(dst, name), ':')
}
