package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// inmate is a process that runs in a place.
type inmate struct {
	pid     int
	cmdline string
}

// inmates are the processes of a place: the gateway, its children, and whatever
// those have started. HOME and working folder are the place's alone and are
// inherited, so one that left its session, its group and its parent still shows.
func (p place) inmates(t *testing.T) []inmate {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []inmate
	for _, dir := range dirs {
		// What cannot be read has ended meanwhile; what has ended and not been waited
		// for has an empty environment.
		env, _ := os.ReadFile(dir + "/environ")
		cwd, _ := os.Readlink(dir + "/cwd")
		if !contains(env, "HOME="+p.home) && !strings.HasPrefix(cwd, p.cwd) {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		pid, _ := strconv.Atoi(filepath.Base(dir))
		found = append(found, inmate{pid, string(bytes.ReplaceAll(bytes.TrimRight(line, "\x00"), []byte{0}, []byte{' '}))})
	}
	return found
}

// contains looks for one whole variable.
func contains(environ []byte, variable string) bool {
	return bytes.HasPrefix(environ, []byte(variable+"\x00")) || bytes.Contains(environ, []byte("\x00"+variable+"\x00"))
}

// nothingLeft wants no process in a place whose gateway has ended. There is
// nothing to wait for: the gateway ends after the last of them.
func (p place) nothingLeft(t *testing.T) {
	t.Helper()
	for _, left := range p.inmates(t) {
		t.Errorf("process %d is left: %s", left.pid, left.cmdline)
	}
}

// pause waits a little before /proc is looked at again, which nothing announces;
// false once the context has ended.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(20 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}
