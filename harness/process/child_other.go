//go:build !linux

package process

import (
	"os"
	"os/exec"
)

// child is the process we started. It is reaped as soon as it exits; the group keeps its number
// from being used again only while it has a member.
type child struct {
	cmd *exec.Cmd
	err error // valid once await has returned
}

// await returns when the child has exited.
func (c *child) await() {
	c.err = exitIsNoError(c.cmd.Wait())
}

// reap returns the exit status of a child that has exited.
func (c *child) reap() (*os.ProcessState, error) {
	return c.cmd.ProcessState, c.err
}

// dying cannot be asked here before the exit.
func (c *child) dying() bool { return false }
