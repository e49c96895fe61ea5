package e2e

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"agent-server/protocol"
)

// inTool brings Claude Code to where a command of its runs.
func inTool(t *testing.T) *chat {
	t.Helper()
	return newPlace(t).inTool(t)
}

func (p place) inTool(t *testing.T) *chat {
	t.Helper()
	requireCLI(t, claudeBinary)
	c := p.spawn(t).chat(protocol.HarnessClaudeCode)
	pipe := c.pipe()
	c.start(`[[tool name=Bash input={"command":"echo up > pipe; sleep 300"}]]`)
	c.answer(c.asked(), protocol.AllowOnce, "")
	c.heard(pipe, "up\n")
	c.running("sleep 300", true)
	return c
}

// The CLI is killed while a command runs, which has a session of its own and
// survives it: the gateway ends the command too, and the next turn resumes.
func TestClaudeKilledInATool(t *testing.T) {
	t.Parallel()
	c := inTool(t)
	c.kill()
	end := c.rest("")
	if end.Error == nil || end.Error.Category != protocol.CategoryProcessExit {
		t.Errorf("the turn ended with %v", end.Error)
	}
	c.running("sleep 300", false)
	c.say(after)
	c.over()
	c.end()
	c.tells(t, "Bash in_progress:", "asks Bash", "answered allow_once", "error process_exit", "ended error",
		"resumed true", "text: and after", "ended end_turn")
}

// The client goes away while a command runs: the gateway ends with all it has
// started.
func TestClientGoneInATool(t *testing.T) {
	t.Parallel()
	c := inTool(t)
	c.end()
}

// The gateway itself is killed: its harness goes with it, though nobody is left to
// stop it.
func TestGatewayKilled(t *testing.T) {
	t.Parallel()
	c := newPlace(t).spawn(t).chat(protocol.HarnessDemo)
	c.start("hang text")
	c.until(textSeen)
	c.child()
	for _, i := range c.place.inmates(t) {
		if strings.Contains(i.cmdline, "serve --stdio") {
			if err := syscall.Kill(i.pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.ended = true // there is no end in order any more
	if err := c.closing(); err == nil {
		t.Error("the client did not notice that its gateway was killed")
	}
	c.running("demo-agent", false)
	c.place.nothingLeft(t)
}

// The gateway is killed while a command runs: the CLI dies with it; the command, which
// has a session of its own, is found and ended by the next gateway on the same log, and
// the session goes on in its conversation.
func TestClaudeGatewayKilledInATool(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.state = t.TempDir()
	c := p.inTool(t)
	for _, i := range c.place.inmates(t) {
		if strings.Contains(i.cmdline, "serve --stdio") {
			if err := syscall.Kill(i.pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.ended = true // there is no end in order any more
	_ = c.closing()
	c.running("--output-format=stream-json", false)
	next := p.spawn(t)
	for _, left := range p.inmates(t) {
		if !strings.Contains(left.cmdline, "serve --stdio") {
			t.Errorf("runs on: %s", left.cmdline)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	resumed, reason := false, protocol.StopReason("")
	for env, err := range next.RunTurn(ctx, protocol.TurnStartParams{SessionID: &c.id, TurnID: new("next"), Input: protocol.TextInput(after), Config: c.config}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := env.Event.(type) {
		case *protocol.SessionCreated:
			resumed = e.Resumed != nil && *e.Resumed
		case *protocol.TurnEnded:
			reason = e.StopReason
		}
	}
	if !resumed || reason != protocol.StopEndTurn {
		t.Errorf("the next turn ended %q, resumed %v", reason, resumed)
	}
	next.end()
}

// What the other tests rely on: a process of a place is seen by its environment,
// wherever it works, and by its working folder, whatever its environment.
func TestInmatesAreSeen(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, cmd := range []*exec.Cmd{
		{Path: "/bin/sleep", Args: []string{"sleep", "300"}, Env: []string{"A=1", "HOME=" + p.home}, Dir: "/"},
		{Path: "/bin/sleep", Args: []string{"sleep", "300"}, Env: []string{}, Dir: p.cwd},
		{Path: "/bin/sleep", Args: []string{"sleep", "300"}, Env: []string{"HOME=" + p.home + "2"}, Dir: os.TempDir()},
	} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	if got := p.inmates(t); len(got) != 2 || got[0].cmdline != "sleep 300" {
		t.Errorf("seen: %v", got)
	}
}
