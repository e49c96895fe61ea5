package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Status is how a process ended.
type Status struct {
	// Code is the exit code; -1 after a signal, or where the end could not be learned.
	Code int
	// Signal is the signal that ended the child, in the system's words ("killed"); "" is none.
	Signal string
	// StderrTail is the end of what the child wrote to stderr: at most 64 KiB, valid UTF-8.
	StderrTail string
	// Err is a fault beside the exit itself: a pipe that failed, input that the child never
	// took, a descendant that could not be ended; nil is none.
	Err error
	// Unread is how many bytes, the last ones that Write has accepted, nobody has read
	// nor ever will; 0 also where that is not known: while a descendant was left that
	// may have read on, after CloseStdin or a rung of the ladder, and beside Linux.
	Unread int64
	// Stopped is whether Stop or Kill was called while the child was still running.
	Stopped bool
}

// String says how the child itself ended: "exit status 3" or "signal: killed".
func (s Status) String() string {
	switch {
	case s.Signal != "":
		return "signal: " + s.Signal
	case s.Code < 0:
		return "exit status unknown"
	}
	return fmt.Sprintf("exit status %d", s.Code)
}

// signaled is the part of a wait status that systems with signals have.
type signaled interface {
	Signaled() bool
	Signal() syscall.Signal
}

// statusOf reads the exit of a child; nil is an exit that nobody saw.
func statusOf(state *os.ProcessState) Status {
	if state == nil {
		return Status{Code: -1}
	}
	status := Status{Code: state.ExitCode()}
	if ws, ok := state.Sys().(signaled); ok && ws.Signaled() {
		status.Signal = ws.Signal().String()
	}
	return status
}

// exitIsNoError drops the error that only says that the exit code is not 0.
func exitIsNoError(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}
