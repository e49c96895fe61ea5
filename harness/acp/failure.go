package acp

import (
	"regexp"
	"strconv"
	"strings"

	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// The error codes that the protocol adds to JSON-RPC's.
const (
	codeAuthRequired = -32000
	codeNotFound     = -32002
)

// failed is an error answer as a turn's error. what says what failed, for
// errors whose own words do not; "" where they do.
func failed(e *rpcline.Error, what string) protocol.TurnError {
	message := bodyOf(e.Message).said
	if detail := detailOf(e.Data); detail != "" && !strings.Contains(message, detail) {
		message = strings.Trim(message+": "+detail, ": ")
	}
	if message == "" {
		message = "the agent gave no reason"
	}
	if what != "" {
		message = what + ": " + message
	}
	return protocol.TurnError{Category: categoryOf(e), Message: message}
}

// detailOf is the sentence that agents put into an error's data; "" for none.
func detailOf(data jsontext.Value) string {
	if data.Kind() == '"' {
		return bodyOf(protocol.Unquote(data)).said
	}
	return bodyOf(saidIn(data, "message", "details", "error", "detail")).said
}

// body is a model API's error answer, which some agents hand on as it came.
type body struct {
	// said is its sentence, or the whole text where that is no such answer.
	said string
	// kind is the API's word for the fault; "" for none.
	kind string
}

// bodyOf reads a text that may be one.
func bodyOf(message string) body {
	inner := read[struct {
		Error struct {
			Message text `json:"message"`
			Type    text `json:"type"`
		} `json:"error"`
	}](jsontext.Value(message)).Error
	if inner.Message == "" {
		return body{said: message}
	}
	return body{string(inner.Message), string(inner.Type)}
}

// categoryOf is what kind of fault an error is: by the protocol's codes, by HTTP
// statuses, which some agents use as codes, by the words that agents put into
// data, and last by a status named in the text.
func categoryOf(e *rpcline.Error) protocol.ErrorCategory {
	switch e.Code {
	case codeAuthRequired:
		return protocol.CategoryAuth
	case codeNotFound, rpcline.CodeInvalidParams:
		return protocol.CategoryInvalidRequest
	case rpcline.CodeCancelled:
		return protocol.CategoryAbort
	}
	if c := statusCategory(e.Code); c != "" {
		return c
	}
	if c := dataCategory(e.Data); c != "" {
		return c
	}
	if c := dataWords[bodyOf(saidIn(e.Data, "message")).kind]; c != "" {
		return c
	}
	return textCategory(e.Message + " " + detailOf(e.Data))
}

// statusCategory is what an HTTP status means; "" for what is none.
func statusCategory(status int64) protocol.ErrorCategory {
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

// dataWords are what agents call faults in an error's data.
var dataWords = map[string]protocol.ErrorCategory{
	"authentication_failed":   protocol.CategoryAuth,
	"oauth_org_not_allowed":   protocol.CategoryAuth,
	"unauthorized":            protocol.CategoryAuth,
	"billing_error":           protocol.CategoryUsageLimit,
	"usage_limit_exceeded":    protocol.CategoryUsageLimit,
	"rate_limit":              protocol.CategoryRateLimit,
	"context_window_exceeded": protocol.CategoryContextLimit,
	"invalid_request":         protocol.CategoryInvalidRequest,
	"invalid_request_error":   protocol.CategoryInvalidRequest,
	"authentication_error":    protocol.CategoryAuth,
	"rate_limit_exceeded":     protocol.CategoryRateLimit,
	"bad_request":             protocol.CategoryInvalidRequest,
	"model_not_found":         protocol.CategoryInvalidRequest,
	"overloaded":              protocol.CategoryUpstream,
	"server_overloaded":       protocol.CategoryUpstream,
	"server_error":            protocol.CategoryUpstream,
	"APIError":                protocol.CategoryUpstream, // of opencode, which drops the status
	"internal_server_error":   protocol.CategoryUpstream,
}

// dataCategory is what the members of an error's data say; "" for nothing.
func dataCategory(data jsontext.Value) protocol.ErrorCategory {
	d := read[struct {
		ErrorKind text           `json:"errorKind"`
		ErrorName text           `json:"errorName"`
		Codex     jsontext.Value `json:"codex_error_info"`
	}](data)
	for _, word := range []text{d.ErrorKind, d.ErrorName} {
		if c := dataWords[string(word)]; c != "" {
			return c
		}
	}
	if d.Codex.Kind() == '"' {
		return dataWords[protocol.Unquote(d.Codex)]
	}
	for name, inner := range read[map[string]jsontext.Value](d.Codex) {
		status := read[struct {
			HTTP number `json:"http_status_code"`
		}](inner).HTTP
		if c := statusCategory(int64(status.value)); c != "" {
			return c
		}
		if c := dataWords[name]; c != "" {
			return c
		}
		return protocol.CategoryNetwork // a connection that failed without a status
	}
	return ""
}

// statusText finds an HTTP status where it is named as one.
var statusText = regexp.MustCompile(`(?i)\b(?:status|api error:?|http)[ :]+([45][0-9][0-9])\b`)

// textCategory is what a text says; internal where it says nothing.
func textCategory(message string) protocol.ErrorCategory {
	if m := statusText.FindStringSubmatch(message); m != nil {
		status, _ := strconv.ParseInt(m[1], 10, 64)
		return statusCategory(status)
	}
	return protocol.CategoryInternal
}
