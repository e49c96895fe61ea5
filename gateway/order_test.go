package gateway_test

import (
	"fmt"
	"testing"

	"agent-server/gateway"
	"agent-server/protocol"
)

// before checks the places of two lines.
func before(t *testing.T, what string, first, second said) {
	t.Helper()
	if first.At >= second.At {
		t.Errorf("%s: line %d stands behind %d:\n\t%s\n\t%s", what, first.At, second.At, first.Raw, second.Raw)
	}
}

// TestOrderOfATurn: the ack precedes the turn's first event; the echo follows
// turn.started at once.
func TestOrderOfATurn(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	for i := range 5 {
		id := fmt.Sprint("turn-", i)
		ack := p.call("turn/start", turn("s", id, "say hi", puppetID))
		_, first := event(p, "s", func(e *protocol.TurnStarted) bool { return e.TurnID == id })
		before(t, "the ack and its turn", ack, first)
		_, echo := event(p, "s", func(e *protocol.MessageStarted) bool { return e.TurnID == id })
		if echo.Params.Seq != first.Params.Seq+1 {
			t.Errorf("the echo has seq %d behind %d", echo.Params.Seq, first.Params.Seq)
		}
		p.turnEnded("s", id)
	}
}

// TestOrderOfFailure: turn.started and the echo come first also in a turn that
// fails at once.
func TestOrderOfFailure(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t, pup(func(p *puppet) { p.bad = fmt.Errorf("no such model") })), gateway.ConnectOptions{})
	ack := p.call("turn/start", turn("s", "t", "hi", puppetID))
	end := p.turnEnded("s", "t")
	if end.StopReason != protocol.StopError || end.Error.Category != protocol.CategoryInvalidRequest {
		t.Errorf("ended %s %+v", end.StopReason, end.Error)
	}
	_, first := event[*protocol.TurnStarted](p, "s", nil)
	_, echo := event[*protocol.MessageEnded](p, "s", nil)
	_, bad := event[*protocol.ErrorEvent](p, "s", nil)
	before(t, "the ack and its turn", ack, first)
	before(t, "the echo and the error", echo, bad)
}

// TestOrderOfAPermission: permission.resolved precedes the answer.
func TestOrderOfAPermission(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	for i := range 5 {
		id := fmt.Sprint("t", i)
		p.begin(turn("s", id, "ask", puppetID))
		ask, _ := event(p, "s", func(e *protocol.PermissionRequested) bool { return e.TurnID == id })
		answer := p.call("permission/respond", map[string]any{"sessionId": "s", "requestId": ask.RequestID,
			"outcome": map[string]any{"outcome": "selected", "optionId": "reject"}})
		_, resolved := event(p, "s", func(e *protocol.PermissionResolved) bool { return e.RequestID == ask.RequestID })
		before(t, "permission.resolved and the answer", resolved, answer)
		p.turnEnded("s", id)
	}
}

// TestOrderOfACancel: permission.resolved{cancelled}, then the answer, then
// message.ended and turn.ended.
func TestOrderOfACancel(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	for i := range 5 {
		id := fmt.Sprint("t", i)
		p.begin(turn("s", id, "say first;ask", puppetID))
		ask, _ := event(p, "s", func(e *protocol.PermissionRequested) bool { return e.TurnID == id })
		answer := p.call("turn/cancel", map[string]any{"sessionId": "s", "turnId": id})
		if got, want := fault(answer), `result {"outcome":"cancelled","turnId":"`+id+`"}`; got != want {
			t.Errorf("cancel: %s", got)
		}
		p.turnEnded("s", id)
		resolved, r := event(p, "s", func(e *protocol.PermissionResolved) bool { return e.RequestID == ask.RequestID })
		if resolved.Outcome.Outcome != protocol.OutcomeCancelled {
			t.Errorf("resolved %+v", resolved.Outcome)
		}
		_, ended := event(p, "s", func(e *protocol.MessageEnded) bool { return e.TurnID == id && e.MessageID != "echo-"+id })
		before(t, "permission.resolved and the answer", r, answer)
		before(t, "the answer and message.ended", answer, ended)
	}
}

// TestOrderOfAClose: session.ended precedes the answer.
func TestOrderOfAClose(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	for i := range 5 {
		session := fmt.Sprint("s", i)
		p.run(turn(session, "t", "say hi", puppetID))
		answer := p.call("session/close", map[string]any{"sessionId": session})
		_, ended := event[*protocol.SessionEnded](p, session, nil)
		before(t, "session.ended and the answer", ended, answer)
	}
}

// TestNextTurnAtOnce: a turn that is started on the receipt of turn.ended is
// never told that one is active.
func TestNextTurnAtOnce(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	for i := range 60 {
		id := fmt.Sprint("t", i)
		if a := p.call("turn/start", turn("s", id, "say hi", puppetID)); a.Error != nil {
			t.Fatalf("turn %d: %s", i, a.Raw)
		}
		p.turnEnded("s", id)
	}
}

// TestPipelined: lines are started in order, so that requests can be sent without
// waiting for answers.
func TestPipelined(t *testing.T) {
	t.Parallel()
	p := connect(t, open(t), gateway.ConnectOptions{})
	first := p.ask("turn/start", turn("s", "a", "wait", puppetID))
	second := p.ask("turn/start", turn("s", "b", "wait", puppetID))
	early := p.ask("session/close", map[string]any{"sessionId": "s"})
	for id, want := range map[string]string{first: `result {"sessionId":"s","turnId":"a"}`, second: `-32002 {"turnId":"a"}`, early: `-32002 {"turnId":"a"}`} {
		if got := fault(p.answer(id)); got != want {
			t.Errorf("request %s: %s, want %s", id, got, want)
		}
	}
	event[*protocol.SessionCreated](p, "s", nil)
	cancel := p.ask("turn/cancel", map[string]any{"sessionId": "s"})
	p.answer(p.ask("initialize", map[string]any{"protocolVersion": 2})) // the cancel holds it not up
	p.answer(cancel)
	p.turnEnded("s", "a")
}

// TestTwoConnections: both are sent everything; whoever asked is answered alone;
// one that comes later is sent what comes later.
func TestTwoConnections(t *testing.T) {
	t.Parallel()
	g := open(t)
	a, b := connect(t, g, gateway.ConnectOptions{}), connect(t, g, gateway.ConnectOptions{})
	a.begin(turn("s", "t1", "ask", puppetID))
	ask, _ := event[*protocol.PermissionRequested](b, "s", nil)
	if got := fault(b.call("permission/respond", map[string]any{"sessionId": "s", "requestId": ask.RequestID,
		"outcome": map[string]any{"outcome": "selected", "optionId": "allow"}})); got != `result {"accepted":true}` {
		t.Errorf("the other connection's answer: %s", got)
	}
	a.turnEnded("s", "t1")
	b.turnEnded("s", "t1")
	late := connect(t, g, gateway.ConnectOptions{})
	late.call("initialize", map[string]any{"protocolVersion": 2})
	b.run(turn("s", "t2", "say hi", puppetID))
	late.run(turn("new", "t", "say hi", puppetID))
	late.turnEnded("s", "t2")
	event[*protocol.TurnStarted](b, "new", nil)
	_, first := event[*protocol.TurnStarted](late, "s", nil)
	if head := first.Params.Seq; late.count(func(s said) bool { return s.Params.SessionID == "s" && s.Params.Seq < head }) != 0 || head < 10 {
		t.Errorf("a late connection was sent the past: turn.started has seq %d", head)
	}
	if n := b.count(func(s said) bool { return s.Method == "" }); n != 2 { // respond, start
		t.Errorf("a connection was given %d answers to two requests", n)
	}
}
