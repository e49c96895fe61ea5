//go:build unix

package sqlite

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
)

// importEnv tells a child process to import, and to kill itself at its nth operation
// on a file: "directory|n".
const importEnv = "SESSION_LOG_IMPORT"

// importing is the life of such a child.
func importing(dir, n string) {
	last, err := strconv.Atoi(n)
	if err == nil {
		err = importUntil(dir, last)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// importUntil imports into a log that is there.
func importUntil(dir string, n int) error {
	fs, err := registerHookFS()
	if err != nil {
		return err
	}
	l, err := Open(dir, Options{vfs: fs.name})
	if err != nil {
		return err
	}
	if err := cramped(l); err != nil {
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
	m, _ := cargo()
	if err := l.Import("s", m); err != nil {
		return err
	}
	fmt.Print(".")
	return l.Close()
}

// TestLaw199_importKilled: a child process is killed by SIGKILL before its nth
// operation on a file, for every n (thinned by -every), in the middle of an import:
// nothing of it is there, or all; all, where it was told that it is.
func TestLaw199_importKilled(t *testing.T) {
	t.Parallel()
	left := map[bool]int{}
	for n, done := 1, false; !done; n += stride(opWrite) {
		dir := t.TempDir()
		l := open(t, dir, Options{})
		push(t, l, "before", 1, 3)
		shut(t, l)
		acked, err := spawn(t, fmt.Sprintf("%s=%s|%d", importEnv, dir, n))
		if done = err == nil; !done && !killed(err) {
			t.Fatalf("the child failed at operation %d: %v", n, err)
		}
		l = open(t, dir, Options{})
		there, err := whole(l)
		if err != nil || acked > 0 && !there {
			t.Errorf("killed at operation %d, %d acked: there is %v, %v", n, acked, there, err)
		}
		left[there]++
		if m, _ := cargo(); !there {
			if err := l.Import("s", m); err != nil {
				t.Errorf("killed at operation %d: it is not taken afterwards: %v", n, err)
			}
		}
		shut(t, l)
	}
	if left[false] < 1 || left[true] < 1 {
		t.Errorf("it was there %d times, and %d times not: the sweep missed the middle", left[true], left[false])
	}
}
