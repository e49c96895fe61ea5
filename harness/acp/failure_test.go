package acp

import (
	"testing"

	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// TestFailures takes what agents answered, as it was recorded, and their kin.
func TestFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		code     int64
		message  string
		data     string
		category protocol.ErrorCategory
		want     string
	}{
		{"parameters", -32602, "Invalid params", `{"details":"no"}`, protocol.CategoryInvalidRequest, "Invalid params: no"},
		{"not found", -32002, "Resource not found", `{"sessionId":"x"}`, protocol.CategoryInvalidRequest, "Resource not found"},
		{"withdrawn", -32800, "cancelled", "", protocol.CategoryAbort, "cancelled"},
		{"http 400", 400, "bad", "", protocol.CategoryInvalidRequest, "bad"},
		{"http 401", 401, "who", "", protocol.CategoryAuth, "who"},
		{"http 402", 402, "pay", "", protocol.CategoryUsageLimit, "pay"},
		{"http 403", 403, "no", "", protocol.CategoryAuth, "no"},
		{"http 429", 429, "slow", "", protocol.CategoryRateLimit, "slow"},
		{"http 500", 500, "terminated", "", protocol.CategoryUpstream, "terminated"},
		{"a word of codex", -32603, "Internal error", `{"message":"busy","codex_error_info":"internal_server_error"}`, protocol.CategoryUpstream, "Internal error: busy"},
		{"a status of codex", -32603, "Internal error", `{"message":"m","codex_error_info":{"response_too_many_failed_attempts":{"http_status_code":429}}}`, protocol.CategoryRateLimit, "Internal error: m"},
		{"a lost connection of codex", -32603, "Internal error", `{"message":"m","codex_error_info":{"response_stream_disconnected":{"http_status_code":null}}}`, protocol.CategoryNetwork, "Internal error: m"},
		{"a full context of codex", -32603, "Internal error", `{"codex_error_info":"context_window_exceeded"}`, protocol.CategoryContextLimit, "Internal error"},
		{"no word of codex", -32603, "Internal error", `{"message":"unexpected status 401 Unauthorized: x","codex_error_info":"other"}`, protocol.CategoryAuth, "Internal error: unexpected status 401 Unauthorized: x"},
		{"a status in claude's text", -32603, "Internal error: API Error: 400 scripted", `{"errorKind":"unknown"}`, protocol.CategoryInvalidRequest, "Internal error: API Error: 400 scripted"},
		{"a word of claude", -32603, "x", `{"errorKind":"rate_limit"}`, protocol.CategoryRateLimit, "x"},
		{"a number that is no status", -32603, "line 429 is wrong", "", protocol.CategoryInternal, "line 429 is wrong"},
		{"data that is text", -32603, "x", `"y"`, protocol.CategoryInternal, "x: y"},
		{"data that says it again", -32603, "it broke", `{"message":"broke"}`, protocol.CategoryInternal, "it broke"},
		{"no words", -32603, "", `{"message":"why"}`, protocol.CategoryInternal, "why"},
		{"an answer of the model's in codex", -32603, "Internal error", `{"message":"{\"error\":{\"message\":\"scripted\",\"type\":\"invalid_request_error\"}}","codex_error_info":"other"}`, protocol.CategoryInvalidRequest, "Internal error: scripted"},
		{"an answer of the model's in gemini", 400, `{"error":{"code":400,"message":"scripted","status":"INVALID_ARGUMENT"}}`, "", protocol.CategoryInvalidRequest, "scripted"},
		{"a name of opencode's", -32603, "Internal error: scripted", `{"service":"session","errorName":"APIError"}`, protocol.CategoryUpstream, "Internal error: scripted"},
		{"nothing", 0, "", "", protocol.CategoryInternal, "the agent gave no reason"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := failed(&rpcline.Error{Code: tt.code, Message: tt.message, Data: jsontext.Value(tt.data)}, "")
			if want := (protocol.TurnError{Category: tt.category, Message: tt.want}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
