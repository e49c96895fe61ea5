package process

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// orphan starts a child under a marker, in a session of its own, as one that a killed gateway has
// left behind; it is up when orphan returns.
func orphan(t *testing.T, kind, marker string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(self(t))
	cmd.Env = append(os.Environ(), childEnv+"="+kind, MarkerEnv+"="+marker)
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "ready" {
		t.Fatalf("the child said %q: %v", line, err)
	}
	return cmd
}

// alive says whether a child runs; one that has ended is not waited for yet, and a zombie.
func alive(cmd *exec.Cmd) bool {
	p, ok := readProc(cmd.Process.Pid)
	return ok && p.alive()
}

// TestSweep: whoever carries such a marker ends, also one that ignores being asked; nobody else
// does.
func TestSweep(t *testing.T) {
	t.Parallel()
	mine, deaf := orphan(t, "deaf", "sweep-a.1"), orphan(t, "stubborn", "sweep-a.2")
	other, longer := orphan(t, "deaf", "sweep-b.1"), orphan(t, "deaf", "other-sweep-a.1")
	found, err := Sweep("sweep-a.")
	if found != 2 || err != nil {
		t.Errorf("found %d: %v", found, err)
	}
	for name, c := range map[string]struct {
		cmd  *exec.Cmd
		want bool
	}{"asked": {mine, false}, "killed": {deaf, false}, "another's": {other, true}, "not a prefix": {longer, true}} {
		if alive(c.cmd) != c.want {
			t.Errorf("%s: alive is %v", name, !c.want)
		}
	}
	if found, err := Sweep("sweep-a."); found != 0 || err != nil {
		t.Errorf("a second sweep found %d: %v", found, err)
	}
}

// TestSweepEverybody is refused.
func TestSweepEverybody(t *testing.T) {
	t.Parallel()
	if _, err := Sweep(""); err == nil {
		t.Error("an empty prefix was taken")
	}
}
