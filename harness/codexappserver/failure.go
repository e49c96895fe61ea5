package codexappserver

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// Faults come in three forms: an error answer to a request of ours, an error
// notification in a turn, and the error of a failed turn. The last two hold the same
// words. Codex retries most of them by itself, and says each time that it does; two it
// handles badly: an overloaded service is never tried again, and one that cannot be
// reached is tried without an end. For the second there is a clock here.

// failed is an error answer as a turn's error. what says what failed, for errors
// whose own words do not; "" where they do.
func failed(e *rpcline.Error, what string) protocol.TurnError {
	message := e.Message
	if message == "" {
		message = "Codex gave no reason"
	}
	if what != "" {
		message = what + ": " + message
	}
	category := protocol.CategoryInternal
	switch e.Code {
	case rpcline.CodeInvalidRequest, rpcline.CodeInvalidParams:
		category = protocol.CategoryInvalidRequest
	case codeOverloaded:
		category = protocol.CategoryUpstream
	}
	return protocol.TurnError{Category: category, Message: message}
}

// failure is a fault of a turn, in Codex's words.
type failure struct {
	Message rpcline.Text `json:"message"`
	// Info is a word, or an object with one member that may hold an HTTP status.
	Info jsontext.Value `json:"codexErrorInfo"`
	// Details is what the provider said.
	Details rpcline.Text `json:"additionalDetails"`
}

func readFailure(raw jsontext.Value) failure { return rpcline.Read[failure](raw) }

// turnError is the fault as a turn's error.
func (f failure) turnError() protocol.TurnError {
	message := string(f.Message)
	if f.Details != "" && !strings.Contains(message, string(f.Details)) {
		message = strings.TrimPrefix(message+": "+string(f.Details), ": ")
	}
	if message == "" {
		message = "Codex gave no reason"
	}
	return protocol.TurnError{Category: f.category(), Message: message}
}

// infoWords are what Codex calls faults by themselves.
var infoWords = map[string]protocol.ErrorCategory{
	"contextWindowExceeded":       protocol.CategoryContextLimit,
	"sessionBudgetExceeded":       protocol.CategoryUsageLimit,
	"usageLimitExceeded":          protocol.CategoryUsageLimit,
	"rateLimitExceeded":           protocol.CategoryRateLimit,
	"flexUnavailable":             protocol.CategoryRateLimit,
	"serverOverloaded":            protocol.CategoryUpstream,
	"policyCapacityUnavailable":   protocol.CategoryUpstream,
	"internalServerError":         protocol.CategoryUpstream,
	"modelNotFound":               protocol.CategoryInvalidRequest,
	"badRequest":                  protocol.CategoryInvalidRequest,
	"cyberPolicy":                 protocol.CategoryInvalidRequest,
	"bioPolicy":                   protocol.CategoryInvalidRequest,
	"misalignmentPolicyViolation": protocol.CategoryInvalidRequest,
	"unauthorized":                protocol.CategoryAuth,
}

// statusCategory is what an HTTP status means; "" for what is none.
func statusCategory(status int) protocol.ErrorCategory {
	switch {
	case status == 401 || status == 403:
		return protocol.CategoryAuth
	case status == 402:
		return protocol.CategoryUsageLimit
	case status == 429:
		return protocol.CategoryRateLimit
	case status >= 400 && status < 500:
		return protocol.CategoryInvalidRequest
	case status >= 500 && status < 600:
		return protocol.CategoryUpstream
	}
	return ""
}

// category is what kind of fault it is: Codex calls a 401 a failed connection, and
// what it has no word for "other".
func (f failure) category() protocol.ErrorCategory {
	if f.Info.Kind() == '"' {
		if c := infoWords[protocol.Unquote(f.Info)]; c != "" {
			return c
		}
		return f.textCategory()
	}
	members := rpcline.Read[map[string]jsontext.Value](f.Info)
	if len(members) == 0 {
		return f.textCategory()
	}
	name := slices.Min(slices.Collect(maps.Keys(members))) // there is one
	status := rpcline.Read[struct {
		HTTP rpcline.Number `json:"httpStatusCode"`
	}](members[name]).HTTP
	switch c := statusCategory(int(status.Value)); {
	case c != "":
		return c
	case name == "responseTooManyFailedAttempts":
		return protocol.CategoryUpstream
	}
	return protocol.CategoryNetwork // a connection that failed without a status
}

// statusText finds an HTTP status where it is named as one.
var statusText = regexp.MustCompile(`(?i)\bstatus[ :]+([45][0-9][0-9])\b`)

// textCategory is what the words say of a fault that Codex has no word for.
func (f failure) textCategory() protocol.ErrorCategory {
	text := string(f.Message) + " " + string(f.Details)
	if m := statusText.FindStringSubmatch(text); m != nil {
		status, _ := strconv.Atoi(m[1])
		return statusCategory(status)
	}
	switch {
	case strings.Contains(text, "stream disconnected"):
		return protocol.CategoryNetwork
	case strings.Contains(text, "Missing environment variable"):
		return protocol.CategoryAuth
	case strings.Contains(text, `"error"`):
		return protocol.CategoryInvalidRequest // a refused request's body, as it came
	}
	return protocol.CategoryInternal
}

// erred takes a fault. One that Codex goes on from is a notice; the other is told
// by the turn's end, once.
func (t *translator) erred(p params) {
	f := readFailure(p.Error)
	e := f.turnError()
	switch thread := string(p.ThreadID); {
	case t.stale(p):
		t.note("fault of a turn that is over", "")
	case !bool(p.WillRetry) && thread == t.thread:
		t.turn.failure = &e
	case !bool(p.WillRetry):
		t.note("fault of a sub-agent", "")
	default:
		t.abandonSpeech(thread)
		t.emit(harness.Notice{Category: e.Category, Message: e.Message})
		if thread == t.thread && e.Category == protocol.CategoryNetwork && noConnection(e.Message) {
			t.complained()
		}
	}
}

// noConnection tells a provider that cannot be reached from a stream that was cut,
// which Codex itself tries again a few times only.
func noConnection(message string) bool {
	return strings.Contains(message, "waiting for network") || strings.Contains(message, "Connection failed")
}

// complained starts the clock with the first complaint.
func (t *translator) complained() {
	if t.turn.complaints == 0 {
		t.setTimer(unreachableTimer, t.opts.UnreachableTimeout)
	}
	t.turn.complaints++
}

// reached takes a sign of life: whatever else an item says, the provider was
// reached.
func (t *translator) reached(method string, p params) {
	turn := t.turn
	if turn == nil || turn.complaints == 0 || string(p.ThreadID) != t.thread {
		return
	}
	if strings.HasPrefix(method, "item/") || method == "thread/tokenUsage/updated" {
		turn.complaints = 0
		t.stopTimer(unreachableTimer)
	}
}

// loseTouch gives a turn up whose provider cannot be reached: Codex would go on
// trying without an end. After one complaint and then none it may have got through
// to a model that thinks: silence is no fault.
func (t *translator) loseTouch() {
	if t.turn.complaints < 2 {
		t.turn.complaints = 0
		return
	}
	t.turn.lost = &protocol.TurnError{
		Category: protocol.CategoryNetwork,
		Message:  "Codex could not reach its provider for " + t.opts.UnreachableTimeout.String(),
	}
	t.interrupt(t.turn.id)
	t.setTimer(interruptTimer, interruptLimit)
}
