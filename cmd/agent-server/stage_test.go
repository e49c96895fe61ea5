package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience bounds every wait of a script; what takes longer never comes.
const patience = 60 * time.Second

// stage holds the one command that a script talks to while it runs.
//
//	start [-tty] [-deaf] PROGRAM [ARG…]   begin; -deaf: nobody reads its stdout
//	await stdout|stderr PATTERN           until it has said so; a terminal's is stdout
//	type TEXT                             write to its stdin; \n, \x03 as in Go
//	eof                                   end its stdin
//	listen, unlisten                      read its stdout from now on, or close it
//	signal INT|TERM|HUP|KILL
//	ends CODE                             wait; -1: by a signal. Files out and err have what it said
//	nothing                               until no process of the script is left
//	alone                                 until the command is the only one
//	serve [ARG…]                          a gateway beside it, on the network; URL is its address, file token its token
//	served await|signal|ends …            the same for that; ends writes served.out and served.err
//	replace FILE PATTERN WITH             rewrite a file of the script
type stage struct {
	env *testscript.Env
	live
	// as begins the names of the files that ends writes.
	as string
	// server is the gateway beside it; nil: there is none.
	server *stage
}

type stageKey struct{}

// live is a command and its three ends.
type live struct {
	cmd       *exec.Cmd
	stdin     io.WriteCloser
	stdout    *os.File
	out, talk heard
	reading   sync.WaitGroup
}

func onStage(f func(*stage, *testscript.TestScript, []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg {
			ts.Fatalf("this command has no negation")
		}
		f(ts.Value(stageKey{}).(*stage), ts, args)
	}
}

func (s *stage) start(ts *testscript.TestScript, args []string) {
	s.live.clear()
	s.live = live{}
	tty, deaf := false, false
	for ; len(args) > 0 && strings.HasPrefix(args[0], "-"); args = args[1:] {
		tty, deaf = tty || args[0] == "-tty", deaf || args[0] == "-deaf"
	}
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Env, cmd.Dir = s.env.Vars, ts.MkAbs(".")
	for _, name := range []string{"NO_COLOR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "AGENT_SERVER_TOKEN_FILE"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	if tty {
		ts.Check(s.startOnTerminal(cmd))
	} else {
		ts.Check(s.startOnPipes(cmd))
	}
	s.cmd = cmd
	if !deaf {
		s.listen(ts, nil)
	}
}

func (s *stage) startOnPipes(cmd *exec.Cmd) error {
	var stderr io.ReadCloser
	r, w, err := os.Pipe()
	if err == nil {
		s.stdout, cmd.Stdout = r, w
		defer w.Close()
		s.stdin, err = cmd.StdinPipe()
	}
	if err == nil {
		stderr, err = cmd.StderrPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		s.reading.Go(func() { s.talk.hear(stderr) })
	}
	return err
}

func (s *stage) startOnTerminal(cmd *exec.Cmd) error {
	master, slave, err := openTerminal()
	if err != nil {
		return err
	}
	defer slave.Close()
	s.stdin, s.stdout = master, master
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = onTerminal()
	return cmd.Start()
}

func (s *stage) await(ts *testscript.TestScript, args []string) {
	from := map[string]*heard{"stdout": &s.out, "stderr": &s.talk}[args[0]]
	if !from.await(regexp.MustCompile("(?m)" + args[1])) {
		ts.Fatalf("never said %q\nstdout: %s\nstderr: %s", args[1], s.out.String(), s.talk.String())
	}
}

func (s *stage) typed(ts *testscript.TestScript, args []string) {
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(args[0], `"`, `\"`) + `"`)
	ts.Check(err)
	_, err = io.WriteString(s.stdin, text)
	ts.Check(err)
}

func (s *stage) eof(ts *testscript.TestScript, _ []string) { ts.Check(s.stdin.Close()) }

func (s *stage) listen(_ *testscript.TestScript, _ []string) {
	s.reading.Go(func() { s.out.hear(s.stdout) })
}

func (s *stage) unlisten(ts *testscript.TestScript, _ []string) { ts.Check(s.stdout.Close()) }

var signals = map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": os.Kill}

func (s *stage) signal(ts *testscript.TestScript, args []string) {
	ts.Check(s.cmd.Process.Signal(signals[args[0]]))
}

func (s *stage) ends(ts *testscript.TestScript, args []string) {
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	s.reading.Wait()
	err := s.cmd.Wait()
	if !late.Stop() {
		ts.Fatalf("did not end within %s\nstdout: %s\nstderr: %s", patience, s.out.String(), s.talk.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("waiting: %v", err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(s.as+"out"), s.out.bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(s.as+"err"), s.talk.bytes(), 0o600))
	if got := strconv.Itoa(s.cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("ended with %s, want %s\nstdout: %s\nstderr: %s", got, args[0], s.out.String(), s.talk.String())
	}
}

// nothing waits: what the kernel ends for us takes a moment.
func (s *stage) nothing(ts *testscript.TestScript, _ []string) {
	mark := s.env.Getenv(tempDirEnv)
	if !within(func() bool { return len(carrying(mark)) == 0 }) {
		ts.Fatalf("left processes: %q", carrying(mark))
	}
}

// alone waits until what the command had started is gone.
func (s *stage) alone(ts *testscript.TestScript, _ []string) {
	mark := s.env.Getenv(tempDirEnv)
	if !within(func() bool { return len(carrying(mark)) == 1 }) {
		ts.Fatalf("there are processes: %q", carrying(mark))
	}
}

// serve starts a gateway and waits until it listens.
func (s *stage) serve(ts *testscript.TestScript, args []string) {
	if s.server != nil {
		s.server.clear()
	}
	s.server = &stage{env: s.env, as: "served."}
	ts.Check(os.WriteFile(ts.MkAbs("token"), []byte(canary+"\n"), 0o600))
	s.server.start(ts, append([]string{"agent-server", "serve", "--listen", "0", "--token-file", ts.MkAbs("token"), "--state-dir", ts.MkAbs("state")}, args...))
	address := regexp.MustCompile(`listening on (\S+)`)
	if !s.server.talk.await(address) {
		ts.Fatalf("it does not listen: %s", s.server.talk.String())
	}
	ts.Setenv("URL", address.FindStringSubmatch(s.server.talk.String())[1])
}

// served is a command for the gateway beside.
func (s *stage) served(ts *testscript.TestScript, args []string) {
	map[string]func(*testscript.TestScript, []string){
		"await": s.server.await, "signal": s.server.signal, "ends": s.server.ends,
	}[args[0]](ts, args[1:])
}

// clear ends what a failed script has left.
func (s *stage) clear() {
	if s.server != nil {
		s.server.clear()
	}
	s.live.clear()
}

func (s *live) clear() {
	if s.cmd == nil || s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = s.stdout.Close()
	s.reading.Wait()
}

// replace rewrites a file by a regular expression.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	text := regexp.MustCompile("(?m)"+args[1]).ReplaceAllString(ts.ReadFile(args[0]), args[2])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// within waits for a condition, as long as patience lasts.
func within(met func() bool) bool {
	deadline := time.Now().Add(patience)
	for pause := time.Millisecond; !met(); pause = min(2*pause, 100*time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// heard is what was read so far. Safe for concurrent use.
type heard struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	over bool
	// more is closed, and made anew, when there is more; nil: nobody waits.
	more chan struct{}
}

// hear reads to the end; a terminal's end is an error too.
func (h *heard) hear(r io.Reader) {
	_, _ = io.Copy(h, r)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	h.tell()
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell()
	return h.buf.Write(b)
}

func (h *heard) tell() {
	if h.more != nil {
		close(h.more)
		h.more = nil
	}
}

func (h *heard) bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.buf.Bytes())
}

func (h *heard) String() string { return string(h.bytes()) }

// await waits until what was heard matches.
func (h *heard) await(re *regexp.Regexp) bool {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		h.mu.Lock()
		if h.more == nil {
			h.more = make(chan struct{})
		}
		more, over, met := h.more, h.over, re.Match(h.buf.Bytes())
		h.mu.Unlock()
		if met || over {
			return met
		}
		select {
		case <-more:
		case <-late.C:
			return false
		}
	}
}

// TestStageNotices: what all scripts rely on, the look for what is left, can
// fail.
func TestStageNotices(t *testing.T) {
	t.Parallel()
	mark := t.TempDir()
	cmd := exec.Command("agent-server", "demo-agent")
	cmd.Env = append(os.Environ(), tempDirEnv+"="+mark)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if canLook && !within(func() bool { return len(carrying(mark)) == 1 }) {
		t.Errorf("a running process was not found")
	}
	if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
		t.Errorf("the demo agent: %v", err)
	}
	if left := carrying(mark); len(left) > 0 {
		t.Errorf("found %q, but nothing runs", left)
	}
}
