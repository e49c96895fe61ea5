package session

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"agent-server/protocol"
)

// A harness's last words may repeat what its config holds: a CLI that refuses a
// key likes to say which. Errors are shown to everyone who reads the session, and
// kept, so what a config marks as secret is taken out of them.

const (
	// redacted stands for a secret.
	redacted = "[redacted]"
	// minSecret is the least length of a secret, in bytes: anything shorter is
	// found in words that are none.
	minSecret = 8
)

// redact is text without the secrets of a config.
func redact(text string, cfg protocol.RunConfig) string {
	for _, s := range secretsOf(cfg) {
		text = strings.ReplaceAll(text, s, redacted)
		text = redactCut(text, s)
	}
	return text
}

// redactCut takes out the beginning of a secret at the end of a text that was cut
// there.
func redactCut(text, secret string) string {
	for n := len(secret) - 1; n >= minSecret; n-- {
		if strings.HasSuffix(text, secret[:n]) {
			return text[:len(text)-n] + redacted
		}
	}
	return text
}

// secretsOf are the secret values of a config, in every spelling, the longest
// first: one may hold another.
func secretsOf(cfg protocol.RunConfig) []string {
	values := []string{deref(cfg.APIKey)}
	for _, v := range cfg.Env {
		values = append(values, v)
	}
	for _, server := range cfg.MCPServers {
		for _, v := range server.Env {
			values = append(values, v)
		}
		for _, v := range server.Headers {
			// Of "Bearer token" the token alone is secret too.
			values = append(append(values, v), strings.Fields(v)...)
		}
	}
	return longestFirst(values)
}

// spellings are a secret as it is, and as it stands inside a JSON string and inside
// an address: errors quote requests.
func spellings(s string) []string {
	plain := protocol.AppendString(nil, s)
	spelled := []string{s, string(plain[1 : len(plain)-1]), url.QueryEscape(s), url.PathEscape(s)}
	if wide, err := json.Marshal(s); err == nil { // it escapes <, > and & too
		spelled = append(spelled, string(wide[1:len(wide)-1]))
	}
	// An escape is as good in lower case.
	return append(spelled, lowerEscapes(spelled[2]), lowerEscapes(spelled[3]))
}

// escape is one byte in an address.
var escape = regexp.MustCompile("%[0-9A-F]{2}")

func lowerEscapes(s string) string { return escape.ReplaceAllStringFunc(s, strings.ToLower) }

// longestFirst are the lines of the values that are long enough, since messages
// show one line; in an order that does not depend on that of the values.
func longestFirst(values []string) []string {
	var lines []string
	for _, v := range values {
		for line := range strings.Lines(v) {
			if line = strings.TrimSpace(line); len(line) >= minSecret {
				lines = append(lines, spellings(line)...)
			}
		}
	}
	slices.SortFunc(lines, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(lines)
}
