package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent-server/gateway"
	"agent-server/harness/acp"
	"agent-server/protocol"
)

// acpAgent is one ACP agent that is installed here, and what it needs to work offline.
type acpAgent struct {
	id protocol.HarnessID
	// name is for people; pkg is its package, binary its executable below node_modules.
	name, pkg, binary string
	// args make it speak ACP.
	args []string
	// settings writes a person's configuration below the home, and gives what stands
	// in a person's environment.
	settings func(t *testing.T, p place) []string
}

// acpAgents are the agents of package.json.
var acpAgents = []acpAgent{{
	id: "gemini", name: "Gemini CLI", pkg: "@google/gemini-cli",
	binary: "@google/gemini-cli/bundle/gemini.js", args: []string{"--acp"}, settings: geminiSettings,
}, {
	id: "opencode", name: "opencode", pkg: "opencode-linux-x64",
	binary: "opencode-linux-x64/bin/opencode", args: []string{"acp"}, settings: opencodeSettings,
}, {
	id: "codex-acp", name: "codex-acp", pkg: "@zed-industries/codex-acp-linux-x64",
	binary: "@zed-industries/codex-acp-linux-x64/bin/codex-acp", settings: codexACPSettings,
}}

// acpUnderTest are they as harnesses, each with its scenarios.
var acpUnderTest = []harnessUnderTest{
	acpAgents[0].underTest(geminiScenarios), acpAgents[1].underTest(opencodeScenarios), acpAgents[2].underTest(codexACPScenarios),
}

// underTest is the agent as a harness.
func (a acpAgent) underTest(scenarios []scenario) harnessUnderTest {
	return harnessUnderTest{
		id: a.id, scenarios: scenarios, slow: true,
		require: func(t *testing.T) { requireCLI(t, a.binary) },
		version: func(t *testing.T) (string, string) { return a.name, lockedVersion(t, a.pkg) },
	}
}

// acpAgentOf is the agent of an id; nil: it is none.
func acpAgentOf(id protocol.HarnessID) *acpAgent {
	i := slices.IndexFunc(acpAgents, func(a acpAgent) bool { return a.id == id })
	if i < 0 {
		return nil
	}
	return &acpAgents[i]
}

// command is what an operator names it by.
func (a *acpAgent) command(t *testing.T) []string {
	t.Helper()
	return append([]string{requireCLI(t, a.binary)}, a.args...)
}

// registration is the agent as it is known, at its place here.
func (a *acpAgent) registration(t *testing.T) gateway.Registration {
	t.Helper()
	return gateway.Registration{Harness: acp.New(acp.Agent{ID: a.id}), Path: requireCLI(t, a.binary)}
}

// isACPAgent tells an agent's own process from the commands that it runs.
func isACPAgent(cmdline string) bool {
	return slices.ContainsFunc(acpAgents, func(a acpAgent) bool {
		return strings.HasSuffix(cmdline, strings.Join(append([]string{a.binary}, a.args...), " "))
	})
}

// geminiSettings are a person's who has a key, and wants nothing sent home.
func geminiSettings(t *testing.T, p place) []string {
	t.Helper()
	writeJSON(t, filepath.Join(p.home, ".gemini", "settings.json"), object{
		"security":  object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": object{"enabled": false}},
		"privacy":   object{"usageStatisticsEnabled": false},
		"telemetry": object{"enabled": false},
		"general":   object{"disableAutoUpdate": true, "enableAutoUpdate": false},
	})
	return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + p.srv.URL()}
}

// opencodeSettings are a person's who is asked, which is not how it comes.
func opencodeSettings(t *testing.T, p place) []string {
	t.Helper()
	writeJSON(t, filepath.Join(p.home, ".config", "opencode", "opencode.json"), object{
		"model": "fake/fake-model", "small_model": "fake/fake-model", "autoupdate": false, "share": "disabled",
		"permission": object{"bash": "ask", "edit": "ask"},
		"provider": object{"fake": object{
			"npm": "@ai-sdk/openai-compatible", "name": "Fake",
			"options": object{"baseURL": p.srv.URL() + "/v1", "apiKey": "dummy"},
			"models": object{"fake-model": object{
				"name": "Fake", "tool_call": true, "reasoning": true, "limit": object{"context": 100000, "output": 8000},
			}},
		}},
	})
	return []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}
}

// codexACPSettings are those of Codex, in a home of their own: here it is asked for
// every command, and the network namespace is the sandbox.
func codexACPSettings(t *testing.T, p place) []string {
	t.Helper()
	home := filepath.Join(p.home, ".codex-acp")
	settings := "approval_policy = \"untrusted\"\nsandbox_mode = \"danger-full-access\"\n" +
		fmt.Sprintf(codexSettings, p.srv.URL()+"/v1")
	err := os.MkdirAll(home, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "config.toml"), []byte(settings), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return []string{"CODEX_HOME=" + home}
}

// writeJSON writes a file and the folders above it.
func writeJSON(t *testing.T, path string, value any) {
	t.Helper()
	b, err := json.Marshal(value)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
