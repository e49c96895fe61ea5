package process

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// child is the process we started. It stays a zombie from its exit to reap: as long as it does
// the kernel gives its number, which is also its group's and session's, to nobody else, so that
// both can be signalled and searched without fear.
type child struct {
	cmd *exec.Cmd
}

// await returns when the child has exited, or was reaped by somebody else. It waits on a
// descriptor, in the runtime's poller, because a thread blocked for each child is not cheap;
// where the kernel has no such descriptor it does block.
func (c *child) await() {
	fd, err := unix.PidfdOpen(c.cmd.Process.Pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		waitExit(unix.P_PID, c.cmd.Process.Pid, 0)
		return
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	conn, err := f.SyscallConn()
	if err == nil {
		err = conn.Read(func(fd uintptr) bool { return waitExit(unix.P_PIDFD, int(fd), unix.WNOHANG) })
	}
	if err != nil {
		waitExit(unix.P_PID, c.cmd.Process.Pid, 0)
	}
}

// waitExit says whether a child has exited, and leaves it to be reaped. That it cannot be waited
// for means that it is gone too.
func waitExit(idType, id, options int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(idType, id, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
		if err != unix.EINTR {
			return err != nil || info.Signo != 0
		}
	}
}

// dying says whether the child is on its way out, as far as the system knows now. What it is
// given from then on it does not take up, though the kernel may still take it out of the pipe.
func (c *child) dying() bool {
	return dying(c.cmd.Process.Pid)
}

// reap takes the exit status of a child that has exited.
func (c *child) reap() (*os.ProcessState, error) {
	err := c.cmd.Wait()
	return c.cmd.ProcessState, exitIsNoError(err)
}
