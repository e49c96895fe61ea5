package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"agent-server/fixtures"
	"agent-server/harness"
	"agent-server/internal/harnesses"
	"agent-server/protocol"
)

// record makes TestScenarios write fixtures/ anew, from the harnesses that are
// installed: go test ./e2e -run 'TestScenarios/demo' -record.
var record = flag.Bool("record", false, "record the fixtures anew from the real harnesses")

// record plays a scenario through a gateway in this process, whose steps are
// recorded, and makes a fixture of the recording.
func (h harnessUnderTest) record(t *testing.T, s scenario) {
	t.Helper()
	n := fixtures.Note{Harness: string(h.id), Scenario: s.name, Unsupported: s.unsupported}
	dir := filepath.Join("..", "fixtures", n.Harness, n.Scenario)
	if s.unsupported != "" {
		writeFixture(t, dir, map[string][]byte{"README.md": n.Encode()})
		return
	}
	p := newPlace(t)
	p.agent = h.id
	raw := s.recorded(t, p, h.id)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	cli, version := h.version(t)
	made, err := raw.Make(fixtures.Scrub{Cwd: p.cwd, Home: p.home, Host: host}, version, harnessOf)
	if err != nil {
		t.Fatal(err)
	}
	n.About, n.CLI, n.Edited, n.Recorded = s.about, cli+" "+version, s.edited, time.Now().UTC().Format(time.DateOnly)
	n.Scrubbed = "the paths of working folder and home, process ids, the host's name, the CLI's long descriptions of itself"
	writeFixture(t, dir, map[string][]byte{
		"README.md": n.Encode(), "native.jsonl": made.Native, "events.jsonl": made.Events, "state.json": made.State})
}

// recorded plays a scenario and gives what was recorded, and edited by hand.
func (s scenario) recorded(t *testing.T, p place, id protocol.HarnessID) fixtures.Recording {
	t.Helper()
	dir := t.TempDir()
	rec, err := fixtures.NewRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.run(t, p, id, func() *host { return p.embed(t, rec) })
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	raw := fixtures.Recording{Native: read("native.jsonl"), Events: read("events.jsonl"), State: read("state.json")}
	if s.edit != nil {
		raw.Native = []byte(s.edit(string(raw.Native)))
	}
	return raw
}

// harnessOf is the translator that a fixture is played with: nothing of the place
// it was recorded in is in it.
func harnessOf(id protocol.HarnessID) harness.Harness { return harnesses.Find(id) }

// lockedVersion is the version of a CLI's package in package.json.
func lockedVersion(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	return p.Dependencies[name]
}

func writeFixture(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	if t.Failed() {
		return
	}
	err := os.MkdirAll(dir, 0o755)
	for name, content := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o644)
		}
	}
	if err != nil {
		t.Fatal(fmt.Errorf("writing a fixture: %w", err))
	}
}
