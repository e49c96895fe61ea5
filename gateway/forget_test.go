package gateway

import (
	"fmt"
	"os"
	"testing"

	"agent-server/harness/acp"
	"agent-server/protocol"
	"agent-server/session"
)

// TestRefusedTurnsCostNothing: a session whose turns were all refused leaves
// neither a session nor a cursor behind, under however many ids.
func TestRefusedTurnsCostNothing(t *testing.T) {
	t.Parallel()
	g, err := New(Options{Harnesses: []Registration{{Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo}), Path: os.Args[0]}}})
	if err != nil {
		t.Fatal(err)
	}
	sub := g.Connect(ConnectOptions{})
	defer sub.Close()
	c, _ := asking(t, g)
	for i := range 20 {
		s, err := g.obtain(fmt.Sprint("session-", i))
		if err != nil {
			t.Fatal(err)
		}
		refused := session.StartTurn{Token: g.tokens.issue(c, s.id), TurnID: "t", Config: protocol.RunConfig{Harness: protocol.HarnessDemo}, Faults: []protocol.Fault{{Path: "config.cwd", Message: "no"}}}
		if d, moved := s.start(&g.o.Harnesses[0], refused); d != taken || moved {
			t.Fatalf("start: %v %v", d, moved)
		}
		// Who still holds the object is told to obtain another.
		if _, moved := s.start(&g.o.Harnesses[0], refused); !moved {
			t.Fatal("a forgotten session took a turn")
		}
	}
	if len(g.sessions) != 0 || len(sub.byID) != 0 {
		t.Errorf("%d sessions and %d cursors are left", len(g.sessions), len(sub.byID))
	}
	if err := g.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
