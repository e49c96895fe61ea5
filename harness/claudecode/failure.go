package claudecode

import (
	"fmt"
	"time"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// failure is what the CLI says of a request to the model that failed.
type failure struct {
	// word is the CLI's own: authentication_failed, rate_limit, unknown…
	word string
	// status is the HTTP status; 0 where no answer came.
	status float64
	// kind is the API's own error type; "" where no answer came.
	kind string
	// detail is the CLI's word where no answer came: connection_failed.
	detail string
}

// failureWords maps the CLI's words that mean one thing.
var failureWords = map[string]protocol.ErrorCategory{
	"authentication_failed": protocol.CategoryAuth,
	"oauth_org_not_allowed": protocol.CategoryAuth,
	"billing_error":         protocol.CategoryUsageLimit,
	"rate_limit":            protocol.CategoryRateLimit,
	"invalid_request":       protocol.CategoryInvalidRequest,
	"model_not_found":       protocol.CategoryInvalidRequest,
	"overloaded":            protocol.CategoryUpstream,
}

// failureKinds maps the API's error types.
var failureKinds = map[string]protocol.ErrorCategory{
	"authentication_error":  protocol.CategoryAuth,
	"permission_error":      protocol.CategoryAuth,
	"billing_error":         protocol.CategoryUsageLimit,
	"rate_limit_error":      protocol.CategoryRateLimit,
	"invalid_request_error": protocol.CategoryInvalidRequest,
	"not_found_error":       protocol.CategoryInvalidRequest,
	"request_too_large":     protocol.CategoryInvalidRequest,
	"api_error":             protocol.CategoryUpstream,
	"overloaded_error":      protocol.CategoryUpstream,
	"timeout_error":         protocol.CategoryUpstream,
}

// category is the kind of fault it was. Where neither word nor type nor status
// came, no answer did: the network.
func (f failure) category() protocol.ErrorCategory {
	if f.detail == "connection_failed" {
		return protocol.CategoryNetwork
	}
	if c, ok := failureWords[f.word]; ok {
		return c
	}
	if c, ok := failureKinds[f.kind]; ok {
		return c
	}
	switch {
	case f.status == 401 || f.status == 403:
		return protocol.CategoryAuth
	case f.status == 429:
		return protocol.CategoryRateLimit
	case f.status >= 500:
		return protocol.CategoryUpstream
	case f.status >= 400:
		return protocol.CategoryInvalidRequest
	}
	return protocol.CategoryNetwork
}

// onRetry tells of a request that failed and is tried again.
func (t *translator) onRetry(line []byte) {
	if t.turn == nil {
		return
	}
	s := object[system](line)
	f := failure{word: string(s.Error), status: float64(s.Code)}
	what := "no answer from the model"
	if f.status != 0 {
		what = fmt.Sprintf("the model's server answered %v (%s)", f.status, f.word)
	}
	t.emit(harness.Notice{
		Category: f.category(),
		Message:  fmt.Sprintf("%s; retry %v of %v", what, float64(s.Attempt), float64(s.Max)),
	})
}

// onRateLimit tells of an account limit that was reached. The turn may go on all
// the same (on credits, for instance); if it does not, its result says so.
func (t *translator) onRateLimit(line []byte) {
	l := object[limit](object[struct {
		Info jsontext.Value `json:"rate_limit_info"`
	}](line).Info)
	if t.turn == nil || l.Status != "rejected" {
		return
	}
	message := "usage limit reached"
	if l.Type != "" {
		message += " (" + word(string(l.Type)) + ")"
	}
	if l.Resets > 0 && l.Resets < maxUnix {
		message += ", resets at " + time.Unix(int64(l.Resets), 0).UTC().Format(time.RFC3339)
	}
	t.emit(harness.Notice{Category: protocol.CategoryRateLimit, Message: message})
}

// maxUnix is the last second of the year 9999, the last that RFC 3339 can write.
const maxUnix = 253402300799
