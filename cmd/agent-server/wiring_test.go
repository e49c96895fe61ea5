package main

import (
	"slices"
	"strings"
	"testing"

	"agent-server/gateway"
	"agent-server/protocol"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	s := setup{acpAgents: []string{"a=a-cli --acp", "b=b-cli"}, logLevel: "warn", maxMode: "plan", passEnv: []string{"X"}}
	o, err := s.options()
	if err != nil {
		t.Fatal(err)
	}
	if o.DefaultACP != "a" || o.MaxPermissionMode != protocol.ModePlan || len(o.PassEnv) != 1 {
		t.Errorf("options: %+v", o)
	}
	a := o.Harnesses[slices.IndexFunc(o.Harnesses, func(r gateway.Registration) bool { return r.Harness.Info().ID == "a" })]
	if a.Path != "a-cli" || len(a.Args) != 1 || a.Harness.Info().ID != "a" {
		t.Errorf("agent a: %+v", a)
	}
	for _, bad := range []setup{
		{logLevel: "loud"}, {logLevel: "warn", maxMode: "all"}, {logLevel: "warn", acpAgents: []string{"=x"}}, {logLevel: "warn", acpAgents: []string{"x= "}},
	} {
		if _, err := bad.options(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestAvailable(t *testing.T) {
	t.Parallel()
	s := setup{claude: "/no/such/cli", acpAgents: []string{"gone=/no/such/agent", "here=agent-server"}, acpDefault: "here", logLevel: "warn"}
	o, err := s.options()
	if err != nil {
		t.Fatal(err)
	}
	for id, says := range map[protocol.HarnessID]string{
		"demo": "", "here": "", "acp": "",
		"gone":        "its executable cannot be found: exec: \"/no/such/agent\"",
		"claude-code": "its executable cannot be found",
		"nobody":      "no harness of that name (available here: demo, ",
		"":            "no harness of that name",
	} {
		switch err := available(o, id); {
		case err == nil && says != "":
			t.Errorf("%q is available", id)
		case err != nil && (says == "" || !strings.Contains(err.Error(), says)):
			t.Errorf("%q: %v, want %q", id, err, says)
		}
	}
}

func TestModesAreTheProtocols(t *testing.T) {
	t.Parallel()
	for _, m := range modes {
		raw := `{"sessionId":"s","input":"x","config":{"harness":"demo","cwd":"/","permissionMode":"` + string(m) + `"}}`
		if _, faults := protocol.DecodeTurnStart([]byte(raw), func(protocol.HarnessID) bool { return true }); faults != nil {
			t.Errorf("%s: %v", m, faults)
		}
	}
	_, faults := protocol.DecodeTurnStart([]byte(`{"input":"x","config":{"harness":"demo","cwd":"/","permissionMode":"x"}}`),
		func(protocol.HarnessID) bool { return true })
	for _, m := range modes {
		if len(faults) != 1 || !strings.Contains(faults[0].Message, `"`+string(m)+`"`) {
			t.Errorf("%s is not among what the protocol names: %v", m, faults)
		}
	}
}
