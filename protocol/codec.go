package protocol

import (
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// wireOptions make the JSON package write as the wire wants it: no HTML
// escaping, no raw line separators, free objects kept as they were spelled.
var wireOptions = json.JoinOptions(
	json.Deterministic(true),
	jsontext.EscapeForJS(true),
	jsontext.AllowInvalidUTF8(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.PreserveRawStrings(true),
)

// Encode is params or a result as compact JSON, members in the order of the
// struct. It is for the values of this package and plain data like them, which
// always encode; anything else is a programmer's error and panics.
func Encode(v any) Object {
	b, err := json.Marshal(v, wireOptions)
	if err != nil {
		panic("protocol: value does not encode: " + err.Error())
	}
	if !utf8.Valid(b) {
		return AppendRaw(nil, b) // a free object brought bytes that are no UTF-8
	}
	return b
}

// Decode is the inverse of Encode, for results and error data: plain structs
// whose values nobody need check. Unknown members are ignored; events, parts and
// params have strict decoders of their own.
func Decode(raw []byte, into any) error {
	if err := json.Unmarshal(raw, into, wireOptions); err != nil {
		return fmt.Errorf("decoding %T: %w", into, err)
	}
	return nil
}

// marshalData encodes an error's data, which is ours and always encodable.
func marshalData(v any) Object { return Encode(v) }
