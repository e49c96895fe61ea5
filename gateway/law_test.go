package gateway_test

import (
	"fmt"
	"testing"

	"agent-server/gateway"
	"agent-server/protocol"
)

// Law 92: a confirmed cancel is answered behind permission.resolved and before
// what else its step says, also on a connection that has fallen behind and is sent
// all of it at once.
func TestLaw92_cancelAnswerInItsPlace(t *testing.T) {
	t.Parallel()
	g := open(t)
	behind, watching := connect(t, g, gateway.ConnectOptions{}), connect(t, g, gateway.ConnectOptions{})
	for i := range 5 {
		id := fmt.Sprint("t", i)
		behind.begin(turn("s", id, "say first;ask", puppetID))
		ask, _ := event(behind, "s", func(e *protocol.PermissionRequested) bool { return e.TurnID == id })
		behind.hold(true)
		// What the peer no longer reads keeps the writer in its write.
		for range 8 {
			behind.ask("initialize", map[string]any{"protocolVersion": 2})
		}
		cancel := behind.ask("turn/cancel", map[string]any{"sessionId": "s", "turnId": id})
		watching.turnEnded("s", id)
		behind.hold(false)
		answer := behind.answer(cancel)
		behind.turnEnded("s", id)
		_, resolved := event(behind, "s", func(e *protocol.PermissionResolved) bool { return e.RequestID == ask.RequestID })
		_, ended := event(behind, "s", func(e *protocol.MessageEnded) bool { return e.TurnID == id && e.MessageID != "echo-"+id })
		before(t, "permission.resolved and the answer", resolved, answer)
		before(t, "the answer and message.ended", answer, ended)
	}
}

// Law 95: a harness is held while a connection that may not lose anything has too
// much left to read, however long that takes; the others' sessions go on, and then
// nothing is missing.
func TestLaw95_harnessIsHeld(t *testing.T) {
	t.Parallel()
	const deltas, size, maxLag = 4_000, 1 << 10, 128 << 10
	g, logs := watched(t, func(o *gateway.Options) { o.MaxLagBytes = maxLag })
	slow, quick := connect(t, g, gateway.ConnectOptions{Pause: true}), connect(t, g, gateway.ConnectOptions{})
	slow.call("initialize", map[string]any{"protocolVersion": 2})
	slow.hold(true)
	quick.begin(turn("s", "t", fmt.Sprintf("flood %d %d", deltas, size), puppetID))
	waitUntil(t, "the harness is held", logged(logs, "harness held"))
	// Turns elsewhere stand for time that passes: a harness that was not held
	// would be through with its flood.
	for i := range 40 {
		quick.run(turn("other", fmt.Sprint(i), "say hi", puppetID))
	}
	taken := quick.count(func(s said) bool { return s.Params.SessionID == "s" })
	if bound := 3*maxLag/size + 64; taken > bound {
		t.Errorf("%d events of %d bytes were taken, the lag may be %d bytes", taken, size, maxLag)
	}
	slow.hold(false)
	slow.turnEnded("s", "t")
	quick.turnEnded("s", "t")
	if text := slow.text("s", "t"); len(text) != deltas*size {
		t.Errorf("%d bytes of text, want %d", len(text), deltas*size)
	}
}
