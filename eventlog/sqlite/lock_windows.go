package sqlite

import (
	"os"
	"syscall"
)

// errTaken is what openLock returns while another handle has the file:
// ERROR_SHARING_VIOLATION.
var errTaken error = syscall.Errno(32)

// openLock opens the file so that others may read it, and nobody else may open it
// for this. Compiled, not tested.
func openLock(name string) (*os.File, error) {
	p, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(p, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), name), nil
}

// closeLock lets it go: no handle is inherited here.
func closeLock(f *os.File) error { return f.Close() }

// syncOpenDir does nothing: directories are not synced here.
func syncOpenDir(*os.File) error { return nil }

// private: modes say nothing here.
func private(os.FileInfo) bool { return true }
