package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/fixtures"
)

// said is what one run of the command wrote, and how it ended.
type said struct {
	code     int
	out, err string
}

// runCommand runs agent-server in a place, with nothing on stdin.
func (p place) runCommand(t *testing.T, args ...string) said {
	t.Helper()
	var out, talk bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary(t), args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = claudeEnv(p.srv, p.home), p.cwd, &out, &talk
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return said{cmd.ProcessState.ExitCode(), out.String(), talk.String()}
}

// The two commands of the README, on the real thing.
func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("demo", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		got := p.runCommand(t, "run", "hello", "--harness", "demo", "--verify")
		got.check(t, "This is the demo agent.", "no violation")
		p.nothingLeft(t)
	})
	t.Run("claude-code", func(t *testing.T) {
		t.Parallel()
		cli := requireCLI(t, claudeBinary)
		p := newPlace(t)
		got := p.runCommand(t, "run", `[[text say="a b" pieces=4]]`, "--harness", "claude-code", "--claude-path", cli, "--verify")
		got.check(t, "a b\n", "no violation")
		p.nothingLeft(t)
	})
}

// A run that a person records plays as the fixtures do.
func TestRunRecords(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := filepath.Join(t.TempDir(), "recording")
	p.runCommand(t, "run", "tool", "--harness", "demo", "--record", dir).check(t, "The demo read no file", "read_file")
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	played, err := fixtures.Play([]byte(read("native.jsonl")), harnessOf)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"native.jsonl": played.Native, "events.jsonl": played.Events, "state.json": played.State} {
		if diff := cmp.Diff(read(name), string(got)); diff != "" {
			t.Errorf("%s (-recorded +played):\n%s", name, diff)
		}
	}
	if len(played.Violations) > 0 {
		t.Errorf("violations: %v", played.Violations)
	}
}

// check wants a turn that ended well.
func (s said) check(t *testing.T, out, talk string) {
	t.Helper()
	if s.code != 0 || !strings.Contains(s.out, out) || !strings.Contains(s.err, talk) {
		t.Errorf("exit code %d\nstdout: %s\nstderr: %s", s.code, s.out, s.err)
	}
}
