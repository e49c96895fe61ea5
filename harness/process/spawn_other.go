//go:build !unix

package process

import (
	"os/exec"
	"syscall"
)

// sysProcAttr asks for nothing: there is neither a session nor a parent-death signal here.
func sysProcAttr() *syscall.SysProcAttr {
	return nil
}

// spawn starts the command.
func spawn(cmd *exec.Cmd) error {
	return cmd.Start()
}
