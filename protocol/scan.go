package protocol

import (
	"bytes"
	"iter"
	"math"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Input is validated once, by the JSON package, and then walked by the
// functions of this file, which trust it: they find where values end and look
// no further. That is what makes a decoder of members fast without a second
// opinion about what JSON is.

// valid says whether raw is one JSON value as a base client's parser takes it:
// duplicate names are allowed, bytes that are no UTF-8 stand for U+FFFD. Places
// are kept in 32 bits, so nothing longer is taken; no line comes near it.
func valid(raw []byte) bool {
	return len(raw) <= math.MaxInt32 && jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// trim cuts the white space around a value.
func trim(raw []byte) []byte { return bytes.Trim(raw, " \t\r\n") }

// skipSpace is the place of the first byte at or after i that is no white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// valueEnd is the place behind the value that starts at i.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return containerEnd(b, i)
	}
	for i < len(b) && !endsScalar(b[i]) {
		i++
	}
	return i
}

// endsScalar says whether c cannot belong to a number or a literal.
func endsScalar(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r'
}

// stringEnd is the place behind the string literal that starts at i: behind the
// first quote that an even number of backslashes precedes.
func stringEnd(b []byte, i int) int {
	for end := i + 1; ; end++ {
		end += bytes.IndexByte(b[end:], '"')
		if backslashes(b[i+1:end])%2 == 0 {
			return end + 1
		}
	}
}

// backslashes counts those that b ends in.
func backslashes(b []byte) int {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n
}

// containerEnd is the place behind the object or array that starts at i. It
// counts brackets instead of recursing, so depth costs nothing.
func containerEnd(b []byte, i int) int {
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
}

// member is one member of an object, as places in the object's bytes: no
// pointers, so that a long list of them costs the garbage collector nothing.
type member struct {
	nameFrom int32
	// nameTo is negated for an odd name, one that does not stand for itself:
	// escaped, or beyond ASCII.
	nameTo   int32
	from, to int32
}

// name is the member's name, unquoted; one that is not odd shares raw.
func (m member) name(raw []byte) []byte {
	if m.nameTo < 0 {
		return []byte(Unquote(raw[m.nameFrom:-m.nameTo]))
	}
	return raw[m.nameFrom+1 : m.nameTo-1]
}

// value is the member's value.
func (m member) value(raw []byte) []byte { return raw[m.from:m.to:m.to] }

// is says whether the member has this name.
func (m member) is(raw []byte, name string) bool {
	if m.nameTo < 0 {
		return string(m.name(raw)) == name
	}
	return string(raw[m.nameFrom+1:m.nameTo-1]) == name
}

// appendMembers appends the members of a valid object, in their order,
// duplicates too.
func appendMembers(dst []member, raw []byte) []member {
	i := skipSpace(raw, 1)
	for raw[i] != '}' {
		nameTo, odd := nameEnd(raw, i)
		from := skipSpace(raw, skipSpace(raw, nameTo)+1) // over the colon
		to := valueEnd(raw, from)
		if odd {
			nameTo = -nameTo
		}
		dst = append(dst, member{int32(i), int32(nameTo), int32(from), int32(to)})
		i = skipComma(raw, to)
	}
	return dst
}

// nameEnd is stringEnd for names, which are short: byte by byte, up to the first
// odd one.
func nameEnd(b []byte, i int) (end int, odd bool) {
	for end = i + 1; b[end] != '"'; end++ {
		if b[end] == '\\' || b[end] >= utf8.RuneSelf {
			return stringEnd(b, i), true
		}
	}
	return end + 1, false
}

// items goes through the items of a valid array.
func items(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := skipSpace(raw, 1); raw[i] != ']'; {
			end := valueEnd(raw, i)
			if !yield(raw[i:end:end]) {
				return
			}
			i = skipComma(raw, end)
		}
	}
}

// skipComma is the place of the next member or item, or of the closing bracket.
func skipComma(raw []byte, i int) int {
	i = skipSpace(raw, i)
	if raw[i] == ',' {
		i = skipSpace(raw, i+1)
	}
	return i
}

// plain says whether the inside of a string literal stands for itself.
func plain(body []byte) bool {
	return bytes.IndexByte(body, '\\') < 0 && utf8.Valid(body)
}

// Unquote is the value of a valid JSON string literal, quotes included. A lone
// surrogate escape and bytes that are no UTF-8 become U+FFFD.
func Unquote(literal []byte) string {
	if body := literal[1 : len(literal)-1]; plain(body) {
		return string(body)
	}
	// The only error left is the one about surrogates and UTF-8, after the
	// replacement has been made.
	b, _ := jsontext.AppendUnquote(nil, literal)
	return string(b)
}

// LoneHighSurrogateTail reports whether a valid JSON string literal ends in the
// escape of a high surrogate (\ud800 to \udbff). No low one follows it there, so
// its other half may come with the next delta: a translator holds it back.
func LoneHighSurrogateTail(literal []byte) bool {
	const escape = len(`\ud800`)
	body := literal[1 : len(literal)-1]
	if len(body) < escape {
		return false
	}
	tail := body[len(body)-escape:]
	if tail[0] != '\\' || tail[1] != 'u' || tail[2]|0x20 != 'd' {
		return false
	}
	high := tail[3] == '8' || tail[3] == '9' || tail[3]|0x20 == 'a' || tail[3]|0x20 == 'b'
	return high && backslashes(body[:len(body)-escape])%2 == 0
}
