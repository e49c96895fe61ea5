package acp

import (
	"strings"
	"testing"

	"agent-server/harness"
)

const authRequired = `"error":{"code":-32000,"message":"Authentication required"}`

// TestLoginNeeded: whoever meets it is told what to run, and where a key goes.
func TestLoginNeeded(t *testing.T) {
	t.Parallel()
	greets := func(methods string) map[string]string {
		return map[string]string{"session/new": authRequired, "initialize": `"result":{"protocolVersion":1,"authMethods":` + methods + `}`}
	}
	const terminal = `[{"id":"tty","name":"Log in","type":"terminal","args":["--login",7]}]`
	for name, c := range map[string]struct {
		agent   Agent
		methods string
		want    string
	}{
		"nothing known":      {Agent{}, `[]`, "agent wants a login: run `agent` in a terminal and log in there. It said: Authentication required"},
		"a terminal's":       {Agent{Executable: "exe"}, terminal, "run `exe --login` in a terminal and log in there (Log in)."},
		"never authenticate": {Agent{Executable: "exe", KeyAuthMethod: "tty"}, terminal, "run `exe --login` in"},
		"what it says of it": {Agent{Login: "oc auth login", APIKeyEnv: "KEY"}, `[{"id":"x","description":"Run it"}]`,
			"run `oc auth login` in a terminal and log in there (x, Run it), or give it a key: config.apiKey, or KEY in its environment."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.agent.ID = "agent"
			f := newFake(t, c.agent, harness.Launch{Config: config()}, greets(c.methods))
			f.begin(config())
			told := story(f.updates)
			if len(told) != 1 || !strings.HasPrefix(told[0], "rejected auth: ") || !strings.Contains(told[0], c.want) {
				t.Errorf("told %q, want %q", told, c.want)
			}
			if f.open["authenticate"] != "" {
				t.Errorf("authenticate was called: %q", f.sent())
			}
		})
	}
}

// TestKeyOpensAnOldSession: a login by key is tried for an old session as for a new
// one, and that session is opened then.
func TestKeyOpensAnOldSession(t *testing.T) {
	t.Parallel()
	f := newFake(t, Agent{ID: "agent", KeyAuthMethod: "key"}, harness.Launch{Config: config(), Resume: "old"}, map[string]string{
		"initialize": `"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`, "authenticate": `"result":{}`})
	f.begin(config())
	f.answer("session/load", authRequired)
	f.answer("session/load", `"result":{}`)
	expect(t, "told", story(f.updates), "Created{NativeID:old Resumed:true}", "PromptWritten{}", "Registered{}")
}
