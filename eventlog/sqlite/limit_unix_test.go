//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	zombiezen "zombiezen.com/go/sqlite"
)

// limitEnv tells a child process to append until the system lets its files grow no
// more: "directory|bytes".
const limitEnv = "SESSION_LOG_LIMIT"

// limited is the life of such a child. The limit is the kernel's own: writes are
// cut short at it, then refused.
func limited() {
	dir, n, ok := strings.Cut(os.Getenv(limitEnv), "|")
	if !ok {
		return
	}
	bytes, err := strconv.ParseUint(n, 10, 64)
	if err == nil {
		err = fillUp(dir, bytes)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fillUp appends until an append is refused, then makes room, and goes on.
func fillUp(dir string, bytes uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	l, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: was.Max}); err != nil {
		return err
	}
	seq := int64(1)
	for err = nil; err == nil; seq++ {
		if err = l.Append("s", batch("s", seq, 1)); err == nil {
			fmt.Print(".")
		}
	}
	seq--
	if zombiezen.ErrCode(err).ToPrimary() != zombiezen.ResultFull && zombiezen.ErrCode(err).ToPrimary() != zombiezen.ResultIOErr {
		return fmt.Errorf("the append that met the limit: %w", err)
	}
	if info, err := l.Open("s"); err != nil || info.NextSeq != seq {
		return fmt.Errorf("after the limit was met at %d the next seq is %d: %w", seq, info.NextSeq, err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := l.Append("s", batch("s", seq, 1)); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	fmt.Print(".")
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// TestFullDisk meets a real limit of the system: what was acknowledged is there.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for bytes := 200_000; bytes < 210_000; bytes += 1_111 {
		dir := t.TempDir()
		acked, err := spawn(t, fmt.Sprintf("%s=%s|%d", limitEnv, dir, bytes))
		if !killed(err) {
			t.Fatalf("the child, at %d bytes: %v", bytes, err)
		}
		l := open(t, dir, Options{})
		rs, err := all(l, "s")
		if err := errors.Join(err, l.Verify()); err != nil || len(rs) != acked || acked < 10 {
			t.Errorf("at %d bytes %d events are there, %d were acked: %v", bytes, len(rs), acked, err)
		}
		shut(t, l)
	}
}
