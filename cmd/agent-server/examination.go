package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/verify"
)

// helloPrompt is what any agent answers without a tool.
const helloPrompt = "Say hello in one short sentence. Use no tools."

// examination is a hello turn, and what came of it.
type examination struct {
	// events counts what came; created: the harness has said its native session;
	// text: it has said something.
	events        int
	created, text bool
	// ended is the turn's end; nil: it did not end in time.
	ended *protocol.TurnEnded
	// refused is why the turn was not begun; nil: it was.
	refused error
	timeout time.Duration
	took    time.Duration
	// noise counts lines of the harness that were no protocol.
	noise int
	found []verify.Violation
}

// examined runs the turn in a directory of its own, closes its session, and looks at
// every event. An error is ours, or the caller's end.
func examined(ctx context.Context, h *host, id protocol.HarnessID, timeout time.Duration) (*examination, error) {
	dir, err := os.MkdirTemp("", "agent-server-doctor-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for the turn: %w", err)
	}
	defer os.RemoveAll(dir)
	x, began := &examination{timeout: timeout}, time.Now()
	session, turn := client.NewID(), client.NewID()
	feed := h.FollowNew(session)
	defer feed.Close()
	bound, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	started, err := h.StartTurn(bound, protocol.TurnStartParams{SessionID: &session, TurnID: &turn, Input: protocol.TextInput(helloPrompt),
		Config: protocol.RunConfig{Harness: id, Cwd: dir}})
	if err != nil {
		x.refused = err
		return x, ctx.Err()
	}
	started.Close()
	judge := verify.New(verify.Options{})
	switch err := x.follow(bound, h, feed, judge, protocol.TypeTurnEnded); {
	case err != nil && bound.Err() != nil:
		return x, ctx.Err() // its own bound is the finding
	case err != nil:
		return x, fmt.Errorf("following the turn: %w", err)
	}
	x.took = time.Since(began)
	ending, over := context.WithTimeout(ctx, endBound)
	defer over()
	if _, err := h.CloseSession(ending, session); err != nil {
		return x, fmt.Errorf("closing the session: %w", err)
	}
	if err := x.follow(ending, h, feed, judge, protocol.TypeSessionEnded); err != nil {
		return x, fmt.Errorf("following the session's end: %w", err)
	}
	x.found = append(x.found, judge.Finish()...)
	return x, nil
}

// follow takes events up to one of a type. What the harness asks for is refused.
func (x *examination) follow(ctx context.Context, h *host, feed *client.Feed, judge *verify.Verifier, last protocol.EventType) error {
	for {
		env, err := feed.Next(ctx)
		if err != nil {
			return err
		}
		x.events++
		x.found = append(x.found, judge.Add(env)...)
		switch ev := env.Event.(type) {
		case *protocol.SessionCreated:
			x.created = true
		case *protocol.MessagePart:
			text, ok := ev.Part.(*protocol.TextPart)
			x.text = x.text || ok && ev.OutputIndex > 0 && strings.TrimSpace(text.Text) != ""
		case *protocol.PermissionRequested:
			_, err = h.Respond(ctx, ev.SessionID, ev.RequestID, protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled})
		case *protocol.TurnEnded:
			x.ended = ev
		}
		if err != nil || env.Event.Type() == last {
			return err
		}
	}
}

// turn reports what came of it.
func (r *report) turn(x *examination, hint string) {
	switch {
	case x.refused != nil:
		message := x.refused.Error()
		if wire := (*protocol.Error)(nil); errors.As(x.refused, &wire) {
			message = faultText(wire)
		}
		r.add("turn", findingFail, "it was refused: "+message, "")
	case x.ended == nil:
		r.add("turn", findingFail, x.silence(), "run the command by hand; if it is only slow, give it more time with --timeout")
	case x.ended.Error != nil:
		message, advice := x.fault(hint)
		r.add("turn", findingFail, message, advice)
	case !x.ended.StopReason.Clean():
		r.add("turn", findingFail, "it ended with "+string(x.ended.StopReason), "")
	case !x.text:
		r.add("turn", findingFail, "it ended well, without a word", "run the command by hand, and look at what it says")
	default:
		r.add("turn", findingOK, fmt.Sprintf("it said hello in %s", x.took.Round(100*time.Millisecond)), "")
	}
	if x.noise > 0 {
		r.add("stream", findingWarn, fmt.Sprintf("%d lines of its stdout were no protocol, and were skipped", x.noise), "what it runs may print there, a shell's profile for instance; is it started in the mode that speaks its protocol?")
	}
	r.laws(x)
}

// laws reports what the verifier has found: a fault of ours, whatever the harness did.
func (r *report) laws(x *examination) {
	for _, v := range x.found {
		r.add("stream", findingFail, fmt.Sprintf("event %d breaks %s: %s", v.Index, v.Rule, v.Message), "this is a fault of agent-server: please report it")
	}
	if len(x.found) == 0 && x.ended != nil {
		r.add("stream", findingOK, fmt.Sprintf("%d events, no law broken", x.events), "")
	}
}

// silence says how far a turn came that did not end.
func (x *examination) silence() string {
	how := "the harness was started, and has said nothing that is understood"
	switch {
	case x.text:
		how = "it has begun to answer"
	case x.created:
		how = "its session is there, but no word of the model: it may not be reachable"
	}
	return fmt.Sprintf("no end within %s: %s", x.timeout, how)
}

// fault words why a turn failed, and what to do.
func (x *examination) fault(hint string) (message, advice string) {
	e := x.ended.Error
	switch e.Category {
	case protocol.CategoryAuth:
		return "it is not logged in, or its login is not taken: " + e.Message, hint
	case protocol.CategoryNetwork:
		return "its model cannot be reached: " + e.Message, "look at the network, at the proxy and at the endpoint that its variables name"
	case protocol.CategoryRateLimit, protocol.CategoryUsageLimit:
		return "its account is at a limit: " + e.Message, "wait, or use another account"
	case protocol.CategoryUpstream:
		return "its model's server has failed: " + e.Message, "try again later"
	case protocol.CategoryProcessExit:
		if !x.created {
			return "it dies at its start: " + e.Message, "run the command by hand, and look at what it says"
		}
		return "it died within the turn: " + e.Message, ""
	}
	return fmt.Sprintf("it failed (%s): %s", e.Category, e.Message), ""
}

// noise counts in the log what a harness writes that is no protocol.
type noise struct{ lines atomic.Int64 }

func (n *noise) count() int { return int(n.lines.Load()) }

// beside gives a logger that counts, and writes what the other one writes.
func (n *noise) beside(l *zap.Logger) *zap.Logger {
	return zap.New(zapcore.NewTee(l.Core(), noiseCore{zapcore.InfoLevel, n}))
}

// noiseCore is the part of a logger that counts.
type noiseCore struct {
	zapcore.LevelEnabler
	n *noise
}

// noJSON is what every translator calls a line that is none.
const noJSON = "line is no JSON object"

func (c noiseCore) With([]zapcore.Field) zapcore.Core { return c }

func (c noiseCore) Check(e zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if e.Message == noJSON {
		return ce.AddCore(e, c)
	}
	return ce
}

func (c noiseCore) Write(zapcore.Entry, []zapcore.Field) error {
	c.n.lines.Add(1)
	return nil
}

func (c noiseCore) Sync() error { return nil }
