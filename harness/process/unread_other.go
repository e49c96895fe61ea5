//go:build !linux

package process

// pipeHolds cannot be asked here.
func pipeHolds(writeFile) (int64, bool) { return 0, false }

// brokenPipe matters only where a pipe can be asked.
func brokenPipe(error) bool { return false }
