package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"agent-server/gateway"
	"agent-server/harness"
	"agent-server/harness/acp"
	"agent-server/protocol"
)

// TestMetrics: who has the token reads what has happened; nobody else does.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	play(t, s.connect(), "s", "think")
	if code, _ := s.get("/metrics", ""); code != 401 {
		t.Errorf("without a token: %d", code)
	}
	code, text := s.get("/metrics", canary)
	for _, want := range []string{
		`agent_server_turns_started_total{harness="demo"} 1`,
		`agent_server_turns_ended_total{harness="demo",stop_reason="end_turn"} 1`,
		"agent_server_sessions_open 1", "agent_server_log_append_seconds_bucket",
	} {
		if code != 200 || !strings.Contains(text, want) {
			t.Errorf("%d: no %q in\n%s", code, want, text)
		}
	}
	s.ends(syscall.SIGTERM, 0)
}

// TestKnownAgents: each is registered by its name, and an operator's command goes
// before it, with the operator's arguments alone.
func TestKnownAgents(t *testing.T) {
	t.Parallel()
	s := setup{acpAgents: []string{"gemini=/opt/mine --experimental-acp", "own=x"}, logLevel: "warn"}
	o, err := s.options()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.New(o); err != nil {
		t.Fatal(err)
	}
	ids := map[protocol.HarnessID]gateway.Registration{}
	for _, r := range o.Harnesses {
		ids[r.Harness.Info().ID] = r
	}
	for _, known := range acp.Known() {
		if _, there := ids[known.ID]; !there {
			t.Errorf("%s is not registered", known.ID)
		}
	}
	own := ids["gemini"]
	command, err := own.Harness.Launch(harness.Launch{})
	if err != nil || own.Path != "/opt/mine" || !slices.Equal(slices.Concat(own.Args, command.Args), []string{"--experimental-acp"}) {
		t.Errorf("gemini is %+v, %+v: %v", own, command, err)
	}
	if o.DefaultACP != "gemini" {
		t.Errorf("plain acp is %s", o.DefaultACP)
	}
}
