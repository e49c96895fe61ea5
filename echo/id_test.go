package echo_test

import (
	"testing"

	"agent-server/echo"

	"pgregory.net/rapid"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	if got, want := echo.MessageID("t1"), "echo-t1"; got != want {
		t.Errorf("MessageID = %q, want %q", got, want)
	}
	if got, want := echo.PartID("t1", 12), "echo-t1-12"; got != want {
		t.Errorf("PartID = %q, want %q", got, want)
	}
}

func TestTurnOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		messageID, turnID string
		ok                bool
	}{
		{"echo-t1", "t1", true},
		{"echo-echo-t1", "echo-t1", true},
		{"echo-", "", false},
		{"echo", "", false},
		{"", "", false},
		{"Echo-t1", "", false},
		{"01a22dc7-a5a1-7930-968e-0841f55e3f25", "", false},
	}
	for _, tt := range tests {
		if turnID, ok := echo.TurnOf(tt.messageID); turnID != tt.turnID || ok != tt.ok {
			t.Errorf("TurnOf(%q) = %q, %v; want %q, %v", tt.messageID, turnID, ok, tt.turnID, tt.ok)
		}
	}
}

// Every turn is found again from the id of its echo, and two turns never share one.
func TestTurnOfIsTheInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		turn := rapid.StringN(1, -1, -1).Draw(t, "turn")
		if got, ok := echo.TurnOf(echo.MessageID(turn)); !ok || got != turn {
			t.Fatalf("TurnOf(MessageID(%q)) = %q, %v", turn, got, ok)
		}
	})
}
