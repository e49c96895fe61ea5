package gateway_test

import (
	"os"
	"strings"
	"testing"

	"agent-server/gateway"
	"agent-server/protocol"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestLaw126_trace: the trace context of a turn/start stands in the turn's first and
// last event, and nothing else of its _meta goes anywhere; it is no part of what
// makes the turn this turn.
func TestLaw126_trace(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	trace := `"traceparent":"` + parent + `"`
	for id, tc := range map[string]struct {
		meta any
		want string
	}{
		"none":      {nil, ""},
		"empty":     {map[string]any{}, ""},
		"parent":    {map[string]any{"traceparent": parent, "canary": 1}, "{" + trace + "}"},
		"all":       {map[string]any{"baggage": "k=v", "tracestate": "a=b", "traceparent": parent}, "{" + trace + `,"tracestate":"a=b","baggage":"k=v"}`},
		"orphan":    {map[string]any{"tracestate": "a=b", "baggage": "canary"}, ""},
		"malformed": {map[string]any{"traceparent": strings.ToUpper(parent), "baggage": "canary"}, ""},
		"a number":  {map[string]any{"traceparent": 7}, ""},
		"another":   {map[string]any{"TraceParent": parent}, ""},
		"long":      {map[string]any{"traceparent": parent, "tracestate": strings.Repeat("a", 513), "baggage": strings.Repeat("b", 8192)}, "{" + trace + `,"baggage":"` + strings.Repeat("b", 8192) + `"}`},
		"no object": {"canary", ""},
	} {
		params := map[string]any{"sessionId": "s", "turnId": id, "input": "say hi", "config": map[string]any{"harness": puppetID, "cwd": os.TempDir()}}
		if tc.meta != nil {
			params["_meta"] = tc.meta
		}
		if a := p.call("turn/start", params); a.Error != nil {
			t.Fatalf("%s: %s", id, a.Raw)
		}
		end := p.turnEnded("s", id)
		started, _ := event(p, "s", func(e *protocol.TurnStarted) bool { return e.TurnID == id })
		if string(started.Meta) != tc.want || string(end.Meta) != tc.want {
			t.Errorf("%s: started with %.200s, ended with %.200s, want %.200s", id, started.Meta, end.Meta, tc.want)
		}
		params["_meta"] = map[string]any{"traceparent": strings.Replace(parent, "0af7", "1bf7", 1)}
		if got := fault(p.call("turn/start", params)); !strings.Contains(got, `"deduplicated":true`) {
			t.Errorf("%s: a retry in another trace: %s", id, got)
		}
	}
	for _, s := range p.all() {
		if s.Method == "event" && strings.Contains(s.Raw, "canary") {
			t.Errorf("a client's own _meta is shown: %s", s.Raw)
		}
	}
}

// TestTraceOfAQueuedTurn goes with it while it waits.
func TestTraceOfAQueuedTurn(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	p.begin(turn("s", "a", "say hi;wait", puppetID))
	event(p, "s", func(e *protocol.MessagePart) bool { return e.OutputIndex > 0 })
	p.call("turn/start", map[string]any{"sessionId": "s", "turnId": "b", "input": "say on", "ifBusy": "queue", "_meta": map[string]any{"traceparent": parent},
		"config": map[string]any{"harness": puppetID, "cwd": os.TempDir()}})
	p.call("turn/cancel", map[string]any{"sessionId": "s", "turnId": "a"})
	if end := p.turnEnded("s", "b"); string(end.Meta) != `{"traceparent":"`+parent+`"}` {
		t.Errorf("ended with %s", end.Meta)
	}
}
