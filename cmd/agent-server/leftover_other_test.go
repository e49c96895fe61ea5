//go:build !linux

package main

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// tempDirEnv is the variable that testscript gives a directory of its own for
// each script.
var tempDirEnv = map[bool]string{true: "TMP", false: "TMPDIR"}[runtime.GOOS == "windows"]

// canLook: this system does not show us the environment of processes.
const canLook = false

func carrying(string) []string { return nil }

func openTerminal() (master, slave *os.File, err error) { return nil, nil, errors.ErrUnsupported }

func onTerminal() *syscall.SysProcAttr { return nil }
