package protocol

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// wrong notes that a value of another kind was wanted.
func (r *reading) wrong(want string, raw []byte) {
	r.fault("must be " + want + ", not " + kindOf(raw))
}

// kindOf names the kind of a JSON value.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// aString reads any string, "" too.
func aString(r *reading, raw []byte) string {
	if raw[0] != '"' {
		r.wrong("a string", raw)
		return ""
	}
	return Unquote(raw)
}

// aSessionID reads a sessionId, which a line repeats.
func aSessionID(r *reading, raw []byte) string { return repeated(r, raw, &r.session) }

// aMessageID reads a messageId, which a line repeats.
func aMessageID(r *reading, raw []byte) string { return repeated(r, raw, &r.message) }

// repeated is aString that gives the last one again where it is the same. One
// with a backslash is not kept: its literal would be that of another string.
func repeated(r *reading, raw []byte, last *string) string {
	if body := literalBody(raw); len(body) > 0 && string(body) == *last {
		return *last
	}
	s := aString(r, raw)
	if strings.IndexByte(s, '\\') < 0 {
		*last = s
	}
	return s
}

// aFilled reads a string of at least one character.
func aFilled[T ~string](r *reading, raw []byte) T {
	s := aString(r, raw)
	if raw[0] == '"' && s == "" {
		r.fault("must not be empty")
	}
	return T(s)
}

// aWord reads a word of an open vocabulary: any that is not blank.
func aWord[T ~string](r *reading, raw []byte) T {
	s := aString(r, raw)
	if raw[0] == '"' && strings.TrimSpace(s) == "" {
		r.fault("must not be blank")
	}
	return T(s)
}

// oneOf reads a word of a closed vocabulary.
func oneOf[T ~string](words ...T) reader[T] {
	return func(r *reading, raw []byte) T {
		if raw[0] != '"' {
			r.wrong("a string", raw)
			return ""
		}
		for _, w := range words {
			if string(raw[1:len(raw)-1]) == string(w) {
				return w
			}
		}
		return rareSpelling(r, raw, words)
	}
}

// rareSpelling is oneOf's slow way: a word spelled with escapes, or none of them.
func rareSpelling[T ~string](r *reading, raw []byte, words []T) T {
	s := T(Unquote(raw))
	quoted := make([]string, len(words))
	for i, w := range words {
		if s == w {
			return w
		}
		quoted[i] = strconv.Quote(string(w))
	}
	r.fault("must be one of " + strings.Join(quoted, ", "))
	return ""
}

// aHarness reads a harness id: not blank, and known where that is asked for.
func aHarness(r *reading, raw []byte) HarnessID {
	mark := len(r.faults)
	id := aWord[HarnessID](r, raw)
	if len(r.faults) == mark && r.harness != nil && !r.harness(id) {
		r.fault("unknown harness " + strconv.Quote(string(id)))
	}
	return id
}

// aBool reads true or false.
func aBool(r *reading, raw []byte) bool {
	if raw[0] != 't' && raw[0] != 'f' {
		r.wrong("a boolean", raw)
	}
	return raw[0] == 't'
}

// isNumber says whether raw is a number, given that it is JSON.
func isNumber(raw []byte) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// aNumber reads any number that a float64 can come near to.
func aNumber(r *reading, raw []byte) Number {
	if !isNumber(raw) {
		r.wrong("a number", raw)
		return 0
	}
	if n, ok := shortInteger(raw); ok {
		return Number(n)
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		r.fault("must be a number within the range of a double")
	}
	return n
}

// shortInteger reads the usual spelling of a small natural number, without the
// general parser.
func shortInteger(raw []byte) (int64, bool) {
	if len(raw) > 15 {
		return 0, false
	}
	var n int64
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// anInteger reads any spelling of an integral value within ±(2^53-1).
func anInteger(r *reading, raw []byte) int64 {
	mark := len(r.faults)
	n := aNumber(r, raw)
	if len(r.faults) > mark {
		return 0
	}
	if n != math.Trunc(n) || math.Abs(n) > MaxSafeInteger {
		r.fault("must be an integer within ±(2^53-1)")
		return 0
	}
	return int64(n)
}

// atLeast reads an integer that is no smaller than low.
func atLeast(low int64) reader[int64] {
	why := "must be at least " + strconv.FormatInt(low, 10)
	return func(r *reading, raw []byte) int64 {
		mark := len(r.faults)
		n := anInteger(r, raw)
		if len(r.faults) == mark && n < low {
			r.fault(why)
		}
		return n
	}
}

var (
	// aPositive reads a version, a seq or a bound: integers from 1.
	aPositive = atLeast(1)
	// aNatural reads an integer from 0.
	aNatural = atLeast(0)
)

// aTimestamp reads epoch milliseconds: no sign, not even that of -0, which
// JavaScript tells from 0.
func aTimestamp(r *reading, raw []byte) int64 {
	if raw[0] == '-' {
		r.fault("must not be negative")
		return 0
	}
	return anInteger(r, raw)
}

// aFreeObject reads an object and keeps it as it was written.
func aFreeObject(r *reading, raw []byte) Object {
	if raw[0] != '{' {
		r.wrong("an object", raw)
		return nil
	}
	return bytes.Clone(raw)
}

// aFreeValue reads any value and keeps it as it was written.
func aFreeValue(_ *reading, raw []byte) Object { return bytes.Clone(raw) }

// someStrings reads an array of strings; an empty one is not an absent one.
var someStrings = listOf(aString)
