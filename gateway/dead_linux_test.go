package gateway_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"agent-server/gateway"
	"agent-server/protocol"
)

// TestLaw123_deadIdleHarness: a turn that is started when its idle harness has just
// died runs in another process, whoever notices the death first: nobody has read its
// prompt.
func TestLaw123_deadIdleHarness(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	last := ""
	for i := range 25 {
		id := strconv.Itoa(i)
		end := p.run(turn("s", id, "pid", puppetID))
		if end.StopReason != protocol.StopEndTurn {
			t.Fatalf("turn %d ended %s %+v", i, end.StopReason, end.Error)
		}
		pid := p.text("s", id)
		if pid == last {
			t.Fatalf("turn %d ran in the dead process", i)
		}
		last = pid
		n, _ := strconv.Atoi(pid)
		if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadPromptIsNotRunAgain: a process that has read its prompt and dies has failed
// that turn, though it had run others before.
func TestReadPromptIsNotRunAgain(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	p := connect(t, open(t, func(o *gateway.Options) { o.Metrics = l }), gateway.ConnectOptions{})
	p.run(turn("s", "a", "say hi", puppetID))
	end := p.run(turn("s", "b", "exit 7", puppetID))
	if end.Error == nil || end.Error.Category != protocol.CategoryProcessExit || !strings.Contains(end.Error.Message, "7") {
		t.Errorf("ended %s %+v", end.StopReason, end.Error)
	}
	l.want(1, "harness_starts_total", "puppet")
}

// TestMuteHarness: one that has closed its stdout and lives on has failed its turn,
// and the next one gets another process.
func TestMuteHarness(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	end := p.run(turn("s", "a", "say hi;mute", puppetID))
	if end.Error == nil || end.Error.Category != protocol.CategoryProcessExit || !strings.Contains(end.Error.Message, "closed its stdout") {
		t.Errorf("ended %s %+v", end.StopReason, end.Error)
	}
	if end := p.run(turn("s", "b", "say hi", puppetID)); end.StopReason != protocol.StopEndTurn {
		t.Errorf("the next turn ended %s %+v", end.StopReason, end.Error)
	}
}
