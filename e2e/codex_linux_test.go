package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent-server/gateway"
	"agent-server/harness/codexappserver"
	"agent-server/harness/codexexec"
	"agent-server/protocol"
)

// codexPackage is the platform package; the wrapper would start Node beside the CLI.
const codexPackage = "@openai/codex-linux-x64"

// codexBinary is the CLI itself.
const codexBinary = codexPackage + "/vendor/x86_64-unknown-linux-musl/bin/codex"

func requireCodex(t *testing.T) { requireCLI(t, codexBinary) }

// codexVersion is the version that package.json names behind the alias.
func codexVersion(t *testing.T) (name, version string) {
	t.Helper()
	version = lockedVersion(t, codexPackage)
	version = version[strings.LastIndexByte(version, '@')+1:]
	return "Codex", strings.TrimSuffix(version, "-linux-x64")
}

// isCodex tells the harness's own process from the commands that it runs.
func isCodex(cmdline string) bool {
	return strings.HasSuffix(cmdline, "/codex app-server") || strings.Contains(cmdline, "/codex exec ")
}

// codexSettings are a person's: a provider that is the fake model, and as little
// patience as a test wants.
const codexSettings = `model = "gpt-5.5"
model_provider = "fake"
check_for_update_on_startup = false
model_auto_compact_token_limit = 100000
[model_providers.fake]
name = "fake"
base_url = %q
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
`

// codexEnv is what Codex needs beside HOME and PATH. Its home must not lie below
// the folder for temporary files, so that has a folder of its own.
func (p place) codexEnv(t *testing.T) []string {
	t.Helper()
	home, tmp := filepath.Join(p.home, ".codex"), filepath.Join(p.home, "tmp")
	for _, dir := range []string{home, tmp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	settings := fmt.Sprintf(codexSettings, p.srv.URL()+"/v1")
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"OPENAI_API_KEY=dummy", "TMPDIR=" + tmp}
}

// codexHarnesses are the harnesses of the command that run Codex, where it is
// installed.
func codexHarnesses() []gateway.Registration {
	cli, err := cliPath(codexBinary)
	if err != nil {
		return nil
	}
	return []gateway.Registration{
		{Harness: codexappserver.New(codexappserver.Options{}), Path: cli},
		{Harness: codexexec.New(), Path: cli},
	}
}

// What Codex alone is tried with.
func TestCodexFurther(t *testing.T) {
	t.Parallel()
	requireCodex(t)
	for _, s := range codexFurther {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			s.run(t, p, protocol.HarnessCodexAppServer, func() *host { return p.spawn(t) })
		})
	}
}
