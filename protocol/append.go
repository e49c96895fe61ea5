package protocol

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The encoder appends by hand: one pass, no reflection, into a buffer the caller
// owns. Member names stand in the code as they stand on the wire, comma and
// colon included. A test ties every byte to what the plain encoder writes.

// AppendString appends s as a string literal, without HTML escaping. U+2028,
// U+2029 and every control character are escaped, since line readers split
// there; bytes that are no UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := plainPrefix(s, 0); i < len(s); {
		size, escape := escapeAt(s[i:])
		if escape != "" || size == 0 {
			dst = append(dst, s[start:i]...)
			dst, size = appendEscape(dst, s[i:], escape, size)
			start = i + size
		}
		i = plainPrefix(s, i+size)
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// plainPrefix is the place of the first byte of s from i on that is not plain
// printable ASCII, len(s) if there is none. It looks at eight bytes at a time:
// most text is a long run of plain ones.
func plainPrefix(s string, i int) int {
	for ; i+8 <= len(s); i += 8 {
		if !plainWord(load(s, i)) {
			break
		}
	}
	for i < len(s) && s[i] >= ' ' && s[i] < utf8.RuneSelf && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// load is the eight bytes at i as one word; the compiler makes one load of it.
func load(s string, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}

// plainWord says whether none of eight bytes is a control character, a quote, a
// backslash or outside ASCII. (x-0x01…)&^x&0x80… marks the zero bytes of x; a
// byte above 0x7f is refused anyway, so the marks need be right only below it.
func plainWord(w uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return (w|(w-ones*' ')|(quote-ones)|(slash-ones))&high == 0
}

// escapeAt looks at the character that s begins with: its size, and its escape
// if it has a fixed one. Size 0 is a byte that needs an escape that is made up.
func escapeAt(s string) (size int, escape string) {
	switch c := s[0]; {
	case c == '"':
		return 1, `\"`
	case c == '\\':
		return 1, `\\`
	case c == '\n':
		return 1, `\n`
	case c == '\r':
		return 1, `\r`
	case c == '\t':
		return 1, `\t`
	case c == '\b':
		return 1, `\b`
	case c == '\f':
		return 1, `\f`
	case c < ' ':
		return 0, ""
	case c < utf8.RuneSelf:
		return 1, ""
	}
	return escapeRune(s)
}

// escapeRune is escapeAt beyond ASCII.
func escapeRune(s string) (size int, escape string) {
	switch r, size := utf8.DecodeRuneInString(s); {
	case r == utf8.RuneError && size == 1:
		return 1, "\uFFFD"
	case r == '\u2028':
		return size, `\u2028`
	case r == '\u2029':
		return size, `\u2029`
	default:
		return size, ""
	}
}

// appendEscape appends what stands for the character that s begins with, and
// gives its size.
func appendEscape(dst []byte, s, escape string, size int) ([]byte, int) {
	if size > 0 {
		return append(dst, escape...), size
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[s[0]>>4], hex[s[0]&15]), 1
}

// AppendNumber appends n in its shortest form, as JavaScript writes it; -0 is 0.
// What no JSON can hold, and no decoder gives, is written as its nearest number:
// an infinity as the largest double, no number as 0.
func AppendNumber(dst []byte, n Number) []byte {
	switch {
	case n == math.Trunc(n) && math.Abs(n) < 1e15:
		return strconv.AppendInt(dst, int64(n), 10)
	case math.IsNaN(n):
		return append(dst, '0')
	case math.IsInf(n, 0):
		n = math.Copysign(math.MaxFloat64, n)
	}
	return jsontext.AppendFloat(dst, n, 64)
}

// AppendRaw appends a JSON value compactly, its spelling otherwise kept: digits,
// escapes and the order of members. Raw U+2028 and U+2029 are escaped, bytes
// that are no UTF-8 become U+FFFD. The value must be valid JSON, checked where it
// was read; nil is written as null.
func AppendRaw(dst []byte, raw Object) []byte {
	if len(raw) == 0 {
		return append(dst, "null"...)
	}
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\n', '\t', '\r':
			i++
		case '"':
			end := stringEnd(raw, i)
			dst = appendLiteral(dst, raw[i:end])
			i = end
		default:
			end := structureEnd(raw, i+1)
			dst = append(dst, raw[i:end]...)
			i = end
		}
	}
	return dst
}

// structureEnd is the end of a run outside strings that may be copied whole.
func structureEnd(raw []byte, i int) int {
	for i < len(raw) && raw[i] > ' ' && raw[i] != '"' {
		i++
	}
	return i
}

// appendLiteral appends a string literal as it is, but for what a line must not
// hold.
func appendLiteral(dst, literal []byte) []byte {
	start := 0
	for i := 0; i < len(literal); {
		if literal[i] < utf8.RuneSelf {
			i++
			continue
		}
		size, escape := escapeBytes(literal[i:])
		if escape != "" {
			dst = append(dst, literal[start:i]...)
			dst = append(dst, escape...)
			start = i + size
		}
		i += size
	}
	return append(dst, literal[start:]...)
}

// escapeBytes is escapeRune of bytes.
func escapeBytes(b []byte) (size int, escape string) {
	return escapeRune(string(b[:min(len(b), utf8.UTFMax)]))
}

// The functions below append one member each; key is its name with the comma
// before and the colon behind. The optional ones append nothing when absent.

// appendText appends a string.
func appendText(dst []byte, key, s string) []byte {
	return AppendString(append(dst, key...), s)
}

// appendOptText appends a string whose absence is nil; "" is there.
func appendOptText(dst []byte, key string, s *string) []byte {
	if s == nil {
		return dst
	}
	return appendText(dst, key, *s)
}

// appendOptWord appends a word whose absence is "".
func appendOptWord[T ~string](dst []byte, key string, word T) []byte {
	if word == "" {
		return dst
	}
	return appendText(dst, key, string(word))
}

// appendNum appends a number that may be fractional.
func appendNum(dst []byte, key string, n Number) []byte {
	return AppendNumber(append(dst, key...), n)
}

func appendOptNum(dst []byte, key string, n *Number) []byte {
	if n == nil {
		return dst
	}
	return appendNum(dst, key, *n)
}

// appendInt appends an integer.
func appendInt(dst []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(dst, key...), n, 10)
}

// appendOptInt appends an integer whose absence is nil.
func appendOptInt(dst []byte, key string, n *int64) []byte {
	if n == nil {
		return dst
	}
	return appendInt(dst, key, *n)
}

// appendBool appends true or false.
func appendBool(dst []byte, key string, b bool) []byte {
	return strconv.AppendBool(append(dst, key...), b)
}

// appendOptBool appends a boolean whose absence is nil: false says something.
func appendOptBool(dst []byte, key string, b *bool) []byte {
	if b == nil {
		return dst
	}
	return appendBool(dst, key, *b)
}

// appendFree appends a free object that must be there; one left nil is empty.
func appendFree(dst []byte, key string, o Object) []byte {
	if o == nil {
		o = Object("{}")
	}
	return AppendRaw(append(dst, key...), o)
}

// appendOptFree appends a free object whose absence is nil; an empty one is there.
func appendOptFree(dst []byte, key string, o Object) []byte {
	if o == nil {
		return dst
	}
	return AppendRaw(append(dst, key...), o)
}

// appendList appends an array that must be there.
func appendList[T any](dst []byte, key string, list []T, item func([]byte, T) []byte) []byte {
	dst = append(append(dst, key...), '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item(dst, v)
	}
	return append(dst, ']')
}

// appendOptList appends an array whose absence is nil; an empty one is there.
func appendOptList[T any](dst []byte, key string, list []T, item func([]byte, T) []byte) []byte {
	if list == nil {
		return dst
	}
	return appendList(dst, key, list, item)
}
