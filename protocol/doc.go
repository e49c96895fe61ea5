// Package protocol is the wire: every method, event, part, id, error and
// vocabulary of protocol 2, with a decoder that keeps the unknown and an
// encoder that writes the canonical form.
//
// It decides what a well-formed value is and how it is spelled in bytes. It
// refuses to know who sends a value, in which order values come, and what they
// add up to: order belongs to package verify, meaning to package reducer.
//
// Decoding is strict and says everything that is wrong at once: a known type with
// a body that does not fit is an error with its faults, each at its path. What is
// of an unknown type is kept as it came. Encoding is canonical: compact, members
// in the order of the protocol's pages, safe for readers that split lines at
// U+2028. The files are named for it: reading.go and scalar.go are the decoder's
// means, append.go the encoder's, the others one subject each.
//
// Values are plain data. An Event or a Part that has been handed on is never
// changed again, by anyone: the log, the fold and every subscriber share it.
// All functions are pure and safe for concurrent use.
package protocol

import "github.com/go-json-experiment/json/jsontext"

// Version is the protocol version this package speaks; the only one.
const Version = 2

// MaxSafeInteger bounds every integer of the wire: values lie within ±(2^53-1),
// which every JSON implementation holds exactly.
const MaxSafeInteger = 1<<53 - 1

// DefaultMaxMessageBytes is the longest line that is accepted from a peer
// unless configured otherwise: 10 MiB.
const DefaultMaxMessageBytes = 10 << 20

// Object is a free JSON value kept as it was written (input, metadata,
// rawInput, _meta and their like). nil means the member is absent; where a
// member must be an object, the decoder has checked that it is one.
type Object = jsontext.Value

// Number is any number of the wire that is not an integer by its nature:
// indices, used, size, tokens, line, cost. It may be fractional or negative.
type Number = float64
