//go:build !unix

package access

import (
	"errors"
	"io/fs"
)

// private refuses what is no file. Who may read it, this system's mode bits do not
// tell.
func private(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	return nil
}
