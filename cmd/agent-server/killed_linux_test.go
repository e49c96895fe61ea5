package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/verify"
)

// again is a gateway on the state of one that is gone.
func (s *served) again() *served {
	s.t.Helper()
	next := &served{t: s.t, dir: s.dir, file: s.file, url: s.url}
	next.begin([]string{"serve", "--listen", strings.TrimSuffix(strings.TrimPrefix(s.url, "ws://"), "/"), "--state-dir", s.dir, "--claude-path", "/no/such/cli"})
	next.says(&next.talk, `listening on`)
	return next
}

// held is all that a gateway holds of a session.
func (s *served) held(session string) []protocol.Envelope {
	s.t.Helper()
	envs, _, err := s.connect().Replay(s.t.Context(), session, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	return envs
}

// TestKilledGateway: what a gateway that is killed in mid-turn had said is still there
// afterwards, the turn has ended once, nothing runs on, and the session goes on in its
// harness's own conversation.
func TestKilledGateway(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	c := s.connect()
	play(t, c, "s", "tool")
	feed := c.Follow("s")
	defer feed.Close()
	p := demoTurn(t, "hang tool")
	p.SessionID, p.TurnID = new("s"), new("stuck")
	if _, err := c.StartTurn(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	untilType(t, feed, protocol.TypeTurnStarted)
	untilRunning(t, feed)
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.wait()
	next := s.again()
	envs := next.held("s")
	if faults := verify.Stream(envs, verify.Options{}); len(faults) > 0 {
		t.Errorf("what is held: %v", faults)
	}
	end, is := envs[len(envs)-1].Event.(*protocol.TurnEnded)
	if !is || end.TurnID != "stuck" || end.Error == nil || !strings.Contains(string(end.Meta), protocol.MetaHostDeath) {
		t.Fatalf("the last event is %s", protocol.AppendEnvelope(nil, envs[len(envs)-1]))
	}
	if left := carrying(s.dir); len(left) != 1 { // the new gateway itself
		t.Errorf("left running: %q", left)
	}
	play(t, next.connect(), "s", "think")
	var created *protocol.SessionCreated
	for _, env := range next.held("s")[len(envs):] {
		if e, is := env.Event.(*protocol.SessionCreated); is {
			created = e
		}
	}
	if created == nil || created.Resumed == nil || !*created.Resumed {
		t.Errorf("the next turn runs in %+v", created)
	}
	next.ends(syscall.SIGTERM, 0)
	last := s.again()
	raw, _ := json.Marshal(last.held("s"))
	if strings.Count(string(raw), protocol.MetaHostDeath) != strings.Count(string(mustJSON(t, envs)), protocol.MetaHostDeath) {
		t.Error("a second restart has ended the turn again")
	}
	last.ends(syscall.SIGTERM, 0)
}

// TestRunOverARestart: a gateway that ends in order says the session's end, and the run
// shows it, though its own close was answered by the next gateway, if at all.
func TestRunOverARestart(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	r := s.beside("run", "deltas 200 5000", "--harness", "demo", "--json", "--verify")
	r.says(&r.out, `message.part.delta`)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.wait()
	next := s.again()
	if code := r.wait(); code != 0 {
		t.Errorf("it ended with %d: %s", code, r.talk.String())
	}
	if out := r.out.String(); !strings.Contains(out, `"type":"session.ended"`) {
		t.Errorf("no end of the session in its stdout, whose last line is %s", out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:])
	}
	next.ends(syscall.SIGTERM, 0)
}

// untilRunning waits until a tool is at work.
func untilRunning(t *testing.T, feed *client.Feed) {
	t.Helper()
	for {
		for _, env := range untilType(t, feed, protocol.TypeMessagePart) {
			part, is := env.Event.(*protocol.MessagePart)
			if !is {
				continue
			}
			if tool, is := part.Part.(*protocol.ToolPart); is && tool.State.Status() == protocol.ToolInProgress {
				return
			}
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestOneGatewayADirectory: a second one on the same state says whose it is.
func TestOneGatewayADirectory(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	second := &served{t: t, dir: t.TempDir()}
	second.begin([]string{"serve", "--listen", "0", "--state-dir", s.dir})
	if code := second.wait(); code != exitUsage || !strings.Contains(second.talk.String(), s.dir) || !strings.Contains(second.talk.String(), "in use") {
		t.Errorf("%d: %s", code, second.talk.String())
	}
	s.ends(syscall.SIGTERM, 0)
}

// TestLogFlags: what contradicts itself is refused before anything is started.
func TestLogFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--log", "paper"}, {"--log-max-age", "1h"}, {"--log", "sqlite", "--log-max-sessions", "-1"},
		{"--log", "sqlite", "--max-session-bytes", "1MiB"}, {"--log", "memory", "--max-session-bytes", "0"}} {
		b := &served{t: t, dir: t.TempDir()}
		b.begin(append([]string{"serve"}, args...))
		if code := b.wait(); code != exitUsage || !strings.Contains(b.talk.String(), args[len(args)-2]) {
			t.Errorf("%q: %d: %s", args, code, b.talk.String())
		}
	}
}

// TestRunOverAKill: a run whose gateway is killed and replaced ends, and says how its
// turn did.
func TestRunOverAKill(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	r := s.beside("run", "hang", "--harness", "demo")
	r.says(&r.out, `until cancelled`)
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.wait()
	next := s.again()
	r.says(&r.talk, `process_exit`)
	if code := r.wait(); code == 0 {
		t.Errorf("it ended with %d: %s", code, r.talk.String())
	}
	next.ends(syscall.SIGTERM, 0)
}
