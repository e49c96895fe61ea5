package codexappserver

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// Each kind of fault, as Codex was seen to write it.
func TestFaults(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]protocol.ErrorCategory{
		`{"message":"{\"error\":{\"message\":\"Unsupported parameter\"}}","codexErrorInfo":"other"}`:           protocol.CategoryInvalidRequest,
		`{"message":"unexpected status 401","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":401}}}`: protocol.CategoryAuth,
		`{"message":"x","codexErrorInfo":"modelNotFound"}`:                                                     protocol.CategoryInvalidRequest,
		`{"message":"x","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":429}}}`:            protocol.CategoryRateLimit,
		`{"message":"x","codexErrorInfo":"usageLimitExceeded"}`:                                                protocol.CategoryUsageLimit,
		`{"message":"x","codexErrorInfo":"internalServerError"}`:                                               protocol.CategoryUpstream,
		`{"message":"x","codexErrorInfo":"serverOverloaded"}`:                                                  protocol.CategoryUpstream,
		`{"message":"x","codexErrorInfo":"contextWindowExceeded"}`:                                             protocol.CategoryContextLimit,
		`{"message":"x","codexErrorInfo":"rateLimitExceeded"}`:                                                 protocol.CategoryRateLimit,
		`{"message":"stream disconnected before completion: x","codexErrorInfo":"other"}`:                      protocol.CategoryNetwork,
		`{"message":"x","codexErrorInfo":{"responseStreamConnectionFailed":{"httpStatusCode":null}}}`:          protocol.CategoryNetwork,
		"{\"message\":\"Missing environment variable: `KEY`.\",\"codexErrorInfo\":\"other\"}":                  protocol.CategoryAuth,
		`{"message":"exceeded retry limit, last status: 503 Service Unavailable","codexErrorInfo":"other"}`:    protocol.CategoryUpstream,
		`{"message":"x","codexErrorInfo":"unauthorized"}`:                                                      protocol.CategoryAuth,
		`{"message":"x"}`: protocol.CategoryInternal,
		`{}`:              protocol.CategoryInternal,
	} {
		if got := readFailure(jsontext.Value(raw)).turnError(); got.Category != want || got.Message == "" {
			t.Errorf("%s is %+v, want %s", raw, got, want)
		}
	}
}

// A fault is told once: as a notice where Codex goes on, else by the turn's end.
func TestFaultIsToldOnce(t *testing.T) {
	t.Parallel()
	f := running(t)
	const fault = `"error":{"message":"no","codexErrorInfo":"serverOverloaded"}`
	f.tell("error", fault+`,"willRetry":false`)
	f.want()
	f.endsWith(`"status":"failed",` + fault)
	if end := last[harness.Finished](f); end.Reason != protocol.StopError || end.Error.Category != protocol.CategoryUpstream || end.Error.Message != "no" {
		t.Errorf("ended %+v", end)
	}
	none[harness.Notice](f)
	f = running(t)
	f.tell("error", fault+`,"willRetry":false`)
	f.ends("failed") // without the error: the one before counts
	if end := last[harness.Finished](f); end.Error == nil || end.Error.Message != "no" {
		t.Errorf("ended %+v", end)
	}
}

func TestOutOfTokens(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.endsWith(`"status":"failed","error":{"message":"Incomplete response returned, reason: max_output_tokens","codexErrorInfo":"other"}`)
	if end := last[harness.Finished](f); end.Reason != protocol.StopMaxTokens || end.Error != nil {
		t.Errorf("ended %+v", end)
	}
}

const unreachable = `"error":{"message":"Reconnecting... waiting for network","codexErrorInfo":{"responseStreamConnectionFailed":{"httpStatusCode":null}}},"willRetry":true`

// Codex tries for ever to reach its provider; we do not.
func TestLaw176_unreachableProviderEndsTheTurn(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tell("error", unreachable)
	f.tell("error", unreachable)
	if f.timers[unreachableTimer].After == 0 {
		t.Fatalf("timers %v", f.timers)
	}
	f.step(harness.Expired{Timer: unreachableTimer})
	f.wrote("turn/interrupt")
	none[harness.Finished](f)
	f.ends("interrupted")
	if end := last[harness.Finished](f); end.Reason != protocol.StopError || end.Error.Category != protocol.CategoryNetwork {
		t.Errorf("ended %+v", end)
	}
	if f.process != harness.Keep {
		t.Error("the process goes too")
	}
}

// One that does not take the interrupt either goes with its process.
func TestUnreachableAndDeaf(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tell("error", unreachable)
	f.tell("error", unreachable)
	f.step(harness.Expired{Timer: unreachableTimer})
	f.step(harness.Expired{Timer: interruptTimer})
	if end := last[harness.Finished](f); end.Error.Category != protocol.CategoryNetwork || f.process != harness.Stop {
		t.Errorf("ended %+v, process %v", end, f.process)
	}
}

// A provider that answers again has been reached.
func TestReachedAgain(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tell("error", unreachable)
	f.tell("item/agentMessage/delta", `"itemId":"m","delta":"x"`)
	if timer, set := f.timers[unreachableTimer]; !set || timer.After != 0 {
		t.Errorf("timers %v", f.timers)
	}
	f.forget()
	f.step(harness.Expired{Timer: unreachableTimer})
	if len(f.written) > 0 {
		t.Errorf("wrote %v", f.written)
	}
}

// A stream that was cut is none that cannot be reached, and one complaint before a
// long silence is none either: the model may be thinking.
func TestSilenceIsNotUnreachable(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tell("error", `"error":{"message":"Reconnecting... 1/5","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}},"additionalDetails":"stream closed"},"willRetry":true`)
	if f.timers[unreachableTimer].After != 0 {
		t.Errorf("timers %v", f.timers)
	}
	f.tell("error", unreachable)
	f.forget()
	f.step(harness.Expired{Timer: unreachableTimer})
	if len(f.written)+len(f.updates) > 0 {
		t.Errorf("wrote %v, said %v", f.written, f.updates)
	}
	f.tell("error", unreachable)
	if f.timers[unreachableTimer].After == 0 {
		t.Error("the clock does not start again")
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tell("warning", `"message":"Model metadata for x not found"`)
	none[harness.Notice](f)
	f.tell("warning", `"message":"something"`)
	if n := last[harness.Notice](f); n.Message != "something" {
		t.Errorf("%+v", n)
	}
	f.forget()
	for _, method := range []string{"configWarning", "deprecationNotice", "thread/name/updated", "account/updated", "turn/diff/updated"} {
		f.tell(method, "")
	}
	f.want()
	if len(f.notes) > 0 {
		t.Errorf("notes %v", f.notes)
	}
	f.tell("from/the/future", "")
	if len(f.notes) != 1 || strings.Contains(f.notes[0].Detail, "\n") {
		t.Errorf("notes %v", f.notes)
	}
}
