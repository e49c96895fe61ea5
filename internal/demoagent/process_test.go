//go:build unix

package demoagent

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// child is the agent in a process of its own.
type child struct {
	*client
	cmd    *exec.Cmd
	out    *bufio.Scanner
	stderr strings.Builder
}

// spawn starts the test binary as the agent, with a session open.
func spawn(t *testing.T) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(exe)}
	c.cmd.Env = append(os.Environ(), childEnv+"=1", SeedEnv+"="+testSeed)
	c.cmd.Stderr = &c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	r, w := io.Pipe()
	go func() {
		_, _ = io.Copy(in, r)
		_ = in.Close()
	}()
	t.Cleanup(func() { _ = w.Close() })
	c.client, c.out = &client{t: t, in: w}, bufio.NewScanner(out)
	c.call("initialize", `{"protocolVersion":1}`)
	c.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
	c.until(firstSession)
	return c
}

// until reads to the line that holds text.
func (c *child) until(text string) string {
	c.t.Helper()
	for c.out.Scan() {
		if strings.Contains(c.out.Text(), text) {
			return c.out.Text()
		}
	}
	c.t.Fatalf("the child ended without %q; stderr: %s", text, c.stderr.String())
	return ""
}

// wait reads to the end and returns how the process ended.
func (c *child) wait() *os.ProcessState {
	for c.out.Scan() {
	}
	var exit *exec.ExitError
	if err := c.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		c.t.Errorf("waiting for the child: %v", err)
	}
	return c.cmd.ProcessState
}

// TestProcessCrash: the text is out before the process is gone.
func TestProcessCrash(t *testing.T) {
	t.Parallel()
	c := spawn(t)
	c.prompt(firstSession, "crash 42")
	c.until("now.")
	if state := c.wait(); state.ExitCode() != 42 {
		t.Errorf("the child ended with %v", state)
	}
	if want := "demo agent: crashing with exit code 42, as asked\n"; c.stderr.String() != want {
		t.Errorf("stderr is %q", c.stderr.String())
	}
}

// TestProcessEndOfInput: closing its input is how a client ends the agent.
func TestProcessEndOfInput(t *testing.T) {
	t.Parallel()
	c := spawn(t)
	c.prompt(firstSession, "hang tool")
	c.until("in_progress")
	_ = c.in.Close()
	c.until(`"stopReason":"cancelled"`)
	if state := c.wait(); state.ExitCode() != 0 || c.stderr.String() != "" {
		t.Errorf("the child ended with %v and stderr %q", state, c.stderr.String())
	}
}

// TestProcessSignal: SIGTERM ends the agent while it hangs politely.
func TestProcessSignal(t *testing.T) {
	t.Parallel()
	c := spawn(t)
	c.prompt(firstSession, "hang")
	c.until("cancelled.")
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := c.wait().Sys().(syscall.WaitStatus); got.Signal() != syscall.SIGTERM {
		t.Errorf("the child ended with %v", got)
	}
}

// TestProcessHangHard: neither the signals, nor a cancel, nor the end of its
// input end it. That it still answers after them shows that it is alive.
func TestProcessHangHard(t *testing.T) {
	t.Parallel()
	c := spawn(t)
	c.prompt(firstSession, "hang hard")
	c.until("killed.")
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := c.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	c.cancel(firstSession)
	c.call("nope", "{}")
	c.until("-32601")
	_ = c.in.Close()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := c.wait().Sys().(syscall.WaitStatus); got.Signal() != syscall.SIGKILL {
		t.Errorf("the child ended with %v", got)
	}
}
