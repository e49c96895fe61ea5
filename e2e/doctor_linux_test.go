package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDoctor: the real CLI is found to work, and what merely has its name is not.
func TestDoctor(t *testing.T) {
	t.Parallel()
	cli := requireCLI(t, claudeBinary)
	p := newPlace(t)
	got := p.runCommand(t, "doctor", "claude-code", "--claude-path", cli)
	got.check(t, "claude-code works\n", "")
	got.check(t, "ok    login       found: ANTHROPIC_API_KEY\n", "")
	p.nothingLeft(t)

	noCLI := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(noCLI, []byte("#!/bin/sh\necho 0.0.1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := p.runCommand(t, "doctor", "claude-code", "--claude-path", noCLI); got.code != 1 {
		t.Errorf("of something else: %+v", got)
	}
	p.nothingLeft(t)
}
