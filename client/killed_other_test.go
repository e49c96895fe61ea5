//go:build !linux

package client_test

import "errors"

// listenUntilKilled: the test that needs it needs Linux.
func listenUntilKilled(string, string) error { return errors.New("needs Linux") }
