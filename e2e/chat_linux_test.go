package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/verify"
)

// chat is one session as a client sees it: every event of it is judged, and kept.
type chat struct {
	*host
	id     string
	config protocol.RunConfig
	feed   *client.Feed
	judge  *verify.Verifier
	// turns counts the turns that were started; turn is the last one's id.
	turns  int
	turn   string
	events []protocol.Event
}

// chat begins a session; nothing is sent before its first turn. Its ids are short
// and the same each time, for those who read recordings; a host has one chat.
func (h *host) chat(harness protocol.HarnessID) *chat {
	c := &chat{host: h, id: "session", judge: verify.New(verify.Options{}),
		config: protocol.RunConfig{Harness: harness, Cwd: h.place.cwd}}
	if harness == protocol.HarnessClaudeCode {
		c.config.Model = new("sonnet")
	}
	c.feed = h.FollowNew(c.id)
	h.t.Cleanup(c.feed.Close)
	return c
}

// start starts a turn.
func (c *chat) start(prompt string) {
	c.t.Helper()
	c.startWith(protocol.TurnStartParams{Input: protocol.TextInput(prompt)})
}

// startWith starts a turn; its ids and its config are the chat's.
func (c *chat) startWith(p protocol.TurnStartParams) {
	c.t.Helper()
	c.turns++
	c.turn = fmt.Sprintf("turn-%d", c.turns)
	ctx, cancel := c.bounded()
	defer cancel()
	p.SessionID, p.TurnID, p.Config = &c.id, &c.turn, c.config
	turn, err := c.StartTurn(ctx, p)
	if err != nil {
		c.t.Fatalf("turn/start: %v", err)
	}
	turn.Close()
}

// next is the session's next event.
func (c *chat) next() protocol.Event {
	c.t.Helper()
	ctx, cancel := c.bounded()
	defer cancel()
	env, err := c.feed.Next(ctx)
	if err != nil {
		c.t.Fatalf("waiting for an event: %v\nso far:\n%s", err, strings.Join(c.story(), "\n"))
	}
	for _, v := range c.judge.Add(env) {
		c.t.Errorf("violation: %s at event %d: %s", v.Rule, v.Index, v.Message)
	}
	c.events = append(c.events, env.Event)
	return env.Event
}

// until gives the first event that fits. An end of the turn that does not fit is
// the end of the test.
func (c *chat) until(fits func(protocol.Event) bool) protocol.Event {
	c.t.Helper()
	for {
		ev := c.next()
		if fits(ev) {
			return ev
		}
		if ev.Type() == protocol.TypeTurnEnded {
			c.t.Fatalf("the turn ended instead:\n%s", strings.Join(c.story(), "\n"))
		}
	}
}

// say runs a turn to its end; whoever asks for a permission is given it.
func (c *chat) say(prompt string) *protocol.TurnEnded {
	c.t.Helper()
	c.start(prompt)
	return c.rest(protocol.AllowOnce)
}

// rest follows the turn to its end and answers each request with the first option
// of a kind.
func (c *chat) rest(kind protocol.PermissionKind) *protocol.TurnEnded {
	c.t.Helper()
	for {
		switch ev := c.next().(type) {
		case *protocol.PermissionRequested:
			c.answer(ev, kind, "")
		case *protocol.TurnEnded:
			return ev
		}
	}
}

// asked follows the turn to its next request.
func (c *chat) asked() *protocol.PermissionRequested {
	c.t.Helper()
	return c.until(func(ev protocol.Event) bool {
		return ev.Type() == protocol.TypePermissionRequested
	}).(*protocol.PermissionRequested)
}

// answer chooses the first option of a kind, with another input if one is given.
func (c *chat) answer(ev *protocol.PermissionRequested, kind protocol.PermissionKind, input string) {
	c.t.Helper()
	outcome := protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected}
	for _, o := range ev.Options {
		if o.Kind == kind && outcome.OptionID == "" {
			outcome.OptionID = o.OptionID
		}
	}
	if outcome.OptionID == "" {
		c.t.Fatalf("no option of kind %s among %v", kind, ev.Options)
	}
	if input != "" {
		outcome.UpdatedInput = protocol.Object(input)
	}
	ctx, cancel := c.bounded()
	defer cancel()
	accepted, err := c.Respond(ctx, c.id, ev.RequestID, outcome)
	if err != nil || !accepted {
		c.t.Fatalf("permission/respond: accepted %v, %v", accepted, err)
	}
}

// cancel cancels the running turn and gives the answer.
func (c *chat) cancel() protocol.CancelOutcome {
	c.t.Helper()
	ctx, cancel := c.bounded()
	defer cancel()
	r, err := c.Cancel(ctx, c.id, c.turn)
	if err != nil {
		c.t.Fatalf("turn/cancel: %v", err)
	}
	c.judge.Cancelled(c.turn)
	return r.Outcome
}

// over closes the session, takes its last events, and judges the whole.
func (c *chat) over() {
	c.t.Helper()
	ctx, cancel := c.bounded()
	defer cancel()
	if closed, err := c.CloseSession(ctx, c.id); err != nil || !closed {
		c.t.Fatalf("session/close: closed %v, %v", closed, err)
	}
	for c.next().Type() != protocol.TypeSessionEnded {
	}
	for _, v := range c.judge.Finish() {
		c.t.Errorf("violation: %s at event %d: %s", v.Rule, v.Index, v.Message)
	}
}

// native is the harness's own id of the session.
func (c *chat) native() string {
	c.t.Helper()
	for _, ev := range c.events {
		if created, ok := ev.(*protocol.SessionCreated); ok {
			return created.NativeSessionID
		}
	}
	c.t.Fatal("no session was created")
	return ""
}

func (c *chat) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(c.t.Context(), patience, errors.New("the test's patience has ended"))
}

// story is what a person would tell of a session: what was said, which tools ran
// and how they ended, what was asked and answered, how the turns ended. Nothing in
// it depends on timing.
func (c *chat) story() []string {
	var s storyteller
	for _, ev := range c.events {
		s.tell(ev)
	}
	return s.lines
}

// storyteller keeps one line for each part, at its first place.
type storyteller struct {
	lines []string
	// at is the line of a part.
	at map[string]int
	// asked is which options a request had.
	asked map[string][]protocol.PermissionOption
}

func (s *storyteller) tell(ev protocol.Event) {
	switch ev := ev.(type) {
	case *protocol.SessionCreated:
		if ev.Resumed != nil {
			s.line("resumed %v", *ev.Resumed)
		}
	case *protocol.MessagePart:
		if !strings.HasPrefix(ev.MessageID, "echo-") {
			s.part(ev.Part)
		}
	case *protocol.PermissionRequested:
		s.line("asks %s", ev.ToolCall.ToolName)
		s.asked = map[string][]protocol.PermissionOption{ev.RequestID: ev.Options}
	case *protocol.PermissionResolved:
		s.resolved(ev)
	case *protocol.ErrorEvent:
		s.line("error %s", ev.Category)
	case *protocol.TurnEnded:
		s.line("ended %s", ev.StopReason)
	}
}

func (s *storyteller) line(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *storyteller) part(part protocol.Part) {
	text := string(part.Type())
	switch p := part.(type) {
	case *protocol.TextPart:
		text = "text: " + p.Text
	case *protocol.ReasoningPart:
		text = "reasoning: " + p.Text
	case *protocol.ToolPart:
		text = p.ToolName + " " + toolEnd(p.State)
	}
	id := part.Head().ID
	if at, known := s.at[id]; known {
		s.lines[at] = text
		return
	}
	if s.at == nil {
		s.at = map[string]int{}
	}
	s.at[id] = len(s.lines)
	s.lines = append(s.lines, text)
}

// toolEnd is a state and the first line of its result.
func toolEnd(state protocol.ToolState) string {
	text := ""
	switch s := state.(type) {
	case *protocol.CompletedState:
		text = s.Output
	case *protocol.FailedState:
		text = s.Error
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(string(state.Status()) + ": " + first)
}

func (s *storyteller) resolved(ev *protocol.PermissionResolved) {
	answer := string(ev.Outcome.Outcome)
	for _, o := range s.asked[ev.RequestID] {
		if o.OptionID == ev.Outcome.OptionID {
			answer = string(o.Kind)
		}
	}
	s.line("answered %s", answer)
}

// tells compares a session's story.
func (c *chat) tells(t *testing.T, want ...string) {
	t.Helper()
	if got := c.story(); !sameStory(got, want) {
		t.Errorf("story:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// sameStory takes a wanted line that ends in … for a beginning; one that begins with ?
// may be missing.
func sameStory(got, want []string) bool {
	for i, w := range want {
		line, may := strings.CutPrefix(w, "? ")
		if !may {
			continue
		}
		if i < len(got) && got[i] == line {
			return sameStory(got[i+1:], want[i+1:]) && sameStory(got[:i], want[:i])
		}
		return sameStory(got, slices.Delete(slices.Clone(want), i, i+1))
	}
	if len(got) != len(want) {
		return false
	}
	for i, w := range want {
		prefix, open := strings.CutSuffix(w, "…")
		if got[i] != w && !(open && strings.HasPrefix(got[i], prefix)) {
			return false
		}
	}
	return true
}
