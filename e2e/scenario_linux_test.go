package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"agent-server/protocol"
)

// scenario is one thing that a harness is tried with. It is played through the
// real command as a test, and through a gateway in this process to make a fixture
// of it: the same steps, the same story.
type scenario struct {
	name string
	// about is what happens, for the README of its fixture.
	about string
	// before plays what the scenario presupposes, in a gateway of its own that is
	// gone by the time of the scenario; nil: nothing. What it returns is the
	// native id of the session it has left behind.
	before func(c *chat) string
	// play is the scenario. The session is closed after it.
	play func(c *chat)
	// edit changes the recording; nil: it stays as it was recorded.
	edit func(native string) string
	// edited says how, for the README.
	edited string
	// alone: it cannot be played in a session in which others were.
	alone bool
	// story is what must come of it.
	story []string
	// unsupported is why the harness has no such scenario; the rest is empty then.
	unsupported string
}

// run plays a scenario in a place, on the host that open gives.
func (s scenario) run(t *testing.T, p place, harness protocol.HarnessID, open func() *host) *chat {
	t.Helper()
	var native string
	if s.before != nil {
		h := p.spawn(t)
		first := h.chat(harness)
		native = s.before(first)
		first.over()
		h.end()
	}
	h := open()
	c := h.chat(harness)
	if native != "" {
		c.config.ResumeSessionID = &native
	}
	s.play(c)
	c.over()
	h.end()
	c.tells(t, s.story...)
	return c
}

// harnessUnderTest is a harness and what it is tried with.
type harnessUnderTest struct {
	id        protocol.HarnessID
	scenarios []scenario
	// slow: its process takes long to start. Its scenarios share one where they can,
	// and have one each only to be recorded.
	slow bool
	// require skips the test where the harness is not here.
	require func(t *testing.T)
	// version is the name and the version of what is here.
	version func(t *testing.T) (name, version string)
}

var harnessesUnderTest = slices.Concat([]harnessUnderTest{{
	id: protocol.HarnessDemo, scenarios: demoScenarios,
	require: func(*testing.T) {},
	version: func(*testing.T) (string, string) { return "demo agent", "(built in)" },
}, {
	id: protocol.HarnessClaudeCode, scenarios: slices.Concat(claudeScenarios, claudeFurther),
	require: func(t *testing.T) { requireCLI(t, claudeBinary) },
	version: func(t *testing.T) (string, string) {
		return "Claude Code", lockedVersion(t, filepath.Dir(claudeBinary))
	},
}, {
	id: protocol.HarnessCodexAppServer, scenarios: codexScenarios, require: requireCodex, version: codexVersion,
}, {
	id: protocol.HarnessCodexSDK, scenarios: codexExecScenarios, require: requireCodex, version: codexVersion,
}}, acpUnderTest)

// Each scenario of each harness, on the command itself. After each the stream is
// verified and no process is left.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, h := range harnessesUnderTest {
		for _, s := range h.played() {
			t.Run(string(h.id)+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				h.try(t, s)
			})
		}
	}
}

// played are the scenarios as the test plays them.
func (h harnessUnderTest) played() []scenario {
	if !h.slow || *record {
		return h.scenarios
	}
	var apart []scenario
	one := scenario{name: "one_session"}
	var plays []func(*chat)
	for _, s := range h.scenarios {
		if s.alone || s.unsupported != "" {
			apart = append(apart, s)
			continue
		}
		plays, one.story = append(plays, s.play), append(one.story, s.story...)
	}
	one.play = func(c *chat) {
		for _, play := range plays {
			play(c)
			c.clear()
		}
	}
	return append(apart, one)
}

// clear empties the working folder.
func (c *chat) clear() {
	c.t.Helper()
	left, err := filepath.Glob(filepath.Join(c.place.cwd, "*"))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// try plays a scenario, or records it.
func (h harnessUnderTest) try(t *testing.T, s scenario) {
	t.Helper()
	h.require(t)
	switch {
	case *record:
		h.record(t, s)
	case s.unsupported == "":
		p := newPlace(t)
		p.agent = h.id
		s.run(t, p, h.id, func() *host { return p.spawn(t) })
	}
}

// child is the harness's process: the one that the gateway itself has started.
func (c *chat) child() inmate {
	c.t.Helper()
	var found []inmate
	for _, i := range c.place.inmates(c.t) {
		if strings.HasSuffix(i.cmdline, " demo-agent") || strings.Contains(i.cmdline, "--output-format=stream-json") || isCodex(i.cmdline) || isACPAgent(i.cmdline) {
			found = append(found, i)
		}
	}
	if len(found) != 1 {
		c.t.Fatalf("%d processes of the harness, want 1: %v", len(found), c.place.inmates(c.t))
	}
	return found[0]
}

// kill kills the harness's process as a machine out of memory would.
func (c *chat) kill() {
	c.t.Helper()
	if err := syscall.Kill(c.child().pid, syscall.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
}

// pipe makes a pipe in the working folder, for a command to announce itself on.
func (c *chat) pipe() string {
	c.t.Helper()
	pipe := filepath.Join(c.place.cwd, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return pipe
}

// heard waits for what a command says on a pipe.
func (c *chat) heard(pipe, want string) {
	c.t.Helper()
	if said, err := os.ReadFile(pipe); err != nil || string(said) != want {
		c.t.Fatalf("the command said %q: %v", said, err)
	}
}

// answers wants a cancel to be answered so.
func (c *chat) cancelled(want ...protocol.CancelOutcome) {
	c.t.Helper()
	got := c.cancel()
	for _, w := range want {
		if got == w {
			return
		}
	}
	c.t.Errorf("the cancel was answered %s, want %v", got, want)
}

// exists says whether a file is in the working folder.
func (c *chat) exists(name string) bool {
	_, err := os.Stat(filepath.Join(c.place.cwd, name))
	return err == nil
}

// wantFile wants a file to be there, or not to be.
func (c *chat) wantFile(name string, want bool) {
	c.t.Helper()
	if c.exists(name) != want {
		c.t.Errorf("%s exists: %v, want %v", name, !want, want)
	}
}

// textSeen fits the event that shows some text of the harness.
func textSeen(ev protocol.Event) bool {
	d, ok := ev.(*protocol.MessagePartDelta)
	if !ok {
		return false
	}
	_, ok = d.Delta.(*protocol.TextDelta)
	return ok
}

// toolRuns fits the event that shows a tool at work.
func toolRuns(ev protocol.Event) bool {
	m, ok := ev.(*protocol.MessagePart)
	if !ok {
		return false
	}
	tool, ok := m.Part.(*protocol.ToolPart)
	return ok && tool.State.Status() == protocol.ToolInProgress
}
