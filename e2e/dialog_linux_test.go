package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// object is one line of JSON.
type object = map[string]any

// requireCLI returns the path of a CLI's native binary, given below node_modules. A CLI
// that is not installed, or would see a real network, is not run.
func requireCLI(t *testing.T, binary string) string {
	t.Helper()
	if isolation != nil {
		missing(t, "no network namespace with loopback alone: %v", isolation)
	}
	path, err := cliPath(binary)
	if err != nil {
		missing(t, "not installed (run e2e/install.sh): %v", err)
	}
	return path
}

// cliPath is where a CLI is installed; an error where it is not.
func cliPath(binary string) (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	path := wd + "/node_modules/" + binary
	_, err = os.Stat(path)
	return path, err
}

// command is what a dialog starts.
type command struct {
	path string
	args []string
	env  []string // the whole environment
	dir  string
}

// dialog talks JSON lines with a child. One goroutine, the test's, uses it.
type dialog struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan object // closed at the end of stdout
	record *transcript
	stderr bytes.Buffer // complete once the child is waited for
	ended  sync.Once
}

// startDialog starts a child that ends with the test.
func startDialog(t *testing.T, c command) *dialog {
	t.Helper()
	cmd := exec.Command(c.path, c.args...)
	cmd.Env, cmd.Dir = c.env, c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	d := &dialog{t: t, cmd: cmd, lines: make(chan object, 1024), record: newTranscript(t, c)}
	cmd.Stderr = &d.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.stdin = stdin
	go d.read(stdout)
	t.Cleanup(d.end)
	return d
}

// read hands on every line of stdout. It ends with the child, whose last lines end drains.
func (d *dialog) read(stdout io.Reader) {
	defer close(d.lines)
	in := bufio.NewReader(stdout)
	for {
		raw, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		d.record.add("out", raw)
		line := object{}
		if json.Unmarshal(raw, &line) != nil {
			line = object{"type": "not json", "text": string(raw)}
		}
		d.lines <- line
	}
}

// send writes one line.
func (d *dialog) send(line object) {
	d.t.Helper()
	raw, err := json.Marshal(line)
	if err != nil {
		d.t.Fatal(err)
	}
	d.record.add("in", raw)
	if _, err := d.stdin.Write(append(raw, '\n')); err != nil {
		d.t.Fatalf("writing to the CLI: %v", err)
	}
}

// until returns the next lines, up to the first for which the condition holds.
func (d *dialog) until(condition func(object) bool) []object {
	d.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	var lines []object
	for {
		select {
		case line, more := <-d.lines:
			if !more {
				d.t.Fatalf("the CLI ended its output; the last of %d lines: %v", len(lines), tail(lines))
			}
			lines = append(lines, line)
			if condition(line) {
				return lines
			}
		case <-limit.C:
			d.t.Fatalf("nothing came that fits; the last of %d lines: %v", len(lines), tail(lines))
		}
	}
}

// last is until, for those who need only the line that fits.
func (d *dialog) last(condition func(object) bool) object {
	d.t.Helper()
	lines := d.until(condition)
	return lines[len(lines)-1]
}

func tail(lines []object) []object { return lines[max(0, len(lines)-3):] }

// end closes stdin, which asks a CLI to leave, and kills one that stays. Whatever it left
// in its process group goes with it.
func (d *dialog) end() {
	d.ended.Do(func() {
		d.stdin.Close()
		late := time.AfterFunc(patience, d.kill)
		for range d.lines { // the child must not stand on a full pipe
		}
		err := d.cmd.Wait()
		late.Stop()
		d.kill()
		d.record.add("err", d.stderr.Bytes())
		if d.t.Failed() {
			d.t.Logf("the CLI ended with %v; stderr: %s", err, d.stderr.String())
		}
	})
}

// kill ends the child's process group, which is named like the child; none left is fine.
func (d *dialog) kill() { _ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL) }
