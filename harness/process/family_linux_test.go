package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// Law 76: whatever a child started, and wherever that went, ends with it.
func TestLaw76_nobodyIsLeft(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"group", "session", "daemon", "bare"} {
		for _, how := range []string{"stop", "kill", "eof", "exit"} {
			if kind == "bare" && (how == "eof" || how == "exit") {
				continue // out of reach, as the package says: nobody looked before the parent was gone
			}
			rounds := 1
			if kind == "bare" {
				rounds = 4 // nothing but the look before the child's end finds it: a race if any
			}
			for range rounds {
				t.Run(kind+"/"+how, func(t *testing.T) {
					t.Parallel()
					testFamily(t, kind, how)
				})
			}
		}
	}
}

func testFamily(t *testing.T, kind, how string) {
	stay := "stay"
	if how == "exit" {
		stay = "go"
	}
	file := filepath.Join(t.TempDir(), "lodger")
	rec := newRecorder()
	p := start(t, rec, "landlord", func(s *Spec) { s.Ladder = quick }, kind, stay, file)
	rec.waitLines(t, 1)
	lodger := lodgerOf(t, file)
	switch how {
	case "stop":
		p.Stop()
	case "kill":
		p.Kill()
	case "eof":
		p.CloseStdin()
	}
	status := end(t, p, rec)
	if now, ok := readProc(lodger.pid); ok && now.start == lodger.start && now.alive() {
		unix.Kill(lodger.pid, unix.SIGKILL)
		t.Errorf("the exit was reported while the grandchild lived: %+v", now)
	}
	if status.Err != nil {
		t.Errorf("fault: %v", status.Err)
	}
	if want := (Status{Code: 3}); how == "exit" && status != want {
		t.Errorf("status %+v, want %+v", status, want)
	}
}

// lodgerOf reads who a landlord's grandchild is.
func lodgerOf(t *testing.T, file string) proc {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	p, ok := readProc(pid)
	if !ok {
		return proc{pid: pid} // it has ended already: the exit is being tested
	}
	return p
}

// TestPoliteLeftover: what a child leaves is asked before it is killed, wherever it went, and
// whether the child ended by itself or because it was asked too.
func TestPoliteLeftover(t *testing.T) {
	t.Parallel()
	for _, stay := range []string{"stay", "go"} {
		t.Run(stay, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "lodger")
			rec := newRecorder()
			p := start(t, rec, "landlord", func(s *Spec) {
				s.Ladder = Ladder{AfterClose: time.Millisecond, AfterTerm: 2 * patience, AfterExit: time.Millisecond}
			}, "polite", stay, file)
			rec.waitLines(t, 1)
			if stay == "stay" {
				p.Stop()
			}
			end(t, p, rec)
			if _, err := os.Stat(file + ".asked"); err != nil {
				t.Errorf("it was not asked: %v", err)
			}
		})
	}
}

// TestLastWords: what a grandchild says on the child's stdout after the child's exit still comes.
func TestLastWords(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "landlord", func(s *Spec) { s.Ladder.AfterExit = time.Minute }, "speaker", "go", filepath.Join(t.TempDir(), "f"))
	if status := end(t, p, rec); status != (Status{Code: 3}) {
		t.Errorf("status %+v", status)
	}
	if diff := cmp.Diff(heard{"L:ready", "L:last words"}, rec.heard); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStopOfTheDead: who asks once the child has ended by itself did not stop it, but does end
// what it left.
func TestStopOfTheDead(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "landlord", func(s *Spec) { s.Ladder.AfterExit = 2 * patience }, "group", "go", filepath.Join(t.TempDir(), "f"))
	<-p.exited
	eventually(t, "stdin is closed", func() bool { return errors.Is(p.Write([]byte("x\n")), ErrClosed) })
	select {
	case <-p.Done():
		t.Error("nobody was waited for")
	default:
	}
	p.Stop()
	p.Kill()
	if status := end(t, p, rec); status != (Status{Code: 3}) {
		t.Errorf("status %+v", status)
	}
}

// TestHydras: a process that has started another one by the time it is killed does not get away.
func TestHydras(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "landlord", func(s *Spec) { s.Ladder.AfterKill = patience }, "hydras", "stay", filepath.Join(t.TempDir(), "f"))
	rec.waitLines(t, 1)
	p.Kill()
	if status := end(t, p, rec); status.Err != nil {
		t.Errorf("status %+v", status)
	}
}

// TestOutlivesKill: what cannot be ended is reported in time, and reaped should it end after all.
func TestOutlivesKill(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "stubborn", func(s *Spec) { s.Ladder.AfterKill = 20 * time.Millisecond })
	rec.waitLines(t, 1)
	// Nothing can be made unkillable here, so the signals are led astray.
	p.family.child, p.family.marker = 1<<29, t.Name()
	p.Kill()
	status := end(t, p, rec)
	if status.Code != -1 || status.Err == nil || !strings.Contains(status.Err.Error(), fmt.Sprintf("process %d outlived SIGKILL", p.PID())) {
		t.Errorf("status %+v", status)
	}
	unix.Kill(p.PID(), unix.SIGKILL)
	eventually(t, "the child is reaped", func() bool { _, there := readProc(p.PID()); return !there })
}

// TestThreadEnds: a child does not die with the thread that asked for it.
func TestThreadEnds(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	var p *Process
	tid := make(chan int)
	var begin func()
	begin = func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() {
			again := make(chan struct{}) // all but this one, which the program keeps
			go func() { begin(); close(again) }()
			<-again
			return
		}
		p = start(t, rec, "echo", nil)
		tid <- unix.Gettid()
	}
	go begin()
	thread := fmt.Sprintf("/proc/self/task/%d", <-tid)
	eventually(t, "the thread ends", func() bool { _, err := os.Stat(thread); return err != nil })
	if err := p.Write([]byte("alive\n")); err != nil {
		t.Error(err)
	}
	p.CloseStdin()
	if status := end(t, p, rec); status != (Status{}) {
		t.Errorf("status %+v", status)
	}
	if diff := cmp.Diff(heard{"L:alive"}, rec.heard); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// program runs this binary, as one that uses the package, until it ends.
func program(t *testing.T, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self(t), args...)
	cmd.Env = []string{childEnv + "=" + name}
	cmd.Stderr = os.Stderr
	return cmd
}

// TestParentDies: a child that nothing else would end dies with the program.
func TestParentDies(t *testing.T) {
	t.Parallel()
	m := marker(t)
	cmd := program(t, "parent", m)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, 6)
	if _, err := out.Read(ready); err != nil || string(ready) != "ready\n" {
		t.Errorf("the child said %q, %v", ready, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the child dies", func() bool { return len(carriers(m)) == 0 })
}

// TestSubreaper: what children leave is adopted and reaped, what others started is not touched.
func TestSubreaper(t *testing.T) {
	t.Parallel()
	out, err := program(t, "subreaper", marker(t), filepath.Join(t.TempDir(), "lodger")).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("lodger there false, other: exit status 7\n", 3)
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManyAtOnce: children that end together share their looks at the system and all end.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var recs []*recorder
	var all []*Process
	for range 12 {
		rec := newRecorder()
		all = append(all, start(t, rec, "echo", nil))
		recs = append(recs, rec)
	}
	for _, p := range all {
		p.Stop()
	}
	for i, p := range all {
		if status := end(t, p, recs[i]); status != (Status{Stopped: true}) {
			t.Errorf("status %+v", status)
		}
	}
}
