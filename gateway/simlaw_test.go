package gateway

import (
	"context"
	"testing"
	"testing/synctest"

	"agent-server/protocol"
)

// begin starts a turn beside the engine, which waits where another runs.
func (c *simClient) begin(turn, script, cwd string) {
	p := protocol.TurnStartParams{SessionID: &c.session, TurnID: &turn, IfBusy: protocol.BusyQueue, Input: protocol.TextInput(script),
		Config: protocol.RunConfig{Harness: protocol.HarnessClaudeCode, Cwd: cwd}}
	c.call("turn "+turn, func(ctx context.Context) error {
		t, err := c.c.StartTurn(ctx, p)
		if err == nil {
			t.Close()
		}
		return err
	})
}

// TestLaw202_foldHoldsWhatIsLetGo: a turn that fills its log's whole budget, behind
// another one or before it, with no moment in which none runs.
func TestLaw202_foldHoldsWhatIsLetGo(t *testing.T) {
	t.Parallel()
	for name, scripts := range map[string][]string{
		"from below a quarter": {"done", "open;flood 60;close;done"},
		"and the next at once": {"open;flood 60;close;done", "done"},
		"many, one after the other": {"open;flood 9;close;done", "open;flood 9;close;done", "open;flood 9;close;done", "open;flood 9;close;done",
			"open;flood 9;close;done", "open;flood 9;close;done", "open;flood 9;close;done", "open;flood 9;close;done", "open;flood 9;close;done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newSimWorld(simPlan{seed: 1}, t.TempDir) // of the kind whose log is pruned
				c := w.clients[0]
				for i, script := range scripts {
					c.begin(string(rune('a'+i)), script, "/")
				}
				if w.heal(); !w.failed() {
					w.judge()
				}
				if first, _, ok := w.log.Range(c.session); !ok || first == 1 {
					t.Errorf("the log holds everything, or nothing: %d, %v", first, ok)
				}
				if w.finish(); w.broken != nil {
					t.Error(w.broken)
				}
			})
		})
	}
}
