package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/fixtures"
	"agent-server/harness/harnesstest"
	"agent-server/protocol"
)

// evidence is where the fixtures are.
var evidence = filepath.Join("..", "..", "fixtures")

// The page is what the generator gives now.
func TestPageIsUpToDate(t *testing.T) {
	t.Parallel()
	fresh := filepath.Join(t.TempDir(), "harnesses.md")
	if err := write(evidence, fresh); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "docs", "harnesses.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/harnesses.md is old, run go generate ./... (-is +has to be):\n%s", diff)
	}
}

// Without evidence there is no page.
func TestNoEvidence(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	if err := write(empty, filepath.Join(empty, "page")); err == nil {
		t.Error("a page was made of nothing")
	}
}

// A note says that a scenario is missing, in its own words, and never links to it.
func TestScenarioCell(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]fixtures.Note{
		"unsupported: it has none":             {Unsupported: "it has none"},
		"[2026-11-30](../fixtures/demo/hello)": {Recorded: "2026-11-30"},
	} {
		if got := scenarioCell(filepath.Join("demo", "hello"), n); got != want {
			t.Errorf("cell %q, want %q", got, want)
		}
	}
}

// Every table has as many cells in each row as columns.
func TestTablesAreWhole(t *testing.T) {
	t.Parallel()
	text, err := page(evidence)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		rows++
		if n := strings.Count(line, "|"); n != len(known(evidence))+2 {
			t.Errorf("%d bars in %s", n, line)
		}
	}
	capabilities := reflect.TypeFor[protocol.AgentCapabilities]().NumField()
	if want := len(fixtures.Scenarios) + len(harnesstest.Members()) + capabilities + 3*2; rows != want {
		t.Errorf("%d rows, want %d", rows, want)
	}
}

// A fixture that is broken makes no page.
func TestBrokenEvidence(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string) error{
		"a note without its parts": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "demo", "tool_ok", "README.md"), []byte("# nothing"), 0o600)
		},
		"a note that is gone": func(dir string) error {
			return os.Remove(filepath.Join(dir, "claude-code", "crash", "README.md"))
		},
		"a recording that is none": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "demo", "hello", "native.jsonl"), []byte("{}"), 0o600)
		},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(evidence)); err != nil {
			t.Fatal(err)
		}
		if _, err := page(dir); err != nil {
			t.Fatalf("before it was spoiled: %v", err)
		}
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := page(dir); err == nil {
			t.Errorf("%s: a page was made", name)
		}
	}
}
