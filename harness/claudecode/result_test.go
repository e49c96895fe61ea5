package claudecode

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// ends is a result of our prompt.
func ends(members string) string {
	return `{"type":"result","user_message_uuids":["id-1"],` + members + `}`
}

// apiError is the line that comes before a result that failed at the API.
func apiError(members string) string {
	return `{"type":"assistant","message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]},"is_api_error_message":true,` + members + `}`
}

func TestResults(t *testing.T) {
	t.Parallel()
	failed := func(c protocol.ErrorCategory, why string) *protocol.TurnError {
		return &protocol.TurnError{Category: c, Message: why}
	}
	const api = `"subtype":"success","is_error":true,"terminal_reason":"api_error","stop_reason":"stop_sequence","result":"API Error"`
	for _, tc := range []struct {
		name  string
		lines []string
		want  harness.Finished
	}{
		{"normal", []string{ends(`"subtype":"success","is_error":false,"terminal_reason":"completed","stop_reason":"end_turn","result":"x"`)},
			harness.Finished{Reason: protocol.StopEndTurn, Raw: "end_turn"}},
		{"local command", []string{ends(`"subtype":"success","is_error":false,"stop_reason":null,"num_turns":0`)},
			harness.Finished{Reason: protocol.StopEndTurn, Raw: "success"}},
		{"interrupted text", []string{ends(`"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","errors":["[ede]"]`)},
			harness.Finished{Reason: protocol.StopCancelled, Raw: "aborted_streaming"}},
		{"interrupted tool", []string{ends(`"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","stop_reason":"tool_use"`)},
			harness.Finished{Reason: protocol.StopCancelled, Raw: "aborted_tools"}},
		{"superseded", []string{ends(`"subtype":"success","is_error":false,"terminal_reason":"aborted_streaming"`)},
			harness.Finished{Reason: protocol.StopCancelled, Raw: "aborted_streaming"}},
		{"API failure says success", []string{apiError(`"error":"server_error","api_error_status":529`), ends(api + `,"api_error_status":529`)},
			harness.Finished{Reason: protocol.StopError, Raw: "api_error", Error: failed(protocol.CategoryUpstream, "API Error")}},
		{"max turns", []string{ends(`"subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","stop_reason":"tool_use","errors":["Reached maximum number of turns (2)"]`)},
			harness.Finished{Reason: protocol.StopMaxTurnRequests, Raw: "max_turns"}},
		{"max turns of an older CLI", []string{ends(`"subtype":"error_max_turns","is_error":true`)},
			harness.Finished{Reason: protocol.StopMaxTurnRequests, Raw: "error_max_turns"}},
		{"budget", []string{ends(`"subtype":"error_max_budget_usd","is_error":true,"terminal_reason":"budget_exhausted","errors":["Reached maximum budget ($0.01)"]`)},
			harness.Finished{Reason: protocol.StopError, Raw: "budget_exhausted", Error: failed(protocol.CategoryUsageLimit, "Reached maximum budget ($0.01)")}},
		{"context full", []string{ends(`"subtype":"success","is_error":true,"terminal_reason":"blocking_limit","result":"full"`)},
			harness.Finished{Reason: protocol.StopError, Raw: "blocking_limit", Error: failed(protocol.CategoryContextLimit, "full")}},
		{"max tokens", []string{apiError(`"error":"max_output_tokens"`), ends(api)},
			harness.Finished{Reason: protocol.StopMaxTokens, Raw: "api_error"}},
		{"max tokens without an error", []string{ends(`"subtype":"success","is_error":false,"terminal_reason":"completed","stop_reason":"max_tokens"`)},
			harness.Finished{Reason: protocol.StopMaxTokens, Raw: "max_tokens"}},
		{"refusal", []string{apiError(`"error":"unknown"`), ends(`"subtype":"success","is_error":true,"terminal_reason":"api_error","stop_reason":"refusal"`)},
			harness.Finished{Reason: protocol.StopRefusal, Raw: "api_error"}},
		{"unexplained", []string{ends(`"subtype":"error_during_execution","is_error":true`)},
			harness.Finished{Reason: protocol.StopError, Raw: "error_during_execution", Error: failed(protocol.CategoryInternal, "Claude Code ended the turn with an error")}},
		{"a reason of tomorrow", []string{ends(`"subtype":"success","is_error":true,"terminal_reason":"out_of_cheese","result":"no cheese"`)},
			harness.Finished{Reason: protocol.StopError, Raw: "out_of_cheese", Error: failed(protocol.CategoryInternal, "no cheese")}},
		{"several errors", []string{ends(`"subtype":"error_during_execution","is_error":true,"errors":["a",7,"b"],"result":"c"`)},
			harness.Finished{Reason: protocol.StopError, Raw: "error_during_execution", Error: failed(protocol.CategoryInternal, "a; b")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			wantUpdates(t, feed(running(t), tc.lines...), tc.want)
		})
	}
}

// Without a reason, an older CLI's interrupt looks like an error: that we asked
// for it decides, and only then.
func TestInterruptOfAnOlderCLI(t *testing.T) {
	t.Parallel()
	tr := running(t)
	tr.Step(harness.Cancel{})
	wantUpdates(t, feed(tr, ends(`"subtype":"error_during_execution","is_error":true`)),
		harness.Finished{Reason: protocol.StopCancelled, Raw: "error_during_execution"})
}

// A turn that ended by itself before the interrupt landed keeps its own end.
func TestCancelThatCameTooLate(t *testing.T) {
	t.Parallel()
	tr := running(t)
	tr.Step(harness.Cancel{})
	wantUpdates(t, feed(tr, ends(`"subtype":"success","is_error":false,"terminal_reason":"completed","stop_reason":"end_turn"`)),
		harness.Finished{Reason: protocol.StopEndTurn, Raw: "end_turn"})
}

func TestFailureCategories(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		f    failure
		want protocol.ErrorCategory
	}{
		{failure{word: "authentication_failed", status: 401, kind: "authentication_error"}, protocol.CategoryAuth},
		{failure{word: "authentication_failed"}, protocol.CategoryAuth}, // not logged in
		{failure{word: "rate_limit", status: 429, kind: "rate_limit_error"}, protocol.CategoryRateLimit},
		{failure{word: "billing_error"}, protocol.CategoryUsageLimit},
		{failure{word: "model_not_found", status: 404}, protocol.CategoryInvalidRequest},
		{failure{word: "unknown", status: 400, kind: "invalid_request_error"}, protocol.CategoryInvalidRequest},
		{failure{word: "server_error", status: 500, kind: "api_error"}, protocol.CategoryUpstream},
		{failure{word: "server_error", status: 529, kind: "overloaded_error"}, protocol.CategoryUpstream},
		{failure{word: "overloaded", status: 529}, protocol.CategoryUpstream},
		{failure{word: "unknown", kind: "overloaded_error"}, protocol.CategoryUpstream}, // an error event in a stream
		{failure{word: "server_error", detail: "connection_failed"}, protocol.CategoryNetwork},
		{failure{word: "overloaded", detail: "connection_failed"}, protocol.CategoryNetwork},
		{failure{word: "unknown"}, protocol.CategoryNetwork}, // a stream that was cut
		{failure{status: 403}, protocol.CategoryAuth},
		{failure{status: 418}, protocol.CategoryInvalidRequest},
		{failure{status: 429}, protocol.CategoryRateLimit},
		{failure{status: 503}, protocol.CategoryUpstream},
	} {
		if got := tc.f.category(); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.f, got, tc.want)
		}
	}
}

// The result has the status and the type as well: the line before may be missing.
func TestCategoryFromTheResultAlone(t *testing.T) {
	t.Parallel()
	out := feed(running(t), ends(`"is_error":true,"terminal_reason":"api_error","api_error_status":429,"api_error_type":"rate_limit_error"`))
	if f := out.Updates[0].(harness.Finished); f.Error.Category != protocol.CategoryRateLimit {
		t.Errorf("%v", f.Error)
	}
}

// An error of the turn before is not this turn's.
func TestFailureIsForgotten(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, apiError(`"error":"max_output_tokens"`), ends(`"is_error":true,"terminal_reason":"api_error"`))
	beginHello(tr, protocol.RunConfig{})
	out := feed(tr, `{"type":"result","user_message_uuids":["id-3"],"is_error":true,"terminal_reason":"api_error"}`)
	if f := out.Updates[0].(harness.Finished); f.Reason != protocol.StopError {
		t.Errorf("%v", f)
	}
}

// A sub-agent's failure is its tool's, not the turn's.
func TestFailureOfASubagent(t *testing.T) {
	t.Parallel()
	out := feed(running(t),
		`{"type":"assistant","parent_tool_use_id":"t","message":{"model":"<synthetic>","content":[]},"is_api_error_message":true,"error":"max_output_tokens"}`,
		ends(`"is_error":true,"terminal_reason":"api_error"`))
	if f := out.Updates[0].(harness.Finished); f.Reason != protocol.StopError {
		t.Errorf("%v", f)
	}
}

func TestRetriesAreTold(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]harness.Notice{
		`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":529,"error":"overloaded"}`: {
			Category: protocol.CategoryUpstream, Message: "the model's server answered 529 (overloaded); retry 1 of 10"},
		`{"type":"system","subtype":"api_retry","attempt":2,"max_retries":2,"error_status":null,"error":"unknown"}`: {
			Category: protocol.CategoryNetwork, Message: "no answer from the model; retry 2 of 2"},
	} {
		wantUpdates(t, feed(running(t), line), want)
	}
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	line := func(info string) string { return `{"type":"rate_limit_event","rate_limit_info":{` + info + `}}` }
	wantUpdates(t, feed(running(t), line(`"status":"rejected","rateLimitType":"five_hour","resetsAt":1796068766`)),
		harness.Notice{Category: protocol.CategoryRateLimit, Message: "usage limit reached (five_hour), resets at 2026-11-30T19:59:26Z"})
	for _, resets := range []string{`1e300`, `-5`, `"x"`, `253402300799`} {
		wantUpdates(t, feed(running(t), line(`"status":"rejected","resetsAt":`+resets)),
			harness.Notice{Category: protocol.CategoryRateLimit, Message: "usage limit reached"})
	}
	wantUpdates(t, feed(running(t), line(`"status":"allowed"`)))
}

// since is what two models were used for in one turn.
const since = `"model_usage_since_last_result":{
	"opus":{"inputTokens":100,"outputTokens":20,"cacheReadInputTokens":7,"cacheCreationInputTokens":5,"thinkingTokens":4,"costUSD":0.5,"cacheCreationEphemeral5mInputTokens":2,"cacheCreationEphemeral1hInputTokens":3},
	"haiku":{"inputTokens":1,"outputTokens":2,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":0.25}}`

func TestTokensAndCost(t *testing.T) {
	t.Parallel()
	// The main loop's usage is 0 where it was interrupted; what was spent is not.
	const whole = `"is_error":true,"terminal_reason":"aborted_streaming","total_cost_usd":7.5,"usage":{"input_tokens":0,"output_tokens":0},` + since
	got := feed(running(t), ends(whole)).Updates
	end := got[len(got)-1].(harness.Finished)
	wantTokens(t, end, &protocol.TokenUsage{
		Input: 101, Output: 22, Reasoning: new(4.0),
		Cache: &protocol.CacheUsage{Read: 7, Write: 5, WriteEphemeral5m: new(2.0), WriteEphemeral1h: new(3.0)},
	}, new(0.75))
}

func wantTokens(t *testing.T, end harness.Finished, tokens *protocol.TokenUsage, cost *protocol.Number) {
	t.Helper()
	if diff := cmp.Diff(tokens, end.Tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cost, end.Cost, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("cost (-want +got):\n%s", diff)
	}
}

// Where a CLI does not say what was spent since its last result, the growth of
// the session's cost is the turn's; after a resume its history is in it.
func TestCostOfAnOlderCLI(t *testing.T) {
	t.Parallel()
	spent := func(total string) string {
		return ends(`"subtype":"success","total_cost_usd":` + total + `,"usage":{"input_tokens":3,"output_tokens":2,"cache_read_input_tokens":1,"cache_creation_input_tokens":4,"cache_creation":{"ephemeral_5m_input_tokens":4},"output_tokens_details":{"thinking_tokens":1}}`)
	}
	tokens := &protocol.TokenUsage{Input: 3, Output: 2, Reasoning: new(1.0),
		Cache: &protocol.CacheUsage{Read: 1, Write: 4, WriteEphemeral5m: new(4.0), WriteEphemeral1h: new(0.0)}}
	for _, tc := range []struct {
		name   string
		resume string
		totals []string
		costs  []*float64
	}{
		{"fresh", "", []string{"0.5", "0.75", "0.75"}, []*float64{new(0.5), new(0.25), new(0.0)}},
		{"resumed", "old", []string{"4.5", "4.75"}, []*float64{nil, new(0.25)}},
		{"starts again", "", []string{"0.5", "0.25", "0.5"}, []*float64{new(0.5), nil, new(0.25)}},
		{"not said", "", []string{"null", "0.5"}, []*float64{nil, new(0.5)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tr := New(Options{}).New(harness.Launch{Resume: tc.resume}, func() string { return "id-1" }).(*translator)
			for i, total := range tc.totals {
				beginHello(tr, protocol.RunConfig{})
				succeed(tr, "id-1", `{}`)
				got := feed(tr, spent(total)).Updates
				wantTokens(t, got[len(got)-1].(harness.Finished), tokens, tc.costs[i])
			}
		})
	}
}

// /clear begins another account.
func TestCostAfterClear(t *testing.T) {
	t.Parallel()
	tr := running(t)
	feed(tr, ends(`"total_cost_usd":0.5`))
	beginHello(tr, protocol.RunConfig{})
	got := feed(tr, `{"type":"conversation_reset"}`, `{"type":"result","user_message_uuids":["id-3"],"total_cost_usd":0.125}`).Updates
	if end := got[len(got)-1].(harness.Finished); end.Cost == nil || *end.Cost != 0.125 {
		t.Errorf("cost %v", end.Cost)
	}
}

func TestGauge(t *testing.T) {
	t.Parallel()
	tr := running(t)
	delta := streamEvent(`{"type":"message_delta","usage":{"output_tokens":5}}`)
	wantUpdates(t, feed(tr, messageStart("m"), delta), opened("m"), harness.Usage{Used: 20})
	got := feed(tr, ends(`"total_cost_usd":0.5,"modelUsage":{"opus":{"contextWindow":200000},"haiku":{"contextWindow":1}}`)).Updates
	wantUpdates(t, harness.Output{Updates: got[:1]}, harness.Usage{Used: 20, Size: new(200000.0), Cost: new(0.5)})

	// The window is known from then on, until another model answers.
	beginHello(tr, protocol.RunConfig{})
	wantUpdates(t, feed(tr, messageStart("n"), delta), opened("n"), harness.Usage{Used: 20, Size: new(200000.0)})
	wantUpdates(t, feed(tr, streamEvent(`{"type":"message_start","message":{"id":"o","model":"sonnet","usage":{"input_tokens":1}}}`), delta),
		harness.MessageOpened{Message: "o", Model: "sonnet"}, harness.Usage{Used: 6})
}

// After a compaction or /clear nobody knows how full the window is, until the
// next request says so.
func TestGaugeIsForgotten(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{"type":"conversation_reset"}`, `{"type":"system","subtype":"compact_boundary"}`} {
		tr := running(t)
		feed(tr, messageStart("m"))
		for _, u := range feed(tr, line, ends(`"total_cost_usd":0.5`)).Updates {
			if g, ok := u.(harness.Usage); ok {
				t.Errorf("%s: gauge %v", line, g)
			}
		}
	}
}

// A member of an unexpected shape costs itself, not the line.
func TestResultOfOddShape(t *testing.T) {
	t.Parallel()
	out := feed(running(t), ends(`"subtype":7,"is_error":"no","terminal_reason":null,"stop_reason":{},"session_id":[],"total_cost_usd":"x","usage":[],"modelUsage":7,"model_usage_since_last_result":{"a":7},"errors":"e","origin":1,"api_error_status":"x"`))
	end, ok := out.Updates[len(out.Updates)-1].(harness.Finished)
	if !ok || end.Reason != protocol.StopEndTurn {
		t.Errorf("%v", out)
	}
}
