package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestMain lets the test binary be the command: tests find it on PATH, whatever
// is installed on this machine.
func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "agent-server" {
		main()
	}
	code, err := withCommand(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "putting the command on PATH:", err)
		code = 1
	}
	os.Exit(code)
}

// withCommand runs the tests with the command on PATH.
func withCommand(run func() int) (int, error) {
	bin, err := os.MkdirTemp("", "agent-server-test")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(bin)
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	name := filepath.Join(bin, "agent-server")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	// Not a symbolic link: the command starts itself, by its real path.
	if os.Link(self, name) != nil {
		if err := copyFile(self, name); err != nil {
			return 0, err
		}
	}
	if err := os.Setenv("XDG_CONFIG_HOME", filepath.Join(bin, "config")); err != nil { // nobody's own file is read
		return 0, err
	}
	if err := os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		return 0, err
	}
	return run(), nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
