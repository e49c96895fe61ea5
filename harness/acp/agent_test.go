package acp

import (
	"testing"
	"time"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

func TestInfo(t *testing.T) {
	t.Parallel()
	least := protocol.AgentCapabilities{
		MultiTurn: true, PermissionRequests: true, ModelSwitch: protocol.ModelSwitchUnsupported,
	}
	demo := least
	demo.SessionResume = true
	rich := protocol.AgentCapabilities{MultiTurn: true, Images: true, ModelSwitch: protocol.ModelSwitchInSession}
	tests := []struct {
		name  string
		agent Agent
		want  harness.Info
	}{
		{"demo", Agent{ID: protocol.HarnessDemo},
			harness.Info{ID: protocol.HarnessDemo, Capabilities: demo, PassEnv: []string{"AGENT_SERVER_DEMO_SEED"},
				Install: harness.Install{Login: harness.Login{Needless: true}}}},
		{"unknown", Agent{ID: "x"}, harness.Info{ID: "x", Capabilities: least}},
		{"configured", Agent{ID: "x", Executable: "x-cli", Capabilities: &rich, APIKeyEnv: "X_KEY", PassEnv: []string{"X_*"}},
			harness.Info{ID: "x", Executable: "x-cli", Capabilities: rich, APIKeyEnv: "X_KEY", PassEnv: []string{"X_*"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, New(tt.agent).Info()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewFillsTheTimeout(t *testing.T) {
	t.Parallel()
	for _, id := range []protocol.HarnessID{"x", protocol.HarnessDemo} {
		if d := New(Agent{ID: id}).(adapter).agent.HandshakeTimeout; d != time.Minute {
			t.Errorf("%s: %v, want a minute", id, d)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.AdditionalDirectories, cfg.MaxTurns, cfg.DisableTools = []string{"/a"}, new(int64(3)), new(true)
	cfg.SystemPromptAppend, cfg.ResumeSessionID, cfg.ResumeSessionAt = new("x"), new("id"), new("at")
	faults, notes := New(Agent{ID: "x"}).Check(cfg)
	why := "harness x cannot honour it"
	wantFaults := []protocol.Fault{
		{Path: "config.additionalDirectories", Message: why},
		{Path: "config.maxTurns", Message: why},
		{Path: "config.disableTools", Message: why},
	}
	if diff := cmp.Diff(wantFaults, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	wantNotes := []harness.Diagnostic{
		{Message: ignoredMember, Detail: "systemPromptAppend"}, {Message: ignoredMember, Detail: "resumeSessionAt"},
	}
	if diff := cmp.Diff(wantNotes, notes); diff != "" {
		t.Errorf("diagnostics (-want +got):\n%s", diff)
	}
}

func TestCheckOfWhatChangesNothing(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.DisableTools, cfg.AdditionalDirectories, cfg.ResumeSessionAt = new(false), []string{}, new("ignored alone")
	cfg.PermissionMode = protocol.ModePlan
	if faults, notes := New(Agent{ID: "x"}).Check(cfg); faults != nil || notes != nil {
		t.Errorf("%v, %v; want none", faults, notes)
	}
}

func TestLaunch(t *testing.T) {
	t.Parallel()
	h := New(Agent{ID: "x", Args: []string{"--acp"}})
	for range 2 {
		cmd, err := h.Launch(harness.Launch{Config: config()})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(harness.Command{Args: []string{"--acp"}}, cmd); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		cmd.Args[0] = "changed by its owner"
	}
}
