package process

import (
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestKillPending(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]bool{
		"": false, "Name:\tx\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n": false,
		"Name:\tx\nShdPnd:\t0000000000000100\nSigBlk:\t0\n": true, "A:\nShdPnd:\t0000000000014103": true, "A:\nShdPnd:\tx\n": false,
	} {
		if got := killPending([]byte(status)); got != want {
			t.Errorf("%q: %v", status, got)
		}
	}
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = " 1 20 20 0 -1 4194304 101 0 0 0 0 0 0 0 20 0 3 0 35586 3133440 416"
	for name, tc := range map[string]struct {
		stat string
		want proc
		ok   bool
	}{
		"plain":          {"7 (cat) S" + rest, proc{pid: 7, ppid: 1, pgrp: 20, session: 20, start: 35586, state: 'S', threads: 3, flags: 4194304}, true},
		"awkward name":   {"7 (a) R 1 2) (x) Z" + rest, proc{pid: 7, ppid: 1, pgrp: 20, session: 20, start: 35586, state: 'Z', threads: 3, flags: 4194304}, true},
		"gone meanwhile": {"", proc{}, false},
		"cut":            {"7 (cat) S 1 2 3", proc{}, false},
	} {
		got, ok := parseStat(7, []byte(tc.stat))
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(proc{})); ok != tc.ok || diff != "" {
			t.Errorf("%s: ok %v (-want +got):\n%s", name, ok, diff)
		}
	}
}

func TestAlive(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		p    proc
		want bool
	}{
		{proc{state: 'R', threads: 1}, true},
		{proc{state: 'T', threads: 1}, true},
		{proc{state: 'Z', threads: 1}, false},
		{proc{state: 'Z', threads: 2}, true}, // the first thread ended, others go on
		{proc{state: 'X'}, false},
	} {
		if got := tc.p.alive(); got != tc.want {
			t.Errorf("%c with %d threads: alive %v", tc.p.state, tc.p.threads, got)
		}
	}
}

func TestFindMarker(t *testing.T) {
	t.Parallel()
	for environ, want := range map[string]string{
		"":                                   "",
		"A=1\x00B=2\x00":                     "",
		"AGENT_SERVER_CHILD=x\x00":           "x",
		"A=1\x00AGENT_SERVER_CHILD=x\x00B=2": "x",
		"A=1\x00AGENT_SERVER_CHILD=x":        "x",
		"A=AGENT_SERVER_CHILD=y\x00":         "",
		"XAGENT_SERVER_CHILD=y\x00":          "",
		"A=AGENT_SERVER_CHILD=y\x00AGENT_SERVER_CHILD=x\x00": "x",
		"AGENT_SERVER_CHILD=\x00":                            "",
	} {
		if got := findMarker([]byte(environ)); got != want {
			t.Errorf("%q holds %q, want %q", environ, got, want)
		}
	}
}

// TestReadFileGrows: an environment of any size is read whole.
func TestReadFileGrows(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/f"
	want := make([]byte, 100_001)
	for i := range want {
		want[i] = byte(i)
	}
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readFile(path, make([]byte, 16)); !cmp.Equal(got, want) {
		t.Errorf("%d of %d bytes", len(got), len(want))
	}
	if got := readFile(path+"none", make([]byte, 16)); len(got) != 0 {
		t.Errorf("a missing file has %d bytes", len(got))
	}
}

// TestMembers draws a small world and asks who belongs.
func TestMembers(t *testing.T) {
	t.Parallel()
	f := &family{child: 100, marker: "m", known: map[int]uint64{300: 7, 400: 7}}
	world := []proc{
		{pid: 1, start: 1},
		{pid: 100, ppid: 1, session: 100, pgrp: 100}, // the child
		{pid: 101, ppid: 100, session: 101},          // its own session, still its child
		{pid: 102, ppid: 1, session: 100},            // orphaned, same session
		{pid: 103, ppid: 1, session: 55, pgrp: 100},  // same group
		{pid: 104, ppid: 1, session: 104, marker: "m"},
		{pid: 50, ppid: 104, session: 50},                        // descends from one with a smaller pid
		{pid: 49, ppid: 50, session: 49},                         // and again
		{pid: 300, ppid: 1, session: 300, start: 7},              // known
		{pid: 400, ppid: 1, session: 400, start: 8},              // the number of a known one, somebody else
		{pid: 401, ppid: 400, session: 401},                      // and that one's child
		{pid: 500, ppid: 1, session: 500, marker: "n"},           // another's
		{pid: os.Getpid(), ppid: 100, session: 100, marker: "m"}, // never ourselves
		{pid: 501, ppid: os.Getpid(), session: 501},
	}
	got := f.members(world)
	want := map[int]bool{100: true, 101: true, 102: true, 103: true, 104: true, 50: true, 49: true, 300: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRecycledNumber: a number that has come to somebody else is not signalled.
func TestRecycledNumber(t *testing.T) {
	t.Parallel()
	other := exec.Command(self(t))
	other.Env = []string{childEnv + "=deaf"}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it is up
		t.Fatal(err)
	}
	pid := other.Process.Pid
	p, ok := readProc(pid)
	if !ok {
		t.Fatal("the child is not in /proc")
	}
	signalProc(pid, p.start-1, unix.SIGKILL)
	f := &family{child: 1 << 29, marker: t.Name(), known: map[int]uint64{pid: p.start - 1}}
	f.signalKnown(unix.SIGKILL)
	f.kill()
	signalProc(pid, p.start, unix.SIGTERM) // this one does arrive: it decides how the child ends
	if err := other.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("the child ended with %v, want signal: terminated", err)
	}
}

// TestTableIsFresh: a table is never older than the question.
func TestTableIsFresh(t *testing.T) {
	t.Parallel()
	for range 3 {
		cmd := exec.Command(self(t))
		cmd.Env = []string{childEnv + "=deaf"}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, p := range processTable().procs {
			found = found || p.pid == cmd.Process.Pid
		}
		cmd.Process.Kill()
		cmd.Wait()
		if !found {
			t.Error("a process that had started before the question is not in the table")
		}
	}
}

// BenchmarkTable is what one look at the whole system costs.
func BenchmarkTable(b *testing.B) {
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n = len(walkProc())
	}
	b.ReportMetric(float64(n), "processes")
}
