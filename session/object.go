package session

import (
	"bytes"
	"encoding/json"

	"agent-server/protocol"
)

// object is o where it is a JSON object, else nil: a free object of the wire is
// one, or absent.
func object(o protocol.Object) protocol.Object {
	if !json.Valid(o) || bytes.TrimLeft(o, " \t\r\n")[0] != '{' {
		return nil
	}
	return o
}

// emptyObject stands where the wire needs an object and none is known.
var emptyObject = protocol.Object("{}")

// orEmpty is o where it is a JSON object, else an empty one.
func orEmpty(o protocol.Object) protocol.Object {
	if o = object(o); o == nil {
		return emptyObject
	}
	return o
}

// withMember is o, or an empty object, with one member set. o stays as it is.
func withMember(o protocol.Object, name string, value protocol.Object) protocol.Object {
	members := map[string]protocol.Object{}
	if o = object(o); o != nil {
		// It is an object, so it fits.
		_ = json.Unmarshal(o, &members)
	}
	members[name] = value
	return protocol.Encode(members)
}

// headed is an unknown part's object under our own head: its ids are ours, the
// rest is as the harness's translator made it. On the wire such a part is its raw
// object, so that is where the ids go.
func headed(raw protocol.Object, kind protocol.PartType, head protocol.PartHead) protocol.Object {
	rest := map[string]protocol.Object{}
	_ = json.Unmarshal(raw, &rest)
	for _, name := range []string{"id", "sessionId", "messageId", "parentToolCallId", "_meta", "type"} {
		delete(rest, name)
	}
	out := bytes.TrimSuffix(protocol.Encode(struct {
		protocol.PartHead
		Type protocol.PartType `json:"type"`
	}{head, kind}), []byte("}"))
	if len(rest) == 0 {
		return append(out, '}')
	}
	return append(append(out, ','), protocol.Encode(rest)[1:]...)
}
