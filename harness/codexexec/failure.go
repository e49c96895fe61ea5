package codexexec

import (
	"regexp"
	"strconv"
	"strings"

	"agent-server/protocol"
)

// Errors come without a code this way: all there is are their words.

// statusText finds an HTTP status where it is named as one.
var statusText = regexp.MustCompile(`(?i)\bstatus[ :]+([45][0-9][0-9])\b`)

// phrases are what Codex writes for faults that have no status; the first that
// fits counts.
var phrases = []struct {
	part     string
	category protocol.ErrorCategory
}{
	{"context window", protocol.CategoryContextLimit},
	{"usage limit", protocol.CategoryUsageLimit},
	{"quota", protocol.CategoryUsageLimit},
	{"rate limit", protocol.CategoryRateLimit},
	{"missing environment variable", protocol.CategoryAuth},
	{"not logged in", protocol.CategoryAuth},
	{"model is at capacity", protocol.CategoryUpstream},
	{"high demand", protocol.CategoryUpstream},
	{"overloaded", protocol.CategoryUpstream},
	{"stream disconnected", protocol.CategoryNetwork},
	{"waiting for network", protocol.CategoryNetwork},
	{"error sending request", protocol.CategoryNetwork},
	{`"error"`, protocol.CategoryInvalidRequest}, // a refused request's body, as it came
}

// categoryOf is what the words say of a fault; internal where they say nothing.
func categoryOf(message string) protocol.ErrorCategory {
	if m := statusText.FindStringSubmatch(message); m != nil {
		status, _ := strconv.Atoi(m[1])
		switch {
		case status == 401 || status == 403:
			return protocol.CategoryAuth
		case status == 402:
			return protocol.CategoryUsageLimit
		case status == 429:
			return protocol.CategoryRateLimit
		case status < 500:
			return protocol.CategoryInvalidRequest
		}
		return protocol.CategoryUpstream
	}
	lower := strings.ToLower(message)
	for _, p := range phrases {
		if strings.Contains(lower, p.part) {
			return p.category
		}
	}
	return protocol.CategoryInternal
}
