package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeHolds counts the bytes in a pipe that nobody has read; the end that writes can
// ask it too. false: the file is no pipe of the system's.
func pipeHolds(f writeFile) (int64, bool) {
	c, ok := f.(syscall.Conn)
	if !ok {
		return 0, false
	}
	conn, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	held, askErr := 0, error(nil)
	err = conn.Control(func(fd uintptr) { held, askErr = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return int64(held), err == nil && askErr == nil
}

// brokenPipe is whether a write failed for want of a reader: there will be none.
func brokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
