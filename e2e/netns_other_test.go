//go:build !linux

package e2e

import "errors"

// isMCP: the tests that need such a server need Linux.
func isMCP() bool { return false }

// isolated runs the tests as they are: only Linux has network namespaces.
func isolated(run func() int) int {
	isolation = errors.New("network namespaces need Linux")
	return run()
}
