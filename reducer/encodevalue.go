package reducer

import (
	"strconv"

	"agent-server/protocol"
)

// The encoder is written out by hand: a snapshot of a long session is the largest
// thing that the gateway sends. Each function here appends one member, or one
// value of the kind that appendList and appendMaybe take.

// appendText appends a string member.
func appendText(dst []byte, name, text string) []byte {
	return protocol.AppendString(member(dst, name), text)
}

// appendNumber appends a number member.
func appendNumber(dst []byte, name string, n protocol.Number) []byte {
	return protocol.AppendNumber(member(dst, name), n)
}

// appendTime appends a member that is a time, or another integer.
func appendTime(dst []byte, name string, at int64) []byte {
	return appendInteger(member(dst, name), at)
}

// appendInteger appends an integer.
func appendInteger(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// appendMaybe appends a member unless it is absent.
func appendMaybe[T any](dst []byte, name string, v *T, value func([]byte, T) []byte) []byte {
	if v == nil {
		return dst
	}
	return value(member(dst, name), *v)
}

// appendList appends a member that is an array.
func appendList[T any](dst []byte, name string, list vector[T], value func([]byte, T) []byte) []byte {
	dst = append(member(dst, name), '[')
	for i, x := range list.all() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value(dst, x)
	}
	return append(dst, ']')
}

// appendSlice is appendList of a slice; a nil one is an empty array.
func appendSlice[T any](dst []byte, name string, list []T, value func([]byte, T) []byte) []byte {
	dst = append(member(dst, name), '[')
	for i, x := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value(dst, x)
	}
	return append(dst, ']')
}

// appendTokens appends what a turn cost, with its defaults.
func appendTokens(dst []byte, u protocol.TokenUsage) []byte {
	dst = appendNumber(appendNumber(append(dst, '{'), "input", u.Input), "output", u.Output)
	dst = appendMaybe(dst, "reasoning", u.Reasoning, protocol.AppendNumber)
	return append(appendMaybe(dst, "cache", u.Cache, appendCache), '}')
}

// appendCache appends counts of cached input.
func appendCache(dst []byte, u protocol.CacheUsage) []byte {
	dst = appendNumber(appendNumber(append(dst, '{'), "read", u.Read), "write", u.Write)
	dst = appendMaybe(dst, "writeEphemeral5m", u.WriteEphemeral5m, protocol.AppendNumber)
	return append(appendMaybe(dst, "writeEphemeral1h", u.WriteEphemeral1h, protocol.AppendNumber), '}')
}
