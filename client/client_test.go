package client_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"agent-server/client"
	"agent-server/protocol"
)

// TestRunTurn: a turn from its start to its end, decoded, each event once.
func TestRunTurn(t *testing.T) {
	t.Parallel()
	c := attach(t, start(t), client.Options{Name: "test", Version: "1", OpenHarnesses: true})
	if _, ok := c.Server().Harnesses[protocol.HarnessDemo]; !ok || c.Server().Server.Name != "agent-server" {
		t.Errorf("the server is %+v", c.Server())
	}
	s := tell(t, c, prompt("s", "t", "flood 300 20"))
	if fault := s.contiguous(1); fault != "" || len(s.seqs) < 300 {
		t.Errorf("%d events: %s", len(s.seqs), fault)
	}
	if s.types[0] != "turn.started" || s.end == nil || s.end.StopReason != protocol.StopEndTurn || len(s.text) != 300*20 {
		t.Errorf("begins with %s, ends %+v, %d bytes of text", s.types[0], s.end, len(s.text))
	}
	next := tell(t, c, prompt("s", "", "hello"))
	if fault := next.contiguous(int64(len(s.seqs)) + 1); fault != "" {
		t.Errorf("the next turn: %s", fault)
	}
}

// TestErrorsAreTyped: what the server refuses is the protocol's error, as it is.
func TestErrorsAreTyped(t *testing.T) {
	t.Parallel()
	c := attach(t, start(t), client.Options{})
	for name, tc := range map[string]struct {
		do   func() error
		code protocol.Code
	}{
		"a harness that is not here": {func() error {
			p := prompt("s", "t", "")
			p.Config.Harness = protocol.HarnessClaudeCode
			_, err := c.StartTurn(within(t), p)
			return err
		}, protocol.CodeHarnessNotAvailable},
		"bad params": {func() error {
			_, err := c.Cancel(within(t), "", "")
			return err
		}, protocol.CodeInvalidParams},
		"an unknown session": {func() error {
			_, _, err := c.Replay(within(t), "nobody", 1)
			return err
		}, protocol.CodeUnknownSession},
	} {
		var wire *protocol.Error
		if err := tc.do(); !errors.As(err, &wire) || wire.Code != tc.code || wire.Message == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	var faults *protocol.Error
	_, err := c.Cancel(within(t), "", "")
	if errors.As(err, &faults); faults == nil || !strings.Contains(string(faults.Data), `"path":"sessionId"`) {
		t.Errorf("the data is lost: %v", err)
	}
	for _, err := range c.RunTurn(within(t), prompt("", "", "")) {
		if err != nil {
			t.Errorf("an empty prompt: %v", err)
		}
	}
}

// TestEveryMethod: cancel, respond, close, replay, shutdown.
func TestEveryMethod(t *testing.T) {
	t.Parallel()
	g := start(t)
	c := attach(t, g, client.Options{})
	if r, err := c.Cancel(within(t), "nobody", "x"); err != nil || r.Outcome != protocol.CancelNoActiveTurn {
		t.Errorf("Cancel of nothing: %+v %v", r, err)
	}
	asked := 0
	for env, err := range c.RunTurn(within(t), prompt("s", "t", "ask")) {
		if err != nil {
			t.Fatal(err)
		}
		ev, ok := env.Event.(*protocol.PermissionRequested)
		if !ok {
			continue
		}
		asked++
		chosen := protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: ev.Options[0].OptionID}
		for i, want := range []bool{true, false} {
			if ok, err := c.Respond(within(t), "s", ev.RequestID, chosen); err != nil || ok != want {
				t.Errorf("answer %d: %v %v", i, ok, err)
			}
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	cancelled := false
	for env, err := range c.RunTurn(within(t), prompt("s", "u", "hang text")) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := env.Event.(*protocol.MessagePartDelta); ok && !cancelled {
			cancelled = true
			if r, err := c.Cancel(within(t), "s", "u"); err != nil || r.Outcome != protocol.CancelCancelled || *r.TurnID != "u" {
				t.Errorf("Cancel: %+v %v", r, err)
			}
		}
	}
	envs, first, err := c.Replay(within(t), "s", 2)
	if err != nil || first != 1 || len(envs) == 0 || envs[0].Seq != 2 {
		t.Errorf("Replay: %d envelopes from %d: %v", len(envs), first, err)
	}
	for i, want := range []bool{true, false} {
		if ok, err := c.CloseSession(within(t), "s"); err != nil || ok != want {
			t.Errorf("close %d: %v %v", i, ok, err)
		}
	}
	if err := c.Shutdown(within(t)); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	<-g.Done()
	if _, err := c.StartTurn(within(t), prompt("s", "v", "")); !isCode(err, protocol.CodeShuttingDown) {
		t.Errorf("a turn after the shutdown: %v", err)
	}
}

func isCode(err error, code protocol.Code) bool {
	var wire *protocol.Error
	return errors.As(err, &wire) && wire.Code == code
}

// TestRetry: a turn whose answer was lost is the same turn, and gives all of its
// events: past ones, present ones, or both.
func TestRetry(t *testing.T) {
	t.Parallel()
	g := start(t)
	first := attach(t, g, client.Options{})
	tell(t, first, prompt("s", "before", "hello"))
	whole := tell(t, first, prompt("s", "over", "tool"))
	for name, c := range map[string]*client.Client{"the same connection": first, "another connection": attach(t, g, client.Options{})} {
		got := tell(t, c, prompt("s", "over", "tool"))
		if strings.Join(got.types, " ") != strings.Join(whole.types, " ") || got.contiguous(whole.seqs[0]) != "" || len(got.gaps) > 0 {
			t.Errorf("%s: the retried turn is %v, was %v", name, got.types, whole.types)
		}
	}
	running, err := first.StartTurn(within(t), prompt("s", "running", "hang text"))
	if err != nil {
		t.Fatal(err)
	}
	second := attach(t, g, client.Options{})
	again, err := second.StartTurn(within(t), prompt("s", "running", "hang text"))
	if err != nil || !again.Deduplicated || running.Deduplicated {
		t.Fatalf("the retry of a running turn: %+v %v", again, err)
	}
	var stories [2]story
	for i, turn := range []*client.Turn{running, again} {
		for env, err := range turn.Events(within(t)) {
			stories[i].add(t, env, err)
			if _, ok := env.Event.(*protocol.MessagePartDelta); ok && i == 0 {
				if _, err := first.Cancel(within(t), "s", "running"); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if got, want := strings.Join(stories[1].types, " "), strings.Join(stories[0].types, " "); got != want || stories[1].contiguous(stories[0].seqs[0]) != "" {
		t.Errorf("the retried turn is %s, was %s", got, want)
	}
}

// TestJoinsWhereItStands: a session that had a life before this connection is
// taken up at its next turn; its past is not fetched.
func TestJoinsWhereItStands(t *testing.T) {
	t.Parallel()
	g := start(t)
	old := attach(t, g, client.Options{})
	past := tell(t, old, prompt("s", "a", "hello"))
	fresh := attach(t, g, client.Options{})
	all := fresh.Follow("")
	defer all.Close()
	got := tell(t, fresh, prompt("s", "b", "hello"))
	if fault := got.contiguous(int64(len(past.seqs)) + 1); fault != "" || got.types[0] != "turn.started" || len(got.gaps) > 0 {
		t.Errorf("the turn: %s, %v", fault, got.types)
	}
	env, err := all.Next(within(t))
	if err != nil || env.Seq != got.seqs[0] {
		t.Errorf("who follows everything is given seq %d first: %v", env.Seq, err)
	}
}

// TestFeeds: each follows its session, or all; a closed one gives no more.
func TestFeeds(t *testing.T) {
	t.Parallel()
	c := attach(t, start(t), client.Options{})
	all, one, other := c.Follow(""), c.FollowNew("s"), c.Follow("other")
	s := tell(t, c, prompt("s", "t", "hello"))
	for _, f := range []*client.Feed{all, one} {
		for _, seq := range s.seqs {
			if env, err := f.Next(within(t)); err != nil || env.Seq != seq || env.SessionID != "s" {
				t.Fatalf("%+v %v, want seq %d", env, err, seq)
			}
		}
		f.Close()
		f.Close()
		if _, err := f.Next(within(t)); !errors.Is(err, client.ErrClosed) {
			t.Errorf("a closed feed: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if env, err := other.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("another session's feed: %+v %v", env, err)
	}
	_ = c.Close()
	if _, err := other.Next(within(t)); !errors.Is(err, client.ErrClosed) {
		t.Errorf("a feed of a closed connection: %v", err)
	}
	if _, err := c.Follow("s").Next(within(t)); !errors.Is(err, client.ErrClosed) {
		t.Errorf("a feed made on a closed connection: %v", err)
	}
}

// TestSpawn: a gateway as a subprocess; Close ends it, and its harness.
func TestSpawn(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "serve")
	cmd.Stderr = os.Stderr
	c, err := client.Spawn(within(t), cmd, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if cmd.WaitDelay <= 0 {
		t.Error("whoever holds the gateway's stderr open is waited for without bound")
	}
	if s := tell(t, c, prompt("s", "t", "hello")); s.end == nil || s.end.StopReason != protocol.StopEndTurn {
		t.Errorf("ended %+v", s.end)
	}
	turn, err := c.StartTurn(within(t), prompt("s", "u", "hang silent"))
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Close()
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if cmd.ProcessState == nil || !cmd.ProcessState.Success() {
		t.Errorf("the gateway ended with %v", cmd.ProcessState)
	}
	if err := c.Close(); err != nil || c.Err() != nil {
		t.Errorf("a second Close: %v, Err %v", err, c.Err())
	}
}

// TestSpawnFails: what cannot be started, does not speak, or ends badly.
func TestSpawnFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ path, arg, want string }{
		"no such file":         {"/nowhere/gateway", "", "/nowhere/gateway"},
		"no gateway":           {os.Args[0], "babble", "no JSON-RPC message"},
		"ends without a word":  {os.Args[0], "mute", "exit status 4"},
		"its own stdin is set": {"", "", "Stdin already set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(tc.path, tc.arg)
			if tc.path == "" {
				cmd = exec.Command(os.Args[0], "serve")
				cmd.Stdin = strings.NewReader("")
			}
			c, err := client.Spawn(within(t), cmd, client.Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) || c != nil {
				t.Errorf("Spawn = %v, want %q in it", err, tc.want)
			}
		})
	}
}

// TestSpawnGivesUp: a gateway that does not answer is not waited for longer than
// the caller wants.
func TestSpawnGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.Attach(ctx, newMute(""), client.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Attach = %v, want the deadline", err)
	}
}

// TestVersionMismatch: another version is an error, whoever notices it.
func TestVersionMismatch(t *testing.T) {
	t.Parallel()
	m := newMute(`{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"unsupported protocol version: 2","data":{"supported":[3]}}}`)
	if _, err := client.Attach(within(t), m, client.Options{}); !isCode(err, protocol.CodeProtocolVersionMismatch) {
		t.Errorf("a server that refuses: %v", err)
	}
	m = newMute(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":3,"server":{"name":"x"},"instanceId":"i","harnesses":{}}}`)
	if _, err := client.Attach(within(t), m, client.Options{}); err == nil || !strings.Contains(err.Error(), "protocol 3") {
		t.Errorf("a server that does not notice: %v", err)
	}
	m = newMute(`{"jsonrpc":"2.0","id":1,"result":[]}`)
	if _, err := client.Attach(within(t), m, client.Options{}); err == nil {
		t.Error("a server that answers nonsense was taken")
	}
}
