package gateway_test

import (
	"testing"

	"agent-server/gateway"
	"agent-server/protocol"
)

// TestStdinOnce: a harness that reads its prompt to the end of its input finds that
// end, and its prompt before it. Another one would wait for ever.
func TestStdinOnce(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t, pup(func(p *puppet) { p.once = true })), gateway.ConnectOptions{})
	end := p.run(turn("s", "a", "deaf", puppetID)) // until its input ends
	if end.Error == nil || end.Error.Category != protocol.CategoryProcessExit {
		t.Errorf("ended %s %+v", end.StopReason, end.Error)
	}
	if got := p.text("s", "a"); got != "deaf" {
		t.Errorf("it said %q", got)
	}
}
