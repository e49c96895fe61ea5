//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// errTaken is what openLock returns while another open file has the lock.
var errTaken error = syscall.EWOULDBLOCK

// openLock opens the file and takes a lock that closeLock lets go, or the process's end.
func openLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			_ = f.Close() // nothing was written
			return nil, err
		}
	}
}

// closeLock lets the lock go by name: a process that is being started has the file,
// too, until it begins its program, and a close alone would leave the lock to it.
func closeLock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// syncOpenDir syncs a directory.
func syncOpenDir(d *os.File) error { return d.Sync() }

// private: nobody but the owner may enter.
func private(info os.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
