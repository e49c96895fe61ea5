package demoagent

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// prompts has one prompt a script, and the ways of hang, to run through. flood is
// not in it: it writes many lines at once ([TestCancelFlood]).
var prompts = []string{
	"hello", "deltas 5 0", "think", "tool", "ask", "edit", "fail",
	"hang", "hang silent", "hang tool", "crash", "noise", "error",
	"plan", "big 100", "compact", "slow-cancel 0", "subagent", "sequence think; ask; fail", "sequence tool; hang",
}

// saboteur is an output that cancels the turn from inside the write of the n-th
// line, which is the only way to hit every moment between two lines.
type saboteur struct {
	agent *agent
	after int    // lines to let pass before the act
	act   string // the client's line; empty: none
	lines []string
}

// Write also answers each permission request with "allow", after the act, as a
// client does that has not yet seen what its act led to; but a withdrawn question
// stays unanswered.
func (s *saboteur) Write(p []byte) (int, error) {
	line := strings.TrimSuffix(string(p), "\n")
	s.lines = append(s.lines, line)
	now := len(s.lines) == s.after && s.act != ""
	if now {
		s.do(s.act)
	}
	if strings.Contains(line, "session/request_permission") && !(now && s.act == withdrawLine) {
		s.do(`{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
	}
	return len(p), nil
}

func (s *saboteur) do(line string) {
	s.agent.receive(context.Background(), input{line: []byte(line)})
}

// sabotage runs one prompt to its end, acting after so many lines, and returns
// all lines.
func sabotage(prompt string, after int, act string) []string {
	s := &saboteur{after: after, act: act}
	opts := Options{Seed: testSeed, Exit: func(int) {}, IgnoreSignals: func() {}}
	s.agent = newAgent(context.Background(), s, io.Discard, opts)
	s.agent.initialized = true
	s.agent.beginSession("", "/workspace")
	s.do(`{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"` + firstSession +
		`","prompt":[{"type":"text","text":"` + prompt + `"}]}}`)
	s.agent.turns.Wait()
	if n := len(s.agent.asks); n > 0 {
		s.lines = append(s.lines, fmt.Sprintf("%d questions are kept", n))
	}
	return s.lines
}

const (
	cancelLine   = `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + firstSession + `"}}`
	withdrawLine = `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`
)

// updates counts the lines that a turn writes before its answer, or before it
// hangs.
func updates(prompt string) int {
	switch prompt {
	case "hang", "hang tool", "slow-cancel 0":
		return 2
	case "sequence tool; hang":
		return 9
	case "hang silent", "error":
		return 0
	}
	return len(sabotage(prompt, 0, "")) - 1
}

// TestCancelAtEveryLine: wherever a cancel hits, the turn says at most what
// closes its tool, and is answered as cancelled.
func TestCancelAtEveryLine(t *testing.T) {
	t.Parallel()
	for _, prompt := range prompts {
		for after := 1; after <= updates(prompt); after++ {
			t.Run(fmt.Sprintf("%s/%d", prompt, after), func(t *testing.T) {
				t.Parallel()
				lines := sabotage(prompt, after, cancelLine)
				checkCancelled(t, prompt, lines, after)
			})
		}
	}
}

func checkCancelled(t *testing.T, prompt string, lines []string, after int) {
	t.Helper()
	if prompt == "noise" {
		return // checked by TestNoiseCancelled: its lines cannot be parsed
	}
	if prompt == "crash" && after == 2 {
		return // all was said, and the process is gone
	}
	rest := lines[after:]
	if len(rest) == 0 {
		t.Fatalf("no answer after %q", lines)
	}
	last := parse(t, rest[len(rest)-1])
	if last.Result == nil || last.Result.StopReason != "cancelled" || *last.ID != 7 {
		t.Errorf("the turn ended with %s", rest[len(rest)-1])
	}
	for _, line := range rest[:len(rest)-1] {
		if u := parse(t, line).Params.Update; u.Update != "tool_call_update" || u.Status != "failed" {
			t.Errorf("after the cancel came %s", line)
		}
	}
	if diff := cmp.Diff("", openTools(t, lines)); diff != "" {
		t.Errorf("tools left open (-want +got):\n%s", diff)
	}
}

// openTools names the tools without a final status.
func openTools(t *testing.T, lines []string) string {
	t.Helper()
	status := map[string]string{}
	for _, line := range lines {
		if u := parse(t, line).Params.Update; u.ToolCallID != "" {
			status[u.ToolCallID] = u.Status
		}
	}
	var open []string
	for id, s := range status {
		if s != "completed" && s != "failed" {
			open = append(open, id+" "+s)
		}
	}
	return strings.Join(open, ", ")
}

// TestNoiseCancelled is TestCancelAtEveryLine for the one script that writes
// lines which are none: no further word of it comes after a cancel.
func TestNoiseCancelled(t *testing.T) {
	t.Parallel()
	whole := sabotage("noise", 0, "")
	for after := 1; after < len(whole); after++ {
		lines := sabotage("noise", after, cancelLine)
		words := 0
		for _, line := range lines[after:] {
			if strings.Contains(line, kindMessage) {
				words++
			}
		}
		last := parse(t, lines[len(lines)-1])
		if words > 1 || last.Result == nil || last.Result.StopReason != "cancelled" {
			t.Errorf("cancelled after %d lines: %d words more, then %s", after, words, lines[len(lines)-1])
		}
	}
}

// TestWithdrawAtEveryLine: $/cancel_request ends the turn as early, with its own
// answer, and also while a permission is open.
func TestWithdrawAtEveryLine(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"tool", "ask", "edit", "hang", "deltas 5 0"} {
		for after := 1; after <= updates(prompt); after++ {
			lines := sabotage(prompt, after, withdrawLine)
			last := parse(t, lines[len(lines)-1])
			if last.Error == nil || last.Error.Code != codeCancelled || *last.ID != 7 {
				t.Errorf("%s, withdrawn after %d lines, ended with %s", prompt, after, lines[len(lines)-1])
			}
			if open := openTools(t, lines); open != "" {
				t.Errorf("%s, withdrawn after %d lines, left open %s", prompt, after, open)
			}
		}
	}
}

// TestAnswerThenFree: who has read the answer can prompt again at once. The
// agent's write returns only when the line is read, so the next prompt races
// with what the agent does after that write.
func TestAnswerThenFree(t *testing.T) {
	t.Parallel()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Run(context.Background(), inR, outW, io.Discard, Options{Seed: testSeed}) }()
	c := &client{t: t, in: inW}
	lines := bufio.NewScanner(outR)
	c.call("initialize", `{"protocolVersion":1}`)
	lines.Scan()
	c.call("session/new", `{"cwd":"/workspace","mcpServers":[]}`)
	lines.Scan()
	for range 300 {
		c.prompt(firstSession, "deltas 1 0")
		for lines.Scan() && strings.Contains(lines.Text(), "session/update") {
		}
		if last := parse(t, lines.Text()); last.Result == nil {
			t.Fatalf("a prompt after an answer got %s", lines.Text())
		}
	}
	_ = inW.Close()
	if err := <-done; err != nil {
		t.Errorf("Run returned %v", err)
	}
}

// TestCancelFlood: a cancel stops a flood that has far to go.
func TestCancelFlood(t *testing.T) {
	t.Parallel()
	lines := sabotage("flood 100000000", 1, cancelLine)
	last := strings.Split(lines[len(lines)-1], "\n")
	if got := parse(t, last[len(last)-1]); got.Result == nil || got.Result.StopReason != "cancelled" {
		t.Errorf("the flood ended with %q", last[len(last)-1])
	}
}
