//go:build unix

package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// crashEnv tells a child process of a test what to do: "directory|n".
const crashEnv = "SESSION_LOG_CRASH"

// crashSteps is how long a child's script is.
const crashSteps = 30

// child is the life of a child process: it works through a script, says on stdout
// which steps were acknowledged, and kills itself at its nth operation on a file.
func child() {
	if dir, n, ok := strings.Cut(os.Getenv(importEnv), "|"); ok {
		importing(dir, n)
	}
	dir, n, ok := strings.Cut(os.Getenv(crashEnv), "|")
	if !ok {
		return
	}
	last, err := strconv.Atoi(n)
	if err == nil {
		err = live(dir, last)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// live works until its nth operation.
func live(dir string, n int) error {
	fs, err := registerHookFS()
	if err != nil {
		return err
	}
	count := 0
	fs.set(func(op) verdict {
		if count++; count == n {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // it comes at once, but not within the call
		}
		return verdict{}
	})
	l, err := Open(dir, Options{vfs: fs.name})
	if err != nil {
		return err
	}
	if err := frequent(l); err != nil {
		return err
	}
	for _, s := range script(crashSteps) {
		if err := l.Append(s.session, s.batch); err != nil {
			return err
		}
		fmt.Print(".")
	}
	return l.Close()
}

// TestLaw103_killedAtEveryStep: a child process is killed by SIGKILL before its nth
// operation on a file, for every n (thinned by -every): whatever it has
// acknowledged is there, whole steps alone of what it has not, and no number that
// it may have sent comes again.
func TestLaw103_killedAtEveryStep(t *testing.T) {
	t.Parallel()
	steps := script(crashSteps)
	for n, done := 1, false; !done; n += stride(opWrite) {
		dir := t.TempDir()
		var acked int
		acked, done = runChild(t, dir, n)
		l, err := Open(dir, Options{})
		if err != nil {
			t.Fatalf("killed at operation %d, %d steps acked: %v", n, acked, err)
		}
		if err := errors.Join(hold(l, steps, acked, min(acked+1, len(steps))), l.Verify()); err != nil {
			t.Errorf("killed at operation %d: %v", n, err)
		}
		info, err := l.Open("a")
		if err != nil {
			t.Fatal(err)
		}
		push(t, l, "a", info.NextSeq, 1)
		shut(t, l)
	}
}

// runChild runs a child until its nth operation, and counts what it has
// acknowledged; done says that it had no such operation.
func runChild(t *testing.T, dir string, n int) (acked int, done bool) {
	t.Helper()
	acked, err := spawn(t, fmt.Sprintf("%s=%s|%d", crashEnv, dir, n))
	if err != nil && !killed(err) {
		t.Fatalf("the child failed at operation %d: %v", n, err)
	}
	return acked, err == nil
}

// killed says whether a child's end was SIGKILL.
func killed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// spawn runs a child, told in its environment what to do; its error holds what it
// had to say.
func spawn(t *testing.T, env string) (acked int, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), env)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%w: %s", err, errs.String())
	}
	return strings.Count(out.String(), "."), err
}
