package client

import (
	"errors"

	"agent-server/echo"
	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/transport"
)

// entry is a turn that was submitted and that the fold does not show yet.
type entry struct {
	params   protocol.TurnStartParams
	standing standing
	// behind is the turn that must end first; blocked only.
	behind string
	// item is what it looks like: the echo, foretold.
	item *Item
}

func (e *entry) turn() string { return *e.params.TurnID }

// standing is where an entry is on its way to the server. Only the echo, a typed
// rejection and an unqueueing take it out of the outbox.
type standing int

const (
	// unsent: it is to be sent, for the first time or again.
	unsent standing = iota
	// underway: it was sent on this link.
	underway
	// admitted: the server has answered that it took it.
	admitted
	// blocked: another turn must end first.
	blocked
	// resting: it was refused for a reason that passes, and is sent again later.
	resting
)

// submit puts a turn at the outbox's end; that is its place until its echo has one.
// Its ids are minted.
func (c *core) submit(p protocol.TurnStartParams) {
	c.outbox = append(c.outbox, &entry{params: p, item: foretell(p, c.now)})
}

// foretell is the message that the turn's echo will be.
func foretell(p protocol.TurnStartParams, now int64) *Item {
	var conv *reducer.Conversation
	for _, ev := range echo.Events(echo.Spec{SessionID: *p.SessionID, TurnID: *p.TurnID, Model: p.Config.Model, Input: p.Input, Timestamp: now}) {
		conv = reducer.Reduce(conv, ev)
	}
	return &Item{ID: echo.MessageID(*p.TurnID), Turn: *p.TurnID, Entry: conv.EntryAt(0), Standing: Intended}
}

// pump sends what may be sent: one at a time, in order, and nothing before the fold
// has reached the log's head, so that what was admitted already is known to be.
func (c *core) pump() {
	if c.phase != current {
		return
	}
	for _, e := range c.outbox {
		switch e.standing {
		case admitted:
			continue
		case unsent:
			e.standing = underway
			c.do(start{c.epoch, e.params})
		}
		return // whoever is behind waits
	}
}

// started takes the answer to a turn/start. An answer is no echo: an admitted entry
// stays until the fold shows it.
func (c *core) started(in started) {
	e := c.entry(in.turn)
	if e == nil || in.epoch != c.epoch || e.standing != underway {
		return
	}
	var wire *protocol.Error
	var long *transport.OversizeError
	switch {
	case in.err == nil:
		c.sends, e.standing = 0, admitted
	case errors.As(in.err, &long), errors.As(in.err, &wire) && rejects(wire.Code):
		c.sends = 0
		c.drop(e)
		c.report(Failure{TurnID: in.turn, Input: e.params.Input, Err: in.err})
	case wire != nil && wire.Code == protocol.CodeTurnActive && c.runs(busyWith(wire)):
		c.sends, e.standing, e.behind = 0, blocked, busyWith(wire)
		if !c.knows(e.behind) { // its end may never show
			c.do(wait{c.epoch, sendAgain, retryIn(0)})
		}
	default:
		e.standing = resting
		c.do(wait{c.epoch, sendAgain, max(retryIn(c.sends), retryAfter(wire))})
		c.sends++
	}
}

// rejects says whether an error is the server's last word on a turn.
func rejects(code protocol.Code) bool {
	switch code {
	case protocol.CodeInvalidParams, protocol.CodeHarnessNotAvailable, protocol.CodeProtocolVersionMismatch, protocol.CodeTurnConflict:
		return true
	}
	return false
}

// busyWith is the turn that -32002 names; "": none.
func busyWith(e *protocol.Error) string {
	var data struct {
		TurnID string `json:"turnId"`
	}
	_ = protocol.Decode(e.Data, &data) // without it, a clock takes its place
	return data.TurnID
}

// retryAfter is what -32021 asks to wait, in ms; 0: nothing.
func retryAfter(e *protocol.Error) int64 {
	var data struct {
		After int64 `json:"retryAfterMs"`
	}
	if e != nil && e.Code == protocol.CodeOverloaded {
		_ = protocol.Decode(e.Data, &data) // without it, it is tried as ever
	}
	return min(data.After, 60_000)
}

// runs says whether the fold shows a turn that has not ended, or does not show it
// yet.
func (c *core) runs(turn string) bool {
	t, ok := c.folded.Conversation.Turn(turn)
	return turn != "" && (!ok || t.Status == reducer.TurnActive)
}

// knows says whether the fold shows a turn.
func (c *core) knows(turn string) bool {
	_, ok := c.folded.Conversation.Turn(turn)
	return ok
}

// heed takes out of the outbox what an event settles.
func (c *core) heed(ev protocol.Event) {
	if len(c.outbox) == 0 {
		return
	}
	switch ev := ev.(type) {
	case *protocol.MessageEnded:
		if turn, ok := echo.TurnOf(ev.MessageID); ok {
			c.drop(c.entry(turn))
		}
	case *protocol.TurnEnded:
		c.release(func(e *entry) bool { return e.standing == blocked && e.behind == ev.TurnID })
	case *protocol.UnknownEvent:
		c.unqueued(ev)
	}
}

// unqueued gives the input of a turn that will not run back to who wrote it.
func (c *core) unqueued(ev protocol.Event) {
	u, ok := protocol.ReadTurnUnqueued(ev)
	if !ok {
		return
	}
	if e := c.entry(u.TurnID); e != nil {
		c.drop(e)
		c.report(Failure{TurnID: u.TurnID, Input: u.Input, Err: &UnqueuedError{Reason: u.Reason}})
	}
}

// settleOutbox takes out what a loaded state settles.
func (c *core) settleOutbox() {
	if len(c.outbox) == 0 {
		return
	}
	for _, ev := range c.folded.Conversation.UnknownEvents() {
		c.unqueued(ev)
	}
	for _, e := range append([]*entry(nil), c.outbox...) {
		if m, ok := c.folded.Conversation.Message(echo.MessageID(e.turn())); ok && m.EndedAt != nil {
			c.drop(e)
		}
	}
	c.release(func(e *entry) bool { return e.standing == blocked && !c.runs(e.behind) })
}

// release makes entries ready to be sent again.
func (c *core) release(which func(*entry) bool) {
	for _, e := range c.outbox {
		if which(e) {
			e.standing, e.behind = unsent, ""
		}
	}
}

// entry is the outbox's entry of a turn; nil: there is none.
func (c *core) entry(turn string) *entry {
	for _, e := range c.outbox {
		if e.turn() == turn {
			return e
		}
	}
	return nil
}

// drop takes an entry out, if it is in.
func (c *core) drop(gone *entry) {
	for i, e := range c.outbox {
		if e == gone {
			c.outbox = append(c.outbox[:i:i], c.outbox[i+1:]...)
			return
		}
	}
}

// report notes a failure.
func (c *core) report(f Failure) { c.failures = append(c.failures, f) }
