package gateway

import (
	"strconv"

	"agent-server/eventlog"
	"agent-server/protocol"
	"agent-server/session"
)

// Slab sizes: a quiet session stays small, a busy one allocates rarely.
const (
	firstSlab = 2 << 10
	lastSlab  = 64 << 10
)

// encoder turns a session's events into records: encoded once, into slabs, for
// the log and every connection alike. It also keeps the turn marks that pruning
// goes by. Guarded by the session's lock.
//
// A record is a whole notification, newline included: the same bytes are the
// log's, and what each connection is sent. A slab lives as long as any record in
// it, so slabs are small against what a log may hold.
type encoder struct {
	// prefix is what every line of the session begins with.
	prefix []byte
	// slab is being filled; size is that of the last one made.
	slab []byte
	size int
	// scratch is where a line is built before its length is known; batch is one
	// step's records. Both are used again.
	scratch []byte
	batch   []eventlog.Record
	// turn is the mark of the latest turn; running is that mark while it runs.
	turn    int64
	running int64
}

// newEncoder is the encoder of a session; it holds no slab yet.
func newEncoder(id string) encoder {
	prefix := append([]byte(eventlog.Prefix), `{"sessionId":`...)
	return encoder{prefix: append(protocol.AppendString(prefix, id), `,"seq":`...)}
}

// records encodes one step's events. The slice is used again by the next call;
// the records and their bytes are not.
func (e *encoder) records(events []session.Stamped) []eventlog.Record {
	e.batch = e.batch[:0]
	for _, ev := range events {
		e.batch = append(e.batch, e.record(ev))
	}
	return e.batch
}

// record encodes one event, and a second time where a base connection is shown it
// otherwise: that is decided here, once, and not by every writer.
func (e *encoder) record(ev session.Stamped) eventlog.Record {
	e.mark(ev.Event)
	line, at := e.line(ev.Seq, ev.Event)
	r := eventlog.Record{Seq: ev.Seq, Line: line, EventAt: at, Durable: ev.Event.Type() != protocol.TypeMessagePartDelta, Turn: e.turn}
	if shown := forBase(ev.Event); shown != nil {
		r.Base, _ = e.line(ev.Seq, shown)
	}
	return r
}

// mark counts turns, and notes which one runs: a log never prunes that.
func (e *encoder) mark(ev protocol.Event) {
	switch ev.Type() {
	case protocol.TypeTurnStarted:
		e.turn++
		e.running = e.turn
	case protocol.TypeTurnEnded:
		e.running = 0
	}
}

// line encodes a whole notification and says where its event begins. A scratch
// that a large event has grown is let go.
func (e *encoder) line(seq int64, ev protocol.Event) ([]byte, int) {
	b := append(e.scratch[:0], e.prefix...)
	b = strconv.AppendInt(b, seq, 10)
	b = append(b, `,"event":`...)
	at := len(b)
	b = protocol.AppendEvent(b, ev)
	b = append(b, "}}\n"...)
	if cap(b) <= lastSlab {
		e.scratch = b
	}
	return e.keep(b), at
}

// keep copies bytes into the slab; its part of it is never written again.
func (e *encoder) keep(b []byte) []byte {
	if len(b) > cap(e.slab)-len(e.slab) {
		e.size = min(max(2*e.size, firstSlab), lastSlab)
		e.slab = make([]byte, 0, max(e.size, len(b)))
	}
	from := len(e.slab)
	e.slab = append(e.slab, b...)
	return e.slab[from:len(e.slab):len(e.slab)]
}

// forBase gives an event as a base connection is shown it, where that differs: a
// harness beyond the base's four is shown as acp, its real id in _meta. A base
// client would refuse the whole event otherwise. nil: it is shown as it is.
func forBase(ev protocol.Event) protocol.Event {
	switch ev := ev.(type) {
	case *protocol.SessionCreated:
		if !ev.Harness.Base() {
			shown := *ev
			shown.Harness, shown.Meta = protocol.HarnessACP, withHarness(ev.Meta, ev.Harness)
			return &shown
		}
	case *protocol.Raw:
		if !ev.Harness.Base() {
			shown := *ev
			shown.Harness, shown.Meta = protocol.HarnessACP, withHarness(ev.Meta, ev.Harness)
			return &shown
		}
	}
	return nil
}

// withHarness adds our key to a _meta object, which is canonical: an object, no
// space in it.
func withHarness(meta protocol.Object, id protocol.HarnessID) protocol.Object {
	b := []byte(`{"` + protocol.MetaHarness + `":`)
	b = protocol.AppendString(b, string(id))
	if rest := string(meta); len(rest) > 2 {
		return append(append(b, ','), rest[1:]...)
	}
	return append(b, '}')
}
