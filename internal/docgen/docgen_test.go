package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/fixtures"
	"agent-server/harness"
	"agent-server/harness/claudecode"
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

// Every member of a config is tried, in the order of the wire.
func TestEveryMemberIsTried(t *testing.T) {
	t.Parallel()
	var want, got []string
	kind := reflect.TypeFor[protocol.RunConfig]()
	for i := range kind.NumField() {
		if name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ","); name != "harness" {
			want = append(want, name)
		}
	}
	for _, m := range members {
		got = append(got, m.name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// A recording whose config is left alone gives the same again: what differs later
// is the member's doing.
func TestProbeRepeats(t *testing.T) {
	t.Parallel()
	for _, h := range known(evidence) {
		p, err := newProbe(evidence, h)
		if err != nil {
			t.Fatal(err)
		}
		a, _, err := p.run(*p.open.Config)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := p.run(*p.open.Config)
		if err != nil {
			t.Fatal(err)
		}
		if where := a.differs(b); where != "" || len(a.events) == 0 || len(a.stdin) == 0 {
			t.Errorf("%s differs from itself in %q: %v", h.Info().ID, where, a)
		}
	}
}

func TestDiffers(t *testing.T) {
	t.Parallel()
	base := trace{args: []string{"a"}, env: []string{"e"}, stdin: []string{"s"}, events: []string{"v"}}
	for want, change := range map[string]func(*trace){
		"argument":    func(tr *trace) { tr.args, tr.stdin = nil, nil },
		"environment": func(tr *trace) { tr.env = []string{"other"} },
		"stdin":       func(tr *trace) { tr.stdin = append(slices.Clone(tr.stdin), "more") },
		"gateway":     func(tr *trace) { tr.events = nil },
		"":            func(tr *trace) { tr.notes = []string{"n"} },
	} {
		other := base
		change(&other)
		if got := other.differs(base); got != want {
			t.Errorf("differs in %q, want %q", got, want)
		}
	}
}

// deaf is an adapter that drops a member in silence.
type deaf struct{ harness.Harness }

func (d deaf) Launch(l harness.Launch) (harness.Command, error) {
	l.Config.MaxTurns = nil
	return d.Harness.Launch(l)
}

// What an adapter drops in silence is no cell of the page: the generator fails.
func TestSilenceIsAnError(t *testing.T) {
	t.Parallel()
	p, err := newProbe(evidence, deaf{claudecode.New(claudecode.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(members, func(m member) bool { return m.name == "maxTurns" })
	if cell, err := p.try(members[i]); err == nil || !strings.Contains(err.Error(), "config.maxTurns") {
		t.Errorf("cell %q, error %v", cell, err)
	}
}

// Without evidence there is no page.
func TestNoEvidence(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	if err := write(empty, filepath.Join(empty, "page")); err == nil {
		t.Error("a page was made of nothing")
	}
	if _, err := newProbe(empty, known(evidence)[0]); err == nil {
		t.Error("a probe was made of nothing")
	}
}

// The cells that follow from what an adapter documents about itself.
func TestCells(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		harness protocol.HarnessID
		want    map[string]string
	}{
		{protocol.HarnessDemo, map[string]string{
			"cwd": "stdin, restart", "permissionMode": "stdin", "maxTurns": "refused", "disableTools": "refused",
			"systemPromptAppend": "ignored", "model": "ignored", "apiKey": "ignored", "env": "gateway, restart", "includeRaw": "gateway",
		}},
		{protocol.HarnessClaudeCode, map[string]string{
			"cwd": "gateway, restart", "model": "argument", "maxTurns": "argument, restart", "systemPromptAppend": "stdin, restart",
			"resumeSessionAt": "argument", "apiKey": "environment `ANTHROPIC_API_KEY`, restart", "includeRaw": "gateway",
		}},
	} {
		i := slices.IndexFunc(known(evidence), func(h harness.Harness) bool { return h.Info().ID == tc.harness })
		p, err := newProbe(evidence, known(evidence)[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			want, named := tc.want[m.name]
			if got, err := p.try(m); err != nil || named && got != want {
				t.Errorf("%s %s: %q, %v, want %q", tc.harness, m.name, got, err, want)
			}
		}
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
	if want := len(fixtures.Scenarios) + len(members) + capabilities + 3*2; rows != want {
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
