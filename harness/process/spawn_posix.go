//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// sysProcAttr gives the child its own session, hence its own group and no terminal. There is no
// parent-death signal here: a child outlives this program until it reads the end of stdin.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// spawn starts the command.
func spawn(cmd *exec.Cmd) error {
	return cmd.Start()
}
