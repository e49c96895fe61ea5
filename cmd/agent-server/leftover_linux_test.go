package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// tempDirEnv is the variable that testscript gives a directory of its own for
// each script.
const tempDirEnv = "TMPDIR"

// canLook: this system shows the environment of processes.
const canLook = true

// carrying lists the processes with this value of the variable, by command line.
func carrying(mark string) []string {
	var found []string
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+tempDirEnv+"="+mark+"\x00")) {
			continue
		}
		argv, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		found = append(found, string(bytes.ReplaceAll(argv, []byte{0}, []byte(" "))))
	}
	return found
}

// openTerminal makes a pseudo-terminal: what is written to one end is typed at
// the other.
func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	return master, slave, err
}

// onTerminal makes stdin the terminal that sends Ctrl-C.
func onTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }
