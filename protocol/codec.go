package protocol

import "github.com/go-json-experiment/json"

// marshalData encodes an error's data, which is ours and always encodable.
func marshalData(v any) Object {
	b, err := json.Marshal(v)
	if err != nil {
		panic("protocol: error data does not encode: " + err.Error())
	}
	return b
}
