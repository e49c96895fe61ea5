package gateway

import (
	"strconv"

	"agent-server/eventlog"
	"agent-server/protocol"
	"agent-server/reducer"
)

// view is how a connection has asked to be shown events. The zero value is a base
// connection's.
type view struct {
	// open: harnesses beyond the base's four are named.
	open bool
	// chained: envelopes carry prevSeq, and numbers may be missing. Without it each
	// missing number is filled.
	chained bool
	// sparse: no deltas. Only with chained.
	sparse bool
	// picky: nothing of a session until it is subscribed to.
	picky bool
}

// viewOf is what initialize has asked for; what is not asked for is not granted.
func viewOf(c *protocol.ClientCapabilities) view {
	if c == nil {
		return view{}
	}
	yes := func(b *bool) bool { return b != nil && *b }
	return view{open: yes(c.OpenHarnesses), chained: yes(c.ChainedSeq), sparse: c.Deltas != nil && !*c.Deltas,
		picky: c.Events == protocol.EventsSubscribed}
}

// shows says whether a record is sent at all. Without a chain everything is: a
// number left out would be a hole.
func (v view) shows(r eventlog.Record) bool { return r.Durable || !v.sparse || !v.chained }

// line is the record's line as this connection is sent it.
func (v view) line(r eventlog.Record) []byte {
	if r.Base != nil && !v.open {
		return r.Base
	}
	return r.Line
}

// envelope is the record's envelope as this connection is sent it. Without a chain
// it shares the log's bytes.
func (v view) envelope(r eventlog.Record, prev int64) protocol.Object {
	switch {
	case v.chained:
		return envelopeIn(v.append(nil, r, prev))
	case v.open:
		return r.Envelope()
	default:
		return r.BaseEnvelope()
	}
}

// eventMember stands between an envelope's head and its event.
const eventMember = `,"event":`

// append appends the record's line: a chained connection's has a short head of its
// own before the same bytes of the event.
func (v view) append(dst []byte, r eventlog.Record, prev int64) []byte {
	line := v.line(r)
	if !v.chained {
		return append(dst, line...)
	}
	// Both encodings of a record have the same head, and so the same EventAt.
	dst = append(dst, line[:r.EventAt-len(eventMember)]...)
	dst = strconv.AppendInt(append(dst, `,"prevSeq":`...), prev, 10)
	return append(dst, line[r.EventAt-len(eventMember):]...)
}

// harness is an id as this connection is shown it.
func (v view) harness(id protocol.HarnessID) protocol.HarnessID {
	if id == "" || v.open || id.Base() {
		return id
	}
	return protocol.HarnessACP
}

// envelopeIn is the envelope in a whole line.
func envelopeIn(line []byte) protocol.Object {
	return line[len(eventlog.Prefix) : len(line)-len("}\n")]
}

// state is a fold as this connection would have made it of what it is shown: the
// harness is the one thing in it that may differ.
func (v view) state(c *reducer.Conversation) protocol.Object {
	state := c.AppendJSON(nil)
	shown := v.harness(c.Harness())
	if shown == c.Harness() {
		return state
	}
	// The state begins with what session.created has told; see reducer.
	head := protocol.AppendString([]byte(`{"sessionId":`), c.SessionID())
	head = append(protocol.AppendString(append(head, `,"nativeSessionId":`...), c.NativeSessionID()), `,"harness":`...)
	rest := state[len(protocol.AppendString(head, string(c.Harness()))):]
	return append(protocol.AppendString(head, string(shown)), rest...)
}
