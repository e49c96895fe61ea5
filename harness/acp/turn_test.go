package acp

import (
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

func TestEnds(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, answer, want string }{
		{"end", `"result":{"stopReason":"end_turn"}`, "finished end_turn raw=end_turn"},
		{"limit", `"result":{"stopReason":"max_tokens"}`, "finished max_tokens raw=max_tokens"},
		{"requests", `"result":{"stopReason":"max_turn_requests"}`, "finished max_turn_requests raw=max_turn_requests"},
		{"refusal", `"result":{"stopReason":"refusal"}`, "finished refusal raw=refusal"},
		{"cancelled by the agent itself", `"result":{"stopReason":"cancelled"}`, "finished cancelled raw=cancelled"},
		{"a word of the future", `"result":{"stopReason":"bored"}`,
			"finished error raw=bored error=internal: the agent ended the turn without a known reason"},
		{"no word", `"result":{}`, "finished error raw= error=internal: the agent ended the turn without a known reason"},
		{"no result", `"result":null`, "finished error raw= error=internal: the agent ended the turn without a known reason"},
		{"withdrawn", `"error":{"code":-32800,"message":"cancelled"}`, "finished cancelled raw=-32800"},
		{"fault", `"error":{"code":-32603,"message":"Internal error","data":{"details":"boom"}}`,
			"finished error raw=-32603 error=internal: Internal error: boom"},
		{"login", `"error":{"code":-32000,"message":"Authentication required"}`,
			"finished error raw=-32000 error=auth: agent wants a login: run `agent` in a terminal and log in there. It said: Authentication required"},
		{"status as code", `"error":{"code":429,"message":"slow down"}`, "finished error raw=429 error=rate_limit: slow down"},
		{"tokens, disjoint", `"result":{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":25,"totalTokens":150,"thoughtTokens":5,"cachedReadTokens":20}}`,
			`finished end_turn raw=end_turn tokens={"input":100,"output":30,"reasoning":5,"cache":{"read":20,"write":0}}`},
		{"tokens, cached within input", `"result":{"stopReason":"end_turn","usage":{"inputTokens":120,"outputTokens":30,"totalTokens":150,"thoughtTokens":5,"cachedReadTokens":15,"cachedWriteTokens":5}}`,
			`finished end_turn raw=end_turn tokens={"input":100,"output":30,"reasoning":5,"cache":{"read":15,"write":5}}`},
		{"tokens, thought within output", `"result":{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":30,"totalTokens":150,"thoughtTokens":5,"cachedReadTokens":20}}`,
			`finished end_turn raw=end_turn tokens={"input":100,"output":30,"reasoning":5,"cache":{"read":20,"write":0}}`},
		{"tokens, cached alone within input", `"result":{"stopReason":"end_turn","usage":{"inputTokens":120,"outputTokens":25,"totalTokens":150,"thoughtTokens":5,"cachedReadTokens":20}}`,
			`finished end_turn raw=end_turn tokens={"input":100,"output":30,"reasoning":5,"cache":{"read":20,"write":0}}`},
		{"tokens without a total", `"result":{"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":2}}`,
			`finished end_turn raw=end_turn tokens={"input":7,"output":2}`},
		{"tokens that were not counted", `"result":{"stopReason":"end_turn","usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}`, "finished end_turn raw=end_turn"},
		{"tokens in _meta", `"result":{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":240,"output_tokens":60}}}}`,
			`finished end_turn raw=end_turn tokens={"input":240,"output":60}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			f.answer("session/prompt", tt.answer)
			expect(t, "told", story(f.updates), tt.want)
			f.forget()
			f.line(`{"jsonrpc":"2.0","id":99,"result":{"stopReason":"end_turn"}}`)
			expect(t, "told of an answer to nothing", story(f.updates))
		})
	}
}

func TestEndAfterACancel(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, answer, want string }{
		{"cancelled", `"result":{"stopReason":"cancelled"}`, "finished cancelled raw=cancelled"},
		{"as an error", `"error":{"code":-32603,"message":"aborted"}`, "finished cancelled raw=-32603"},
		{"as an end without figures", `"result":{"stopReason":"end_turn","usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}`, "finished cancelled raw=end_turn"},
		{"ended by itself before", `"result":{"stopReason":"end_turn"}`, "finished end_turn raw=end_turn"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := running(t, nil)
			f.step(harness.Cancel{})
			f.answer("session/prompt", tt.answer)
			expect(t, "told", story(f.updates), tt.want)
		})
	}
}

func TestCancelAnswersWhatIsOpen(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.line(asks("0", lsCall, offered), asks("1", `{"toolCallId":"d"}`, offered))
	f.forget()
	f.step(harness.Cancel{})
	expect(t, "written", f.sent(), `session/cancel {"sessionId":"s-1"}`, refused("0"), refused("1"))
	expect(t, "told", story(f.updates))
	f.forget()
	f.answer("session/prompt", `"result":{"stopReason":"cancelled"}`)
	expect(t, "written at the end", f.sent())
}

func TestCancelOfNothing(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	f.forget()
	f.step(harness.Cancel{})
	expect(t, "written", f.sent())
}

func TestEndAnswersWhatIsOpen(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.line(asks("0", lsCall, offered))
	f.forget()
	f.answer("session/prompt", `"result":{"stopReason":"cancelled"}`)
	expect(t, "written", f.sent(), refused("0"))
}

func TestGauge(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.update(`{"sessionUpdate":"usage_update","used":141,"size":1000,"cost":{"amount":0.25,"currency":"USD"}}`,
		`{"sessionUpdate":"usage_update","used":5}`,
		`{"sessionUpdate":"usage_update","used":6,"cost":{"amount":1,"currency":"EUR"}}`,
		`{"sessionUpdate":"usage_update","size":6}`)
	want := []harness.Update{
		harness.Usage{Used: 141, Size: new(protocol.Number(1000)), Cost: new(protocol.Number(0.25))},
		harness.Usage{Used: 5}, harness.Usage{Used: 6},
	}
	if diff := cmp.Diff(want, f.updates); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCostIsOfTheTurn(t *testing.T) {
	t.Parallel()
	spend := func(f *fake, amount string) {
		if amount != "" {
			f.update(`{"sessionUpdate":"usage_update","used":1,"cost":{"amount":` + amount + `,"currency":"USD"}}`)
		}
		f.answer("session/prompt", `"result":{"stopReason":"end_turn"}`)
	}
	tests := []struct {
		name   string
		resume string
		sums   []string
		want   []string
	}{
		{"fresh", "", []string{"0.25", "0.75", "", "1"}, []string{" cost=0.25", " cost=0.5", "", " cost=0.25"}},
		{"resumed: the sum before is not known", "s-1", []string{"0.25", "0.75"}, []string{"", " cost=0.5"}},
		{"a sum that shrank", "", []string{"0.5", "0.25", "0.5"}, []string{" cost=0.5", "", " cost=0.25"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config(), Resume: tt.resume}, map[string]string{
				"initialize":   `"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`,
				"session/load": `"result":{}`,
			})
			for i, sum := range tt.sums {
				f.begin(config())
				spend(f, sum)
				expect(t, "end", story(f.updates[len(f.updates)-1:]), "finished end_turn raw=end_turn"+tt.want[i])
			}
		})
	}
}

func TestNoticeAndCompaction(t *testing.T) {
	t.Parallel()
	f := running(t, nil)
	f.update(
		`{"sessionUpdate":"notice","severity":"warning","title":"Slow","description":"retrying"}`,
		`{"sessionUpdate":"notice","severity":"error","description":"lost"}`,
		`{"sessionUpdate":"notice","severity":"info","title":"Hello"}`,
		`{"sessionUpdate":"compaction_update","compactionId":"k","status":"in_progress"}`,
		`{"sessionUpdate":"compaction_summary_chunk","compactionId":"k","content":{"type":"text","text":"All "}}`,
		`{"sessionUpdate":"compaction_summary_chunk","compactionId":"k","content":{"type":"text","text":"of it."}}`,
		`{"sessionUpdate":"compaction_update","compactionId":"k","status":"completed"}`,
		`{"sessionUpdate":"compaction_update","compactionId":"l","status":"failed","summary":"own"}`,
	)
	want := []harness.Update{
		harness.Notice{Category: protocol.CategoryInternal, Message: "Slow: retrying"},
		harness.Notice{Category: protocol.CategoryInternal, Message: "lost"},
		harness.Notice{Category: "_info", Message: "Hello"},
		harness.Compaction{Key: "k", Status: "in_progress"},
		harness.Compaction{Key: "k", Status: "completed", Summary: "All of it."},
		harness.Compaction{Key: "l", Status: "failed", Summary: "own"},
	}
	if diff := cmp.Diff(want, f.updates); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
