package acp

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
)

func TestDemoHello(t *testing.T) {
	t.Parallel()
	p := startDemo(t, harness.Launch{Config: config()})
	p.begin("hello", config())
	end := p.finished()
	if end.Reason != protocol.StopEndTurn || end.Error != nil || end.Tokens == nil {
		t.Errorf("ended as %+v", end)
	}
	if said := p.said(protocol.PartText); !strings.Contains(said, "flood N") {
		t.Errorf("said %q, want the demo's help", said)
	}
}
