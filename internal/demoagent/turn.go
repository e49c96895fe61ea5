package demoagent

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	// errCancelled ends a script whose turn was cancelled, by the client's
	// notification or by its answer to a permission.
	errCancelled = errors.New("cancelled")
	// errExited ends a script after it has ended the process, which in a test is
	// not true. The prompt stays unanswered.
	errExited = errors.New("exited")
)

// turn is one prompt at work. The agent's mutex guards recalled and closer; the
// rest is fixed or belongs to the turn's goroutine.
type turn struct {
	agent   *agent
	session *session
	request jsontext.Value     // id of session/prompt
	text    string             // what was asked
	script  script             // what its first word chose
	cancel  context.CancelFunc // ends the script at its next step

	withdrawOnce sync.Once
	withdrawn    chan struct{} // closed when not even a permission is waited for

	recalled bool           // by $/cancel_request
	closer   jsontext.Value // id of the session/close to answer at the end, or nil

	later func() // what goes on once the turn is over; nil: nothing

	message openMessage
	tool    *toolCall // without a final status yet; nil when none is open
	output  int       // bytes of text and thought so far
}

// openMessage is the message that further chunks of its kind belong to.
type openMessage struct {
	kind string // agent_message_chunk or agent_thought_chunk; empty when none is open
	id   string
}

// withdraw cancels the turn and stops it waiting for the client.
func (t *turn) withdraw() {
	t.withdrawOnce.Do(func() { close(t.withdrawn) })
	t.cancel()
}

// contentBlock is a piece of a prompt. Only text is read; resource_link, which
// every agent must take, is taken and not followed.
type contentBlock struct {
	// Type is text or resource_link; others are refused.
	Type string `json:"type"`
	// Text is the text of a text block.
	Text string `json:"text"`
}

// promptText joins the text of a prompt. The error names a block that
// initialize did not promise to take.
func promptText(blocks []contentBlock) (string, error) {
	if len(blocks) == 0 {
		return "", rpcErrorf(codeInvalidParams, "the prompt is empty")
	}
	var texts []string
	for _, block := range blocks {
		switch block.Type {
		case "text":
			texts = append(texts, block.Text)
		case "resource_link":
		default:
			return "", rpcErrorf(codeInvalidParams, "the demo takes no %q in a prompt", block.Type)
		}
	}
	return strings.Join(texts, "\n"), nil
}

// prompt starts a turn on its own goroutine. There is one at a time a session: a
// second prompt is refused and does not touch the first.
func (a *agent) prompt(ctx context.Context, msg incoming) (any, error) {
	var params struct {
		SessionID string         `json:"sessionId"`
		Prompt    []contentBlock `json:"prompt"`
	}
	if fault := decodeParams(msg.params, &params); fault != nil {
		return nil, fault
	}
	text, err := promptText(params.Prompt)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sessions[params.SessionID]
	if !ok {
		return nil, noSession(params.SessionID)
	}
	if s.turn != nil {
		return nil, rpcErrorf(codeInvalidRequest, "session %q is busy with another prompt", s.id)
	}
	a.beginTurn(ctx, s, msg.id, text)
	return nil, errLater
}

// beginTurn makes the session busy before the next line is read, so that a
// cancel right behind the prompt finds the turn. The caller holds mu.
func (a *agent) beginTurn(ctx context.Context, s *session, request jsontext.Value, text string) {
	ctx, cancel := context.WithCancel(ctx)
	t := &turn{
		agent: a, session: s, request: request, text: text, script: chooseScript(text),
		cancel: cancel, withdrawn: make(chan struct{}),
	}
	s.turn = t
	a.turns.Go(func() { t.work(ctx) })
}

// work runs the script to its end and answers the prompt. Whatever the script
// left open is closed first: after the answer nothing of the turn may come.
func (t *turn) work(ctx context.Context) {
	defer t.cancel()
	err := t.script.run(ctx, t)
	t.abandonTool()
	if err == nil && ctx.Err() == nil {
		t.reportContext()
	}
	t.agent.finish(ctx, t, err)
	if t.later != nil && err == nil {
		t.agent.turns.Go(t.later)
	}
}

// promptResult is the answer to session/prompt.
type promptResult struct {
	// StopReason is end_turn or cancelled; the protocol has more, but a demo
	// has no limits to run into. A failed turn is an error answer instead.
	StopReason string `json:"stopReason"`
	// Usage is this turn's alone.
	Usage usage `json:"usage"`
}

// usage is what this turn cost, in tokens: here a quarter of the bytes.
type usage struct {
	// InputTokens is the prompt's text.
	InputTokens int `json:"inputTokens"`
	// OutputTokens is text and thought, but not what tools show.
	OutputTokens int `json:"outputTokens"`
	// TotalTokens is the sum of the two.
	TotalTokens int `json:"totalTokens"`
}

// usage may be asked for at any time; a cancelled turn is billed for what it
// said, so that no client learns to take zeros for a sum.
func (t *turn) usage() usage {
	u := usage{InputTokens: tokens(len(t.text)), OutputTokens: tokens(t.output)}
	u.TotalTokens = u.InputTokens + u.OutputTokens
	return u
}

// tokens is the usual rule of thumb, four bytes a token, rounded up.
func tokens(bytes int) int { return (bytes + 3) / 4 }

// finish frees the session and writes the answer in one step, so that who has
// read the answer finds the session free, and who finds it free comes after the
// answer.
func (a *agent) finish(ctx context.Context, t *turn, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t.session.turn = nil
	t.session.used += t.usage().TotalTokens
	if errors.Is(err, errExited) {
		return
	}
	stopReason, fault := t.outcome(ctx, err)
	a.respond(t.request, promptResult{StopReason: stopReason, Usage: t.usage()}, fault)
	if t.closer != nil {
		a.respond(t.closer, struct{}{}, nil)
	}
}

// outcome decides what the prompt is answered with. A cancel that came in time
// wins over everything that the script says.
func (t *turn) outcome(ctx context.Context, err error) (string, *rpcError) {
	var fault *rpcError
	switch {
	case t.recalled:
		return "", rpcErrorf(codeCancelled, "the prompt was withdrawn")
	case ctx.Err() != nil, errors.Is(err, errCancelled):
		return "cancelled", nil
	case errors.As(err, &fault):
		return "", fault
	case err != nil:
		return "", rpcErrorf(codeInternal, "%v", err)
	}
	return "end_turn", nil
}
