package protocol

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Canonical is the one spelling of a JSON value: compact, members sorted by
// UTF-16 code units as RFC 8785 has it, numbers at their shortest as doubles,
// strings with the fewest escapes that a line allows. Of duplicate members the
// last one counts. An error means that raw is no JSON.
func Canonical(raw []byte) ([]byte, error) {
	if !valid(raw) {
		return nil, errors.New("canonical form: not valid JSON")
	}
	return appendCanonical(make([]byte, 0, len(raw)), trim(raw)), nil
}

func appendCanonical(dst, raw []byte) []byte {
	switch raw[0] {
	case '{':
		return appendCanonicalObject(dst, raw)
	case '[':
		return appendCanonicalArray(dst, raw)
	case '"':
		return AppendString(dst, Unquote(raw))
	case 't', 'f', 'n':
		return append(dst, raw...)
	}
	// Out of range comes back as an infinity, which AppendNumber bounds.
	n, _ := strconv.ParseFloat(string(raw), 64)
	return AppendNumber(dst, n)
}

func appendCanonicalArray(dst, raw []byte) []byte {
	open := len(dst)
	for item := range items(raw) {
		dst = appendCanonical(append(dst, ','), item)
	}
	if len(dst) == open {
		return append(dst, "[]"...)
	}
	dst[open] = '[' // where the first item's comma stands
	return append(dst, ']')
}

// appendCanonicalObject sorts by name; the sort is stable, so of duplicates the
// last one in the text is the last one of its run.
func appendCanonicalObject(dst, raw []byte) []byte {
	list := appendMembers(nil, raw)
	slices.SortStableFunc(list, func(a, b member) int { return compareUTF16(a.name(raw), b.name(raw)) })
	open := len(dst)
	for i, m := range list {
		name := m.name(raw)
		if i+1 < len(list) && string(list[i+1].name(raw)) == string(name) {
			continue // a later one of that name counts
		}
		dst = appendText(append(dst, ','), "", string(name))
		dst = appendCanonical(append(dst, ':'), m.value(raw))
	}
	if len(dst) == open {
		return append(dst, "{}"...)
	}
	dst[open] = '{' // where the first member's comma stands
	return append(dst, '}')
}

// compareUTF16 orders UTF-8 names by their UTF-16 code units.
func compareUTF16(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		x, n := utf8.DecodeRune(a)
		y, m := utf8.DecodeRune(b)
		if x != y {
			return cmp.Compare(unitRank(x), unitRank(y))
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// unitRank puts runes beyond U+FFFF where their surrogates stand: behind
// everything below U+D800, before U+E000 and what follows it.
func unitRank(r rune) rune {
	switch {
	case r > 0xFFFF:
		return r
	case r >= 0xE000:
		return r + utf8.MaxRune
	}
	return r
}

// TurnIdentity is what makes two turn/starts of one pair of ids the same turn:
// the canonical JSON of the known members of {input, config}, absent ones left
// out. It holds secrets (apiKey, env, headers): keep it only as a keyed hash.
func TurnIdentity(in Input, cfg RunConfig) []byte {
	identity, err := Canonical(Encode(struct {
		Input  Input     `json:"input"`
		Config RunConfig `json:"config"`
	}{in, cfg}))
	if err != nil {
		panic("protocol: Encode gave no JSON: " + err.Error())
	}
	return identity
}
