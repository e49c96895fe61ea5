package demoagent

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// TestEndOfInput: in the middle of any turn the end of the input cancels it,
// closes what is open and ends Run well.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string][]string{
		"hang":              {"result 2 cancelled"},
		"hang silent":       {"result 2 cancelled"},
		"hang tool":         {"tool_call_update failed", "result 2 cancelled"},
		"ask":               {"$/cancel_request 0", "tool_call_update failed", "result 2 cancelled"},
		"edit":              {"$/cancel_request 0", "tool_call_update failed", "result 2 cancelled"},
		"deltas 2 60000000": {"result 2 cancelled"},
		"think":             nil, // over before the end
		"crash":             nil, // never answered
	} {
		t.Run(prompt, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				c := startSession(t)
				c.prompt(firstSession, prompt)
				c.lines()
				c.finish()
				if diff := cmp.Diff(want, summaries(t, c.lines())); diff != "" {
					t.Errorf("after the end of input (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// summaries says in a few words what each line is.
func summaries(t *testing.T, lines []string) []string {
	t.Helper()
	var all []string
	for _, line := range lines {
		w := parse(t, line)
		switch {
		case w.Result != nil:
			all = append(all, "result "+string('0'+rune(*w.ID))+" "+w.Result.StopReason)
		case w.Params.RequestID != nil:
			all = append(all, w.Method+" "+string('0'+rune(*w.Params.RequestID)))
		default:
			all = append(all, w.Params.Update.Update+" "+w.Params.Update.Status)
		}
	}
	return all
}

// TestEndOfInputHangHard: hang hard outlives its input, and ends with Run's
// context, which in a real process nothing ends.
func TestEndOfInputHangHard(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := startSession(t)
		c.prompt(firstSession, "hang hard")
		c.lines()
		_ = c.in.Close()
		synctest.Wait()
		select {
		case err := <-c.done:
			t.Fatalf("Run returned %v at the end of its input", err)
		default:
		}
		if c.deaf != 1 {
			t.Errorf("signals were ignored %d times", c.deaf)
		}
		c.stop()
		if err := <-c.done; err != nil {
			t.Errorf("Run returned %v", err) // its input ended first, and well
		}
	})
}

// TestContextEnd: Run ends with its context although its input goes on, and says
// so.
func TestContextEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := startSession(t)
		c.prompt(firstSession, "ask")
		c.lines()
		c.stop()
		if err := <-c.done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
		want := []string{"$/cancel_request 0", "tool_call_update failed", "result 2 cancelled"}
		if diff := cmp.Diff(want, summaries(t, c.lines())); diff != "" {
			t.Errorf("at the end of the context (-want +got):\n%s", diff)
		}
		if _, err := io.WriteString(c.in, "\n"); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("writing to the ended agent: %v", err)
		}
	})
}

// TestReadError: an input that fails is not an input that ends.
func TestReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	in := io.MultiReader(strings.NewReader("{}\n"), iotest.ErrReader(broken))
	var out collector
	err := Run(context.Background(), in, &out, io.Discard, Options{Seed: testSeed})
	if !errors.Is(err, broken) {
		t.Errorf("Run returned %v", err)
	}
	if got := splitLines(out.take()); len(got) != 1 {
		t.Errorf("the line before the error was answered with %q", got)
	}
}

// failingWriter fails after so many writes.
type failingWriter struct {
	left int
	err  error
}

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.left == 0 {
		return 0, f.err
	}
	f.left--
	return len(p), nil
}

// TestWriteError: an output that fails ends the run and the turns in it, a flood
// among them.
func TestWriteError(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		broken := errors.New("broken")
		r, w := io.Pipe()
		done := make(chan error, 1)
		out := &failingWriter{left: 3, err: broken}
		go func() { done <- Run(context.Background(), r, out, io.Discard, Options{Seed: testSeed}) }()
		c := &client{t: t, in: w}
		c.call("initialize", `{"protocolVersion":1}`)
		c.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
		c.prompt(firstSession, "flood 100000000")
		if err := <-done; !errors.Is(err, broken) {
			t.Errorf("Run returned %v", err)
		}
	})
}

// TestTwoSessions: two turns at once do not touch each other, not even by their
// ids, and only their own cancel ends them.
func TestTwoSessions(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const second = "demo-" + testSeed + "-2"
		c := startSession(t)
		c.call("session/new", `{"cwd":"/other","mcpServers":[]}`)
		c.prompt(firstSession, "hang tool")
		c.prompt(second, "hang")
		c.lines()
		c.cancel(second)
		want := []string{"result 4 cancelled"}
		if diff := cmp.Diff(want, summaries(t, c.lines())); diff != "" {
			t.Errorf("after the second's cancel (-want +got):\n%s", diff)
		}
		c.prompt(second, "think")
		if got := c.lines(); !strings.Contains(got[0], "thought-"+testSeed+"-2-2") {
			t.Errorf("the second session's second message is %s", got[0])
		}
		c.cancel(firstSession)
		want = []string{"tool_call_update failed", "result 3 cancelled"}
		if diff := cmp.Diff(want, summaries(t, c.lines())); diff != "" {
			t.Errorf("after the first's cancel (-want +got):\n%s", diff)
		}
		c.finish()
	})
}

// TestPermissionsOfTwoSessions: answers find the question they answer, in any
// order, and "always" stays in its session.
func TestPermissionsOfTwoSessions(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const second = "demo-" + testSeed + "-2"
		c := startSession(t)
		c.call("session/new", `{"cwd":"/other","mcpServers":[]}`)
		c.prompt(firstSession, "ask")
		c.lines()
		c.prompt(second, "ask")
		c.lines()
		c.perform("answer 1 always")
		if got := textOf(t, c.lines()); !strings.HasPrefix(got, "The demo ran") {
			t.Errorf("the second session said %q", got)
		}
		c.perform("answer 0 reject")
		if got := textOf(t, c.lines()); got != "Not done: rejected by the user." {
			t.Errorf("the first session said %q", got)
		}
		c.prompt(firstSession, "ask")
		if got := c.lines(); !strings.Contains(got[len(got)-1], "request_permission") {
			t.Errorf("the first session did not ask again but wrote %s", got[len(got)-1])
		}
		c.finish()
	})
}
