package gateway_test

import (
	"testing"

	"agent-server/gateway"
)

// TestLoggedWithItsTurn: a line of the log says which session it is about and, where
// it belongs to one, which turn; one between two turns names none.
func TestLoggedWithItsTurn(t *testing.T) {
	t.Parallel()
	g, logs := watched(t)
	p := connect(t, g, gateway.ConnectOptions{})
	p.run(turn("s", "a", "say hi", puppetID))
	p.run(turn("s", "b", "exit 3", puppetID))
	p.run(turn("s", "c", "say hi", puppetID))
	p.call("session/close", map[string]any{"sessionId": "s"})
	waitUntil(t, "both processes have ended", func() bool { return logs.FilterMessage("harness ended").Len() == 2 })
	for message, turns := range map[string][]any{
		"harness started":        {"a", "c"},
		"a remark of the puppet": {"a", "b", "c"},
		"harness ended":          {"b", nil},
	} {
		lines := logs.FilterMessage(message).All()
		if len(lines) != len(turns) {
			t.Errorf("%s: %d lines, want %d", message, len(lines), len(turns))
			continue
		}
		for i, l := range lines {
			if f := l.ContextMap(); f["session"] != "s" || f["turn"] != turns[i] {
				t.Errorf("%s: %v, want turn %v", message, f, turns[i])
			}
		}
	}
}
