package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// patience bounds every wait for something that must come.
const patience = 60 * time.Second

// quick is a ladder whose polite rungs are short, for children that are known to ignore them.
var quick = Ladder{AfterClose: 10 * time.Millisecond, AfterTerm: 10 * time.Millisecond, AfterExit: 10 * time.Millisecond}

// recorder is a Sink that keeps what it hears.
type recorder struct {
	line  func() // called first, if set
	short bool   // of lines only the first letter and the length are kept

	mu       sync.Mutex
	heard    heard
	statuses []Status
	late     int // calls after Exited
	changed  chan struct{}
}

func newRecorder() *recorder {
	return &recorder{changed: make(chan struct{}, 1)}
}

func (r *recorder) Line(b []byte) {
	if r.short {
		r.hear(fmt.Sprintf("L:%c… %d", b[0], len(b)))
		return
	}
	r.hear("L:" + string(b))
}

func (r *recorder) Dropped(n int64) { r.hear(fmt.Sprintf("D:%d", n)) }

func (r *recorder) hear(what string) {
	if r.line != nil {
		r.line()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, what)
	r.late += len(r.statuses)
	r.notify()
}

func (r *recorder) Exited(s Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statuses = append(r.statuses, s)
	r.notify()
}

func (r *recorder) notify() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// waitLines waits until n lines have come.
func (r *recorder) waitLines(t testing.TB, n int) {
	t.Helper()
	limit := time.After(patience)
	for {
		r.mu.Lock()
		got := len(r.heard)
		r.mu.Unlock()
		if got >= n {
			return
		}
		select {
		case <-r.changed:
		case <-limit:
			t.Fatalf("%d lines of %d came", got, n)
		}
	}
}

// start runs one of the children. When the test is over it must have ended by itself or by what
// the test did, exactly one exit must have been reported, and nobody may be left.
func start(t testing.TB, rec *recorder, child string, change func(*Spec), args ...string) *Process {
	t.Helper()
	spec := Spec{Path: self(t), Args: args, Env: []string{childEnv + "=" + child}, Marker: marker(t)}
	if change != nil {
		change(&spec)
	}
	p, err := Start(spec, rec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		select {
		case <-p.Done():
		default:
			t.Error("the test ended before its process")
			p.Kill()
			select {
			case <-p.Done():
			case <-time.After(patience):
				t.Fatal("and cannot be ended")
			}
		}
		if len(rec.statuses) != 1 || rec.late != 0 {
			t.Errorf("%d exits reported, %d lines after that", len(rec.statuses), rec.late)
		}
	})
	return p
}

// marker makes a marker for the test and checks at its end that nobody carries it.
func marker(t testing.TB) string {
	m := fmt.Sprintf("%s-%d-%d", t.Name(), os.Getpid(), time.Now().UnixNano())
	t.Cleanup(func() {
		if left := carriers(m); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return m
}

// carriers finds the processes with a marker, by other means than the package does.
func carriers(marker string) []string {
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		b, _ := os.ReadFile(file)
		if bytes.Contains(b, []byte(marker)) {
			cmd, _ := os.ReadFile(filepath.Dir(file) + "/cmdline")
			found = append(found, fmt.Sprintf("%s %q", file, cmd))
		}
	}
	return found
}

// end waits for the process and returns what it reported.
func end(t testing.TB, p *Process, rec *recorder) Status {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatalf("process %d does not end", p.PID())
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.statuses[0]
}

// eventually waits until something is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	limit := time.After(patience)
	for !so() {
		select {
		case <-limit:
			t.Fatalf("it never came: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestLinesBothWays(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "echo", nil)
	var want heard
	for i := range 5000 {
		line := fmt.Sprintf(`{"n":%d,"pad":%q}`, i, strings.Repeat("x", i%700))
		want = append(want, "L:"+line)
		if i%2 == 0 {
			line += "\n" // the other half gets its newline from Write
		}
		if err := p.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	p.CloseStdin()
	if err := p.Write([]byte("late\n")); !errors.Is(err, ErrClosed) {
		t.Errorf("Write after CloseStdin: %v, want ErrClosed", err)
	}
	status := end(t, p, rec)
	if diff := cmp.Diff(Status{}, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, rec.heard); diff != "" {
		t.Errorf("lines (-want +got):\n%.2000s", diff)
	}
}

// TestWriteCopies: the caller may use its bytes again at once.
func TestWriteCopies(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "echo", nil)
	line := []byte("abc\n")
	for range 100 {
		copy(line, "abc")
		if err := p.Write(line); err != nil {
			t.Fatal(err)
		}
		copy(line, "xyz")
	}
	p.CloseStdin()
	end(t, p, rec)
	for _, got := range rec.heard {
		if got != "L:abc" {
			t.Fatalf("the child read %q", got)
		}
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "x", 0o600)
	orphan := file("orphan", "#!/no/such/interpreter\n", 0o700)
	for _, tc := range []struct {
		name string
		spec Spec
		want error
		says []string
	}{
		{"missing path", Spec{Path: "/no/such/agent"}, fs.ErrNotExist, []string{"starting /no/such/agent:", "no such file"}},
		{"no path", Spec{}, nil, []string{"starting"}},
		{"not executable", Spec{Path: plain}, fs.ErrPermission, []string{plain, "permission denied"}},
		{"a directory", Spec{Path: dir}, fs.ErrPermission, []string{dir, "permission denied"}},
		{"no interpreter", Spec{Path: orphan}, fs.ErrNotExist, []string{orphan, "interpreter"}},
		{"missing directory", Spec{Path: self(t), Dir: dir + "/none"}, fs.ErrNotExist, []string{self(t), dir + "/none", "working directory"}},
		{"directory is a file", Spec{Path: self(t), Dir: plain}, nil, []string{self(t), plain, "not a directory"}},
		{"NUL in an argument", Spec{Path: self(t), Args: []string{"a\x00"}}, syscall.EINVAL, []string{self(t), "invalid argument"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rec := newRecorder()
			p, err := Start(tc.spec, rec)
			if err == nil {
				p.Kill()
				p.Wait()
				t.Fatal("it started")
			}
			if tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("%v is not %v", err, tc.want)
			}
			for _, word := range tc.says {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
			if len(rec.heard)+len(rec.statuses) != 0 {
				t.Errorf("the sink heard %v %v", rec.heard, rec.statuses)
			}
		})
	}
}

// TestHowItEnds: exit codes, signals and the tail of stderr come out as they are.
func TestHowItEnds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		child string
		args  []string
		want  Status
		reads string
	}{
		{"exit", []string{"0", ""}, Status{}, "exit status 0"},
		{"exit", []string{"3", "bad \xff flag\n"}, Status{Code: 3, StderrTail: "bad \uFFFD flag\n"}, "exit status 3"},
		{"die", []string{"9"}, Status{Code: -1, Signal: "killed"}, "signal: killed"},
		{"die", []string{"15"}, Status{Code: -1, Signal: "terminated"}, "signal: terminated"},
	} {
		t.Run(tc.reads, func(t *testing.T) {
			t.Parallel()
			rec := newRecorder()
			p := start(t, rec, tc.child, nil, tc.args...)
			status := end(t, p, rec)
			if diff := cmp.Diff(tc.want, status); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if status.String() != tc.reads {
				t.Errorf("it reads %q", status)
			}
			if err := p.Write([]byte("x\n")); !errors.Is(err, ErrClosed) {
				t.Errorf("Write after the exit: %v, want ErrClosed", err)
			}
			p.Stop()
			p.Kill()
		})
	}
}

// TestRungs: each child ends on the rung that it listens to.
func TestRungs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		child  string
		ladder Ladder
		end    func(*Process)
		want   Status
	}{
		{"echo", Ladder{}, (*Process).Stop, Status{Stopped: true}},
		{"deaf", Ladder{AfterClose: time.Millisecond}, (*Process).Stop, Status{Code: -1, Signal: "terminated", Stopped: true}},
		{"stubborn", quick, (*Process).Stop, Status{Code: -1, Signal: "killed", Stopped: true}},
		{"stubborn", Ladder{}, (*Process).Kill, Status{Code: -1, Signal: "killed", Stopped: true}},
	} {
		t.Run(tc.child, func(t *testing.T) {
			t.Parallel()
			rec := newRecorder()
			p := start(t, rec, tc.child, func(s *Spec) { s.Ladder = tc.ladder })
			if tc.child != "echo" {
				rec.waitLines(t, 1)
			}
			tc.end(p)
			if err := p.Write([]byte("x\n")); !errors.Is(err, ErrClosed) {
				t.Errorf("Write after the stop: %v, want ErrClosed", err)
			}
			if diff := cmp.Diff(tc.want, end(t, p, rec)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStopAgain: every way of asking twice, from everywhere, is one end.
func TestStopAgain(t *testing.T) {
	t.Parallel()
	rec := newRecorder()
	p := start(t, rec, "stubborn", func(s *Spec) { s.Ladder = Ladder{AfterClose: time.Hour} })
	rec.waitLines(t, 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(p.Stop)
	}
	all.Wait()
	p.CloseStdin()
	for range 8 {
		all.Go(p.Kill) // overtakes the hour
	}
	all.Wait()
	if status := end(t, p, rec); status.Signal != "killed" || status.Err != nil {
		t.Errorf("status %+v", status)
	}
	p.Stop()
	p.Kill()
	p.CloseStdin()
}

// TestHowAChildIsStarted: its session, its group, its files and its environment.
func TestHowAChildIsStarted(t *testing.T) {
	t.Parallel()
	m, dir := marker(t), t.TempDir()
	for _, tc := range []struct {
		child, want string
	}{
		{"self", "L:leads session true group true blocking true true true"},
		{"env", "L:" + childEnv + "=env|A=2|" + MarkerEnv + "=" + m},
		{"pwd", "L:" + dir},
	} {
		rec := newRecorder()
		p := start(t, rec, tc.child, func(s *Spec) {
			s.Env, s.Dir, s.Marker = append(s.Env, "A=1", MarkerEnv+"=wrong", "A=2"), dir, m
		})
		end(t, p, rec)
		if diff := cmp.Diff(heard{tc.want}, rec.heard); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.child, diff)
		}
	}
}

// TestDescriptors is not parallel: no other test opens files while it counts.
func TestDescriptors(t *testing.T) {
	count := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would close what we forget
	var before int
	for i := range 5 {
		rec := newRecorder()
		p := start(t, rec, "echo", nil)
		p.Stop()
		end(t, p, rec)
		Start(Spec{Path: "/no/such/agent"}, rec)
		if i == 0 {
			before = count() // the first opened what the runtime keeps
		}
	}
	if after := count(); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// BenchmarkChild is a child that writes 330-byte lines in large blocks, to the sink.
func BenchmarkChild(b *testing.B) {
	const lines = 500_000
	for b.Loop() {
		count := 0
		done := make(chan Status, 1)
		p, err := Start(Spec{Path: self(b), Args: []string{strconv.Itoa(lines)}, Env: []string{childEnv + "=flood"}}, lineTo{
			line:   func(string) { count++ },
			exited: func(s Status) { done <- s },
		})
		if err != nil {
			b.Fatal(err)
		}
		p.Wait()
		if status := <-done; count != lines || status != (Status{}) {
			b.Fatalf("%d lines, %+v", count, status)
		}
	}
	b.ReportMetric(float64(b.N)*lines/b.Elapsed().Seconds()/1e6, "Mlines/s")
}

// BenchmarkStartToExit is the whole life of a child that does nothing.
func BenchmarkStartToExit(b *testing.B) {
	for b.Loop() {
		p, err := Start(Spec{Path: self(b), Args: []string{"0", ""}, Env: []string{childEnv + "=exit"}}, lineTo{exited: func(Status) {}})
		if err != nil {
			b.Fatal(err)
		}
		p.Wait()
	}
}

// BenchmarkIdleChild is the memory that a child costs us while it says nothing.
func BenchmarkIdleChild(b *testing.B) {
	const children = 40
	measure := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc + stats.StackInuse
	}
	var total uint64
	for b.Loop() {
		before := measure()
		var all []*Process
		for range children {
			ready := make(chan struct{})
			p, err := Start(Spec{Path: self(b), Env: []string{childEnv + "=deaf"}}, lineTo{
				line:   func(string) { close(ready) },
				exited: func(Status) {},
			})
			if err != nil {
				b.Fatal(err)
			}
			<-ready
			all = append(all, p)
		}
		total += measure() - before
		for _, p := range all {
			p.Kill()
		}
		for _, p := range all {
			p.Wait()
		}
	}
	b.ReportMetric(float64(total)/float64(b.N)/children, "B/child")
}
