package codexappserver

import (
	"fmt"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// usageOf is a tokenUsage of sums and of the last call.
func usageOf(input, cached, output, lastInput, lastOutput int) string {
	counts := func(i, c, o int) string {
		return fmt.Sprintf(`{"totalTokens":%d,"inputTokens":%d,"cachedInputTokens":%d,"cacheWriteInputTokens":0,"outputTokens":%d,"reasoningOutputTokens":1}`, i+o, i, c, o)
	}
	return `"tokenUsage":{"total":` + counts(input, cached, output) + `,"last":` + counts(lastInput, 0, lastOutput) + `,"modelContextWindow":1000}`
}

// tokens are those of the turn that ends.
func tokens(f *fake) *protocol.TokenUsage { return last[harness.Finished](f).Tokens }

func wantTokens(t *testing.T, got *protocol.TokenUsage, input, read, output float64) {
	t.Helper()
	want := &protocol.TokenUsage{Input: input, Output: output, Cache: &protocol.CacheUsage{Read: read}}
	if got != nil {
		want.Reasoning = got.Reasoning
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A turn's tokens are the difference of the thread's, cached input apart.
func TestLaw175_turnsSumUpToTheThread(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tell("thread/tokenUsage/updated", usageOf(100, 40, 10, 100, 10))
	f.tell("thread/tokenUsage/updated", usageOf(300, 140, 30, 200, 20))
	if u := last[harness.Usage](f); u.Used != 220 || *u.Size != 1000 {
		t.Errorf("gauge %+v", u)
	}
	f.ends("completed")
	wantTokens(t, tokens(f), 160, 140, 30)
	f.answers["turn/start"] = `"result":{"turn":{"id":"turn-2"}}`
	f.begin()
	f.tellOf(thread, "turn-2", "thread/tokenUsage/updated", usageOf(350, 150, 40, 50, 10))
	f.tellOf(thread, "turn-2", "turn/completed", `"turn":{"id":"turn-2","status":"completed"}`)
	wantTokens(t, tokens(f), 40, 10, 10)
}

// An old thread says what it has cost before; where it does not, the last call is
// what the turn began with.
func TestTokensOfAResumedThread(t *testing.T) {
	t.Parallel()
	for _, replayed := range []bool{true, false} {
		f := newFake(t, harness.Launch{Config: config(), Resume: thread}, nil)
		f.begin()
		if replayed {
			f.tellOf(thread, "turn-0", "thread/tokenUsage/updated", usageOf(100, 40, 10, 100, 10))
		}
		f.tell("thread/tokenUsage/updated", usageOf(150, 40, 20, 50, 10))
		f.ends("completed")
		wantTokens(t, tokens(f), 50, 0, 10)
	}
}

// What sub-agents cost is of the session's cost.
func TestTokensOfSubAgents(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.completed(`"type":"subAgentActivity","id":"a","kind":"started","agentThreadId":"sub"`)
	f.tell("thread/tokenUsage/updated", usageOf(100, 0, 10, 100, 10))
	f.tellOf("sub", "s-1", "thread/tokenUsage/updated", usageOf(50, 0, 5, 50, 5))
	if u := last[harness.Usage](f); u.Used != 110 {
		t.Errorf("the gauge is the sub-agent's: %+v", u)
	}
	f.ends("completed")
	wantTokens(t, tokens(f), 150, 0, 15)
}

func TestUnknownTokens(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.ends("completed")
	if got := tokens(f); got != nil {
		t.Errorf("%+v", got)
	}
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	f := running(t)
	f.tell("thread/tokenUsage/updated", usageOf(900, 0, 10, 900, 10))
	f.started(`"type":"contextCompaction","id":"k"`)
	f.tell("thread/tokenUsage/updated", usageOf(900, 0, 10, 70, 0))
	f.completed(`"type":"contextCompaction","id":"k"`)
	var got []harness.Update
	for _, u := range f.updates {
		if c, ok := u.(harness.Compaction); ok {
			got = append(got, c)
		}
	}
	want := []harness.Update{
		harness.Compaction{Key: "k", Status: "in_progress", Trigger: "auto", PreTokens: new(protocol.Number(910))},
		harness.Compaction{Key: "k", Status: "completed", PostTokens: new(protocol.Number(70))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
