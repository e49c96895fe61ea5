package process

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// childEnv names the variable that makes this test binary one of the children below.
const childEnv = "PROCESS_TEST_CHILD"

// children are the programs that the tests run: this binary, told which to be.
var children = map[string]func(args []string){
	"echo":       echo,
	"exit":       func(args []string) { fmt.Fprint(os.Stderr, args[1]); syscall.Exit(number(args[0])) },
	"die":        func(args []string) { unix.Kill(os.Getpid(), syscall.Signal(number(args[0]))); idle() },
	"stubborn":   func([]string) { ignoreSignals(); fmt.Println("ready"); idle() },
	"deaf":       func([]string) { fmt.Println("ready"); idle() },
	"closestdin": func([]string) { os.Stdin.Close(); fmt.Println("ready"); idle() },
	"stderr":     func(args []string) { repeat(os.Stderr, "0123456789\n", number(args[0])); fmt.Println("done") },
	"long":       long,
	"flood":      func(args []string) { repeat(os.Stdout, strings.Repeat("x", 329)+"\n", number(args[0])) },
	"bytes":      func(args []string) { b, _ := hex.DecodeString(args[0]); os.Stdout.Write(b) },
	"midline":    func([]string) { fmt.Print("whole\nhal"); unix.Kill(os.Getpid(), unix.SIGKILL); idle() },
	"self":       describe,
	"env":        func([]string) { fmt.Println(strings.Join(os.Environ(), "|")) },
	"pwd":        func([]string) { dir, _ := os.Getwd(); fmt.Println(dir) },
	"landlord":   landlord,
	"fork":       func(args []string) { lodge(args[0], nil, nil, args[1:]...) },
	"lodger":     lodger,
	"polite":     polite,
	"hydra":      hydra,
	"speaker":    speaker,
	"parent":     parent,
	"subreaper":  subreaper,
	"sip":        sip,
	"mute":       mute,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		children[name](os.Args[1:])
		syscall.Exit(0) // not os.Exit, which has something to say in a test for coverage
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("agent-server/harness/process.spawnLoop"))
}

// self is the path of this test binary.
func self(t testing.TB) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// idle stays, but not for ever should a test lose it.
func idle() {
	time.Sleep(2 * time.Minute)
	syscall.Exit(99)
}

func ignoreSignals() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
}

func echo([]string) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Print(line)
	}
}

// sip reads that many bytes of stdin and stays.
func sip(args []string) {
	if _, err := io.ReadFull(os.Stdin, make([]byte, number(args[0]))); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	idle()
}

// mute closes its stdout and stays until stdin ends; with an argument even then.
func mute(args []string) {
	fmt.Println("ready")
	os.Stdout.Close()
	if len(args) > 0 {
		ignoreSignals()
		idle()
	}
	io.Copy(io.Discard, os.Stdin)
}

// repeat writes n times s in large blocks.
func repeat(w io.Writer, s string, n int) {
	out := bufio.NewWriterSize(w, 64<<10)
	defer out.Flush()
	for range n {
		out.WriteString(s)
	}
}

// long writes a line of that many bytes and a short one.
func long(args []string) {
	block := bytes.Repeat([]byte{'x'}, 1<<20)
	for left := number(args[0]); left > 0; left -= len(block) {
		os.Stdout.Write(block[:min(left, len(block))])
	}
	fmt.Print("\nafter\n")
}

// describe says what a child can learn of how it was started.
func describe([]string) {
	sid, _ := unix.Getsid(0)
	var blocking []string
	for fd := range 3 {
		flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		blocking = append(blocking, strconv.FormatBool(flags&unix.O_NONBLOCK == 0))
	}
	fmt.Printf("leads session %v group %v blocking %s\n", sid == os.Getpid(), unix.Getpgrp() == os.Getpid(), strings.Join(blocking, " "))
}

// lodge starts this binary as another child and does not wait for it.
func lodge(name string, env []string, attr *syscall.SysProcAttr, args ...string) {
	path, _ := os.Executable()
	cmd := exec.Command(path, args...)
	cmd.Env = append(append(os.Environ(), env...), childEnv+"="+name)
	if len(env) == 1 && env[0] == "" { // an empty one: nothing is handed on
		cmd.Env = []string{childEnv + "=" + name}
	}
	cmd.SysProcAttr = attr
	if attr == nil || !attr.Setsid { // whoever stays in the session keeps the pipes too
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// landlord starts a grandchild of that kind, waits until it is up, says so, and ends at once
// with code 3 or when its stdin ends.
func landlord(args []string) {
	kind, stay, file := args[0], args[1] == "stay", args[2]
	away := &syscall.SysProcAttr{Setsid: true}
	switch kind {
	case "group": // keeps stdout and ignores SIGTERM
		lodge("lodger", nil, nil, file)
	case "session":
		lodge("lodger", nil, away, file)
	case "daemon": // its parent ends, so it gets another
		lodge("fork", nil, away, "lodger", file)
	case "bare": // its own session, no marker
		lodge("lodger", []string{""}, away, file)
	case "polite": // its own session, does what SIGTERM asks
		lodge("polite", nil, away, file)
	case "hydras": // nobody stays for long, somebody is always there
		for range 4 {
			lodge("hydra", nil, away, file, strconv.FormatInt(time.Now().Add(2*time.Minute).Unix(), 10))
		}
	case "speaker": // keeps stdout and says something after its parent's end
		lodge("speaker", nil, nil, file, strconv.Itoa(os.Getpid()))
	}
	for {
		if b, _ := os.ReadFile(file); strings.HasSuffix(string(b), "\n") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println("ready")
	if !stay {
		syscall.Exit(3)
	}
	io.Copy(io.Discard, os.Stdin)
}

// lodger says who it is in a file and stays, whatever it is asked.
func lodger(args []string) {
	ignoreSignals()
	announce(args[0])
	idle()
}

// polite says who it is, and in another file that it was asked to end.
func polite(args []string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	announce(args[0])
	<-asked
	announce(args[0] + ".asked")
}

// hydra says that it is there, starts another of its kind in a session of its own, and ends.
func hydra(args []string) {
	ignoreSignals()
	announce(args[0])
	if time.Now().Unix() < int64(number(args[1])) {
		lodge("hydra", nil, &syscall.SysProcAttr{Setsid: true}, args...)
	}
}

// speaker waits until its parent is dead and a little longer, says something and ends.
func speaker(args []string) {
	announce(args[0])
	for {
		if p, ok := readProc(number(args[1])); !ok || !p.alive() {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	fmt.Println("last words")
}

func announce(file string) {
	if err := os.WriteFile(file, fmt.Appendln(nil, os.Getpid()), 0o600); err != nil {
		panic(err)
	}
}

// lineTo is a Sink that hands lines and the end to functions.
type lineTo struct {
	line   func(string)
	exited func(Status)
}

func (l lineTo) Line(b []byte)   { l.line(string(b)) }
func (l lineTo) Dropped(int64)   {}
func (l lineTo) Exited(s Status) { l.exited(s) }

// parent starts a child through this package and tells its pid; it does nothing when told to end.
func parent(args []string) {
	path, _ := os.Executable()
	p, err := Start(Spec{Path: path, Env: []string{childEnv + "=stubborn"}, Marker: args[0]}, lineTo{
		line:   func(s string) { fmt.Println(s) },
		exited: func(Status) {},
	})
	if err != nil {
		panic(err)
	}
	p.Wait()
}

// subreaper adopts what its children leave, and says what became of it: the zombies it has when
// each child has been reported, and whether commands of its own kept their exits.
func subreaper(args []string) {
	if err := EnableSubreaper(); err != nil {
		panic(err)
	}
	path, _ := os.Executable()
	for i := range 3 {
		file := fmt.Sprintf("%s%d", args[1], i)
		p, err := Start(Spec{
			Path: path, Env: []string{childEnv + "=landlord"},
			Args: []string{"daemon", "stay", file}, Marker: args[0],
			Ladder: Ladder{AfterClose: time.Millisecond, AfterTerm: time.Millisecond},
		}, lineTo{line: func(string) {}, exited: func(Status) {}})
		if err != nil {
			panic(err)
		}
		other := exec.Command(path, "7", "")
		other.Env = []string{childEnv + "=exit"}
		other.Start()
		for b := []byte(nil); !bytes.HasSuffix(b, []byte("\n")); b, _ = os.ReadFile(file) {
			time.Sleep(time.Millisecond)
		}
		b, _ := os.ReadFile(file)
		lodger := number(strings.TrimSpace(string(b)))
		for { // the fork between them ends a little later
			if p, _ := readProc(lodger); p.ppid == os.Getpid() {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if i == 1 { // it dies while its family lives: that must leave no zombie either
			for known := false; !known; time.Sleep(time.Millisecond) { // the other's end had us look around
				p.family.mu.Lock()
				_, known = p.family.known[lodger]
				p.family.mu.Unlock()
			}
			unix.Kill(lodger, unix.SIGKILL)
			for there := true; there; _, there = readProc(lodger) {
				time.Sleep(time.Millisecond)
			}
		}
		p.Stop()
		p.Wait()
		_, there := readProc(lodger)
		fmt.Printf("lodger there %v, other: %v\n", there, other.Wait())
	}
	for _, p := range walkProc() {
		if p.ppid == os.Getpid() {
			fmt.Printf("left: %+v\n", p)
		}
	}
}
