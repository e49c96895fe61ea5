// Command testlog runs go test and fails where a test was skipped: on a machine
// that has everything, a skipped test checks nothing and must not look green.
//
//	go run ./internal/testlog [go test flags] packages
//
// It decides what is printed: a line a package, the output of what failed, and
// the names of what was skipped. It refuses to know what the tests are about. It
// runs on one goroutine beside go test itself.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// key names a test, or a package where Test is empty.
type key struct{ pkg, test string }

// log gathers what was said until it is known whether it matters.
type log struct {
	out     io.Writer
	said    map[key]*strings.Builder
	skipped []string
	passed  int
	failed  int
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
		os.Exit(1)
	}
}

func run(args []string, out, errw io.Writer) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = errw
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	l := &log{out: out, said: map[key]*strings.Builder{}}
	err = errors.Join(l.read(pipe), cmd.Wait())
	return errors.Join(err, l.verdict())
}

func (l *log) read(r io.Reader) error {
	d := json.NewDecoder(r)
	for {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading go test's events: %w", err)
		}
		l.take(e)
	}
}

func (l *log) take(e event) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "output", "build-output":
		l.say(k, e.Output)
		return
	case "skip":
		if e.Test != "" {
			l.skipped = append(l.skipped, e.Package+" "+e.Test)
		}
	case "pass":
		if e.Test != "" {
			l.passed++
		}
	case "fail", "build-fail":
		if e.Test != "" {
			l.failed++
		}
		fmt.Fprint(l.out, l.text(k))
		delete(l.said, k)
		return
	default:
		return
	}
	if e.Test == "" {
		fmt.Fprint(l.out, closing(l.text(k)))
	}
	delete(l.said, k)
}

func (l *log) say(k key, text string) {
	b := l.said[k]
	if b == nil {
		b = &strings.Builder{}
		l.said[k] = b
	}
	b.WriteString(text)
}

func (l *log) text(k key) string {
	if b := l.said[k]; b != nil {
		return b.String()
	}
	return ""
}

// closing keeps go test's own last line for a package.
func closing(text string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "ok\t") {
			return line
		}
	}
	return ""
}

func (l *log) verdict() error {
	fmt.Fprintf(l.out, "%d passed, %d failed, %d skipped\n", l.passed, l.failed, len(l.skipped))
	if len(l.skipped) == 0 {
		return nil
	}
	return fmt.Errorf("skipped where nothing may be:\n  %s", strings.Join(l.skipped, "\n  "))
}
