package main

import (
	"testing"

	"golang.org/x/sys/unix"

	"agent-server/protocol"
)

// TestTypedTooEarlyConsentsToNothing: a line that was typed before the question
// was seen is no answer to it; the one after it is.
func TestTypedTooEarlyConsentsToNothing(t *testing.T) {
	t.Parallel()
	master, slave, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	t.Cleanup(func() { master.Close() })
	a := newAsked(slave)
	if a.terminal == nil {
		t.Fatal("a terminal is not known as one")
	}
	typed := func(line string) {
		t.Helper()
		if _, err := master.WriteString(line); err != nil {
			t.Fatal(err)
		}
	}
	typed("1\n")
	arrived := within(func() bool {
		n, err := unix.IoctlGetInt(int(slave.Fd()), unix.TIOCINQ)
		return err == nil && n > 0
	})
	if !arrived {
		t.Fatal("what was typed never came")
	}
	a.request("a", both...)
	typed("2\n")
	if got, want := a.said(1)["a"], "selected opt-"+string(protocol.RejectOnce); got != want {
		t.Errorf("answered %q, want %q", got, want)
	}
	a.close()
}
