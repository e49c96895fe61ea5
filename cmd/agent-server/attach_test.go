package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"agent-server/client"
	"agent-server/protocol"
)

// play runs a turn on a session that others watch, and waits for its end.
func play(t *testing.T, c *client.Client, session, prompt string) {
	t.Helper()
	p := demoTurn(t, prompt)
	p.SessionID = &session
	for env, err := range c.RunTurn(t.Context(), p) {
		if err != nil {
			t.Fatalf("after %v: %v", env, err)
		}
	}
}

// TestAttach: a second terminal sees what was and what is, answers a question, sends
// turns, and leaves without a trace.
func TestAttach(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	c := s.connect()
	play(t, c, "s", "tool")
	a := s.beside("attach", "s")
	a.says(&a.talk, `^> tool$`)
	a.says(&a.talk, `^session demo-x-1 of demo$`)
	a.says(&a.talk, `^\+ read_file: Read demo\.txt$`)
	a.says(&a.talk, `^session s at ws://127\.0\.0\.1:\d+/, up to event 22; Ctrl-C leaves`)
	a.says(&a.out, `^The demo read no file`)

	feed := c.Follow("s")
	ask := demoTurn(t, "ask")
	ask.SessionID = new("s")
	started, err := c.StartTurn(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	started.Close()
	a.says(&a.talk, `^> ask$`)
	a.says(&a.talk, `  choose: `)
	a.types("perhaps")
	a.says(&a.talk, `"perhaps" is none of them`)
	a.types("1")
	a.says(&a.out, `The demo ran no command`)
	play(t, c, "elsewhere", "tool") // of no interest: the session was named
	answered := strings.Join(spelled(untilType(t, feed, protocol.TypeTurnEnded)), "\n")
	if !strings.Contains(answered, `"outcome":{"outcome":"selected","optionId":"allow"}`) {
		t.Errorf("the others saw no answer: %s", answered)
	}

	a.types("think")
	typed := strings.Join(spelled(untilType(t, feed, protocol.TypeTurnEnded)), "\n")
	if !strings.Contains(typed, `"text":"think"`) {
		t.Errorf("the others saw no prompt: %s", typed)
	}
	a.says(&a.talk, `^> think$`)
	a.types("::cancel")
	if typed := spelled(untilType(t, feed, protocol.TypeTurnEnded)); !strings.Contains(strings.Join(typed, "\n"), `"text":":cancel"`) {
		t.Errorf("two colons are no prompt: %s", typed)
	}
	a.types(":nonsense")
	a.says(&a.talk, `^:nonsense is nothing that is known here; nothing was sent$`)
	a.says(&a.talk, `(?s)> :cancel.*^tokens: `) // it has seen that turn's end too
	a.types(":cancel")
	a.says(&a.talk, `no turn runs`)
	a.types("hang")
	a.says(&a.out, `Hanging until cancelled`)
	a.types("tool")
	a.says(&a.talk, `^a turn is queued, at place 1$`)
	a.types(":cancel")
	a.says(&a.talk, `^turn ended: cancelled$`)
	untilType(t, feed, protocol.TypeTurnEnded)
	untilType(t, feed, protocol.TypeTurnEnded) // the one that has waited

	a.types("hang")
	untilType(t, feed, protocol.TypeMessagePartDelta)
	a.ends(os.Interrupt, 0)
	if talk := a.talk.String(); strings.Contains(talk, "another session") {
		t.Errorf("whoever named a session is told of others: %s", talk)
	}
	r, err := c.Cancel(t.Context(), "s", "")
	if err != nil || r.Outcome != protocol.CancelCancelled {
		t.Errorf("whoever leaves ends a turn: %+v, %v", r, err)
	}
}

// TestAttachLateAnswer: a question that was answered elsewhere is withdrawn, and a
// line that was meant for it is not sent as a prompt.
func TestAttachLateAnswer(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	c := s.connect()
	p := demoTurn(t, "ask")
	feed := c.FollowNew(*p.SessionID)
	started, err := c.StartTurn(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	started.Close()
	asked := untilType(t, feed, protocol.TypePermissionRequested)
	request := asked[len(asked)-1].Event.(*protocol.PermissionRequested)
	a := s.beside("attach", *p.SessionID)
	// It came before us, and is asked all the same.
	a.says(&a.talk, `  choose: `)
	if _, err := c.Respond(t.Context(), *p.SessionID, request.RequestID, protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: "reject"}); err != nil {
		t.Fatal(err)
	}
	a.says(&a.talk, `no longer asked`)
	a.types("1")
	a.says(&a.talk, `not sent: the question that it may have answered is gone`)
	untilType(t, feed, protocol.TypeTurnEnded)
	a.types("1") // typed again, it is meant
	a.says(&a.talk, `^> 1$`)
	a.ends(syscall.SIGTERM, 0)
}

// TestAttachFinds: without a name it is the open session that spoke last, or the next to
// speak where none is listed.
func TestAttachFinds(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	c := s.connect()
	if lists(c) {
		play(t, c, "older", "tool")
		play(t, c, "newer", "tool")
		play(t, c, "closed", "tool") // spoke last of all, and never will again
		if open, err := c.CloseSession(t.Context(), "closed"); err != nil || !open {
			t.Fatalf("closing: %v, %v", open, err)
		}
	}
	a := s.beside("attach", "--json")
	if lists(c) {
		a.says(&a.talk, `2 sessions are open; this one was active last`)
	} else {
		a.says(&a.talk, `no open session is listed there; waiting for one to speak`)
		play(t, c, "newer", "tool")
	}
	a.says(&a.out, `^\{"sessionId":"newer","seq":22,`)
	if out := a.out.String(); strings.Contains(out, "older") {
		t.Errorf("another session is shown: %s", out)
	}
	for range 2 { // that others speak is said, once of each, and no more than that
		play(t, c, "older", "tool")
	}
	play(t, c, "third", "tool")
	a.says(&a.talk, `^another session speaks: older$`)
	a.says(&a.talk, `^another session speaks: third$`)
	play(t, c, "newer", "think")
	a.says(&a.out, `"text":"think"`)
	if talk, out := a.talk.String(), a.out.String(); strings.Count(talk, "another session speaks: older") != 1 || strings.Contains(talk, "speaks: newer") || strings.Contains(out, `"third"`) {
		t.Errorf("of others it is said: %s\nand shown: %s", talk, out)
	}
	a.ends(os.Interrupt, 0)
}

// TestAttachNowhere: what cannot be attached to is said.
func TestAttachNowhere(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	a := s.beside("attach", "nobody")
	if code := a.wait(); code != exitUsage || !strings.Contains(a.talk.String(), `there is no session "nobody" at `+s.url) {
		t.Errorf("%d: %s", code, a.talk.String())
	}
	for _, args := range [][]string{{"attach"}, {"attach", "a", "b"}, {"attach", "--connect", "ws://127.0.0.1:1/?token=x"}, {"attach", "--connect", s.url, "--permission-mode", "all"}} {
		b := &served{t: t, dir: t.TempDir()}
		b.begin(args)
		if code := b.wait(); code != exitUsage {
			t.Errorf("%q: %d: %s", args, code, b.talk.String())
		}
	}
}

// TestAttachReturns: the gateway ends and another takes its place; who watches is
// told, and sees what the new one does.
func TestAttachReturns(t *testing.T) {
	t.Parallel()
	s := serveOn(t, "--log", "memory")
	play(t, s.connect(), "s", "tool")
	a := s.beside("attach", "s")
	a.says(&a.talk, `up to event 22`)
	s.ends(syscall.SIGTERM, 0)
	a.says(&a.talk, `^session ended: shutdown$`)
	a.says(&a.talk, `trying again`)
	again := &served{t: t, dir: s.dir, file: s.file, url: s.url}
	again.begin([]string{"serve", "--listen", strings.TrimSuffix(strings.TrimPrefix(s.url, "ws://"), "/"), "--state-dir", s.dir, "--log", "memory"})
	again.says(&again.talk, `listening on`)
	a.says(&a.talk, `is gone with its sessions`)
	play(t, again.connect(), "s", "think")
	a.says(&a.talk, `^> think$`)
	a.says(&a.out, `this is the answer`)
	a.ends(os.Interrupt, 0)
	again.ends(syscall.SIGTERM, 0)
}

// TestAttachOutlives: with a log on disk a restart takes nothing away: who watches goes
// on where it was, is told of no loss, and sees nothing twice.
func TestAttachOutlives(t *testing.T) {
	t.Parallel()
	s := serveOn(t)
	play(t, s.connect(), "s", "tool")
	a := s.beside("attach", "s", "--json")
	a.says(&a.out, `"seq":22,`)
	s.ends(syscall.SIGTERM, 0)
	a.says(&a.talk, `trying again`)
	again := &served{t: t, dir: s.dir, file: s.file, url: s.url}
	again.begin([]string{"serve", "--listen", strings.TrimSuffix(strings.TrimPrefix(s.url, "ws://"), "/"), "--state-dir", s.dir})
	again.says(&again.talk, `listening on`)
	a.says(&a.talk, `connected again`)
	play(t, again.connect(), "s", "think")
	a.says(&a.out, `"text":"think"(?s:.)*"type":"turn.ended"`)
	a.ends(os.Interrupt, 0)
	again.ends(syscall.SIGTERM, 0)
	if talk := a.talk.String(); strings.Contains(talk, "gone") || strings.Contains(talk, "lost:") {
		t.Errorf("a loss is told of: %s", talk)
	}
	if err := os.WriteFile(s.dir+"/seen", a.out.bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	v := &served{t: t, dir: t.TempDir()}
	if v.begin([]string{"verify", s.dir + "/seen"}); v.wait() != 0 {
		t.Errorf("what was seen is not lawful: %s%s", v.out.String(), v.talk.String())
	}
}
