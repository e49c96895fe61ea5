package acp

import (
	"strings"
	"testing"

	"agent-server/harness"
)

// TestLeave: an open session is closed before its process is stopped, where the agent
// takes that; one that is not open yet is not, and nothing comes of the answer.
func TestLeave(t *testing.T) {
	t.Parallel()
	const closes = `"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}}}`
	for name, c := range map[string]struct {
		initialize string
		early      bool
		want       string
	}{
		"it takes it":         {closes, false, `"method":"session/close","params":{"sessionId":"s-1"}`},
		"it does not":         {`"result":{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":null}}}`, false, ""},
		"no session is there": {closes, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, Agent{ID: "agent"}, harness.Launch{Config: config()}, map[string]string{"initialize": c.initialize})
			if !c.early {
				f.begin(config())
			}
			f.forget()
			farewell := string(f.tr.(harness.Leaver).Leave())
			if c.want == "" && farewell != "" || !strings.Contains(farewell, c.want) || strings.Count(farewell, "\n") != min(len(c.want), 1) {
				t.Fatalf("the farewell is %q, want %q", farewell, c.want)
			}
			if c.want != "" {
				f.line(`{"jsonrpc":"2.0","id":` + strings.SplitN(strings.SplitN(farewell, `"id":`, 2)[1], ",", 2)[0] + `,"result":{}}`)
				if len(f.updates) > 0 || len(f.notes) > 0 {
					t.Errorf("the answer comes to %v, %v", f.updates, f.notes)
				}
			}
		})
	}
}
