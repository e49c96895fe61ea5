package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agent-server/eventlog/sqlite"
)

// command runs the command on a state directory and gives what it printed, and
// its exit code.
func command(t *testing.T, stdin string, args ...string) (out, talk string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.Command("agent-server", args...)
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &stdout, &stderr
	_ = c.Run() // the code tells
	return stdout.String(), stderr.String(), c.ProcessState.ExitCode()
}

// TestSessions: what a real gateway has left is listed, exported as a stream that
// keeps the laws, and removed.
func TestSessions(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	play(t, s.connect(), "s", "think")
	s.ends(syscall.SIGTERM, 0)
	state := "--state-dir=" + s.dir
	if out, talk, code := command(t, "", "sessions", "list", "--json", state); code != 0 || !strings.Contains(out, `"session":"s","harness":"demo"`) {
		t.Errorf("list: %d %s %s", code, out, talk)
	}
	stream, talk, code := command(t, "", "sessions", "export", "s", state)
	if code != 0 {
		t.Fatalf("export: %d %s", code, talk)
	}
	if out, talk, code := command(t, stream, "verify", "-"); code != 0 {
		t.Errorf("verify: %d %s %s", code, out, talk)
	}
	if _, _, code := command(t, "", "sessions", "rm", "s", "none", state); code != exitUsage {
		t.Errorf("rm of an unknown session: %d", code)
	}
	if out, _, code := command(t, "", "sessions", "rm", "s", state); code != 0 || out != "removed \"s\"\n" {
		t.Errorf("rm: %d %s", code, out)
	}
	if _, _, code := command(t, "", "sessions", "export", "s", state); code != exitUsage {
		t.Errorf("export of a removed session: %d", code)
	}
}

// TestSessionsInUse: the log is left alone, and what to do is said.
func TestSessionsInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := sqlite.Open(filepath.Join(dir, "log"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, talk, code := command(t, "", "sessions", "list", "--state-dir", dir); code != exitUsage || !strings.Contains(talk, "session/list") {
		t.Errorf("%d %s", code, talk)
	}
}
