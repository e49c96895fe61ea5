package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"agent-server/client"
	"agent-server/protocol"
)

// colonHelp says what attach takes beside prompts.
const colonHelp = `a line is a prompt, or the answer to a question
  :cancel  end the turn that runs
  :help    this
  ::text   a prompt that begins with a colon
Ctrl-C leaves; the session goes on`

// take takes what was typed while nothing was asked. It is the reader's goroutine,
// and waits for the gateway: lines have an order.
func (a *attached) take(ctx context.Context, text string) {
	switch {
	case strings.HasPrefix(text, "::"):
		a.prompt(ctx, text[1:])
	case text == ":cancel":
		a.cancel(ctx)
	case strings.HasPrefix(text, ":"):
		if text != ":help" {
			a.line("", text+" is nothing that is known here; nothing was sent")
		}
		a.remark(colonHelp)
	default:
		a.prompt(ctx, text)
	}
}

// prompt starts a turn. That it is refused ends nothing: whoever typed it reads why,
// and types something else.
func (a *attached) prompt(ctx context.Context, text string) {
	a.lookUp(ctx)
	p := a.turn(text)
	started, err := a.l.StartTurn(ctx, p)
	var wire *protocol.Error
	switch {
	case err == nil:
		started.Close() // the session's feed has its events
	case ctx.Err() != nil || errors.Is(err, client.ErrClosed):
	case errors.As(err, &wire) && wire.Code == protocol.CodeTurnActive:
		a.line("", "agent-server: not sent: another turn runs, and this gateway does not queue; :cancel ends it")
	case errors.As(err, &wire):
		a.line("", "agent-server: not sent: "+faultText(wire))
	default:
		a.line("", "agent-server: starting the turn: "+err.Error())
	}
}

// lookUp asks where the session works now: another client may have moved it, and a
// turn that differs starts the harness anew. Where that is not to be had, it is as it
// was.
func (a *attached) lookUp(ctx context.Context) {
	if a.f.cwd != "" || !lists(a.l.Client) {
		return
	}
	entries, err := a.l.Sessions(ctx)
	i := slices.IndexFunc(entries, func(e protocol.SessionEntry) bool { return e.SessionID == a.seat.session })
	if err != nil || i < 0 || entries[i].Cwd == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seat.config.Cwd = entries[i].Cwd
}

// turn makes a turn of ours. Its id is known before anything of it can be shown.
func (a *attached) turn(text string) protocol.TurnStartParams {
	a.mu.Lock()
	defer a.mu.Unlock()
	session, id := a.seat.session, client.NewID()
	p := protocol.TurnStartParams{SessionID: &session, TurnID: &id, Input: protocol.TextInput(text), Config: a.seat.config}
	if caps := a.l.Server().Capabilities; caps != nil && slices.Contains(caps.IfBusy, string(protocol.BusyQueue)) {
		p.IfBusy = protocol.BusyQueue
	}
	// Without a terminal the prompt stands nowhere on the screen yet.
	a.own[id] = a.ask.terminal != nil
	return p
}

// cancel ends the turn that runs. The turn's own end is the truth; only where there
// is none coming is something said.
func (a *attached) cancel(ctx context.Context) {
	a.mu.Lock()
	active := a.active
	a.mu.Unlock()
	if active == "" {
		a.line("", "agent-server: no turn runs")
		return
	}
	r, err := a.l.Cancel(ctx, a.seat.session, active)
	switch {
	case ctx.Err() != nil || errors.Is(err, client.ErrClosed):
	case err != nil:
		a.line("", "agent-server: cancelling: "+err.Error())
	case r.Outcome == protocol.CancelNoActiveTurn: // it has just ended
		a.line("", "agent-server: no turn runs")
	}
}
