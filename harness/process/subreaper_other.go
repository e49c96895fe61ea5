//go:build !linux

package process

import (
	"errors"
	"fmt"
)

// EnableSubreaper fails with errors.ErrUnsupported: only Linux lets a program adopt its orphaned
// descendants.
func EnableSubreaper() error {
	return fmt.Errorf("becoming a subreaper: %w", errors.ErrUnsupported)
}
