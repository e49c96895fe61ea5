package gateway

import (
	"encoding/json"
	"slices"
	"strconv"

	"agent-server/eventlog"
	"agent-server/protocol"
)

// filler stands for a number that the log does not hold: a delta that was let go, or
// one that a crash has skipped. A connection without a chain would take the missing
// number for a loss. It is made on the fly, is never stored, and folds to nothing.
type filler struct{ head, tail []byte }

// elided marks fillers.
var elided = protocol.Object(`{"` + protocol.MetaElided + `":true}`)

// append appends the line of one missing number.
func (f *filler) append(dst []byte, seq int64) []byte {
	dst = append(dst, f.head...)
	return append(strconv.AppendInt(dst, seq, 10), f.tail...)
}

// fillerFor makes what fills the hole that a passage stands before: all its numbers
// have the turn and the time of the last event before it that has a turn, else of the
// first behind it. It is looked for in the log, so that live reading and replay say
// the same of the same hole.
func (g *Gateway) fillerFor(p *passage) *filler {
	a := g.anchorOf(p)
	ev := &protocol.Raw{SessionID: p.session, TurnID: a.TurnID, Harness: p.view.harness(g.harnessOf(p.session)),
		Data: protocol.Object("null"), Timestamp: a.Timestamp, Meta: elided}
	head := append([]byte(eventlog.Prefix), `{"sessionId":`...)
	tail := protocol.AppendEvent([]byte(eventMember), ev)
	return &filler{head: append(protocol.AppendString(head, p.session), `,"seq":`...), tail: append(tail, "}}\n"...)}
}

// anchor is what a filler takes over from an event.
type anchor struct {
	TurnID    string `json:"turnId"`
	Timestamp int64  `json:"timestamp"`
}

// anchorIn reads an event's turn and time; false: it has no turn. The event may be of
// a type that is unknown here, and of any length: only the two members are looked at.
func anchorIn(r eventlog.Record) (anchor, bool) {
	var a anchor
	err := json.Unmarshal(r.Line[r.EventAt:len(r.Line)-len("}}\n")], &a)
	return a, err == nil && a.TurnID != ""
}

// anchorOf looks for the anchor of the hole behind p.at: in what was read, in the log
// before it, and then the other way. The zero one where no event has a turn.
func (g *Gateway) anchorOf(p *passage) anchor {
	for _, r := range slices.Backward(p.records[:p.next]) {
		if a, ok := anchorIn(r); ok {
			return a
		}
	}
	start := p.at
	if p.next > 0 {
		start = p.records[0].Seq - 1
	}
	if a, ok := g.anchorUpTo(p.session, start); ok {
		return a
	}
	for _, r := range p.records[p.next:] {
		if a, ok := anchorIn(r); ok {
			return a
		}
	}
	return g.anchorBehind(p.session, p.at)
}

// firstLook is how many numbers the first look back for an anchor goes over; each
// further look goes over eight times as many.
const firstLook = 32

// anchorUpTo looks for the last event with a turn up to a seq, backwards in growing
// strides: the one before a hole is mostly the very last.
func (g *Gateway) anchorUpTo(session string, upto int64) (anchor, bool) {
	first, _, ok := g.log.Range(session)
	for stride := int64(firstLook); ok && upto >= first; stride *= 8 {
		from := max(first-1, upto-stride)
		if a, found := g.lastAnchor(session, from, upto); found {
			return a, true
		}
		upto = from
	}
	return anchor{}, false
}

// lastAnchor is that of the last event with a turn after one seq and up to another.
func (g *Gateway) lastAnchor(session string, after, upto int64) (last anchor, found bool) {
	for after < upto {
		records, err := g.log.Read(session, after, anchorRead)
		if err != nil || len(records) == 0 {
			break // what was let go meanwhile is no anchor
		}
		for _, r := range records {
			if after = r.Seq; after > upto {
				break
			}
			if a, ok := anchorIn(r); ok {
				last, found = a, true
			}
		}
	}
	return last, found
}

// anchorRead is what one look for an anchor asks the log for, in bytes.
const anchorRead = 64 << 10

// anchorBehind is that of the first event with a turn after a seq.
func (g *Gateway) anchorBehind(session string, after int64) anchor {
	for {
		records, err := g.log.Read(session, after, anchorRead)
		if err != nil || len(records) == 0 {
			return anchor{}
		}
		for _, r := range records {
			if a, ok := anchorIn(r); ok {
				return a
			}
			after = r.Seq
		}
	}
}

// harnessOf is what runs a session, or ran it last. A process that has not run it
// itself takes the log's word: that of the first session.created it holds. Where
// there is none no harness was ever reached, and any base id is as true.
func (g *Gateway) harnessOf(session string) protocol.HarnessID {
	if s := g.lookup(session); s != nil {
		if reg := s.ran.Load(); reg != nil {
			return g.registry.idOf(reg)
		}
	}
	return g.loggedHarness(session)
}

// loggedHarness reads a session's log for the harness that ran it.
func (g *Gateway) loggedHarness(session string) protocol.HarnessID {
	first, _, _ := g.log.Range(session)
	for after := first - 1; ; {
		records, err := g.log.Read(session, after, replayChunk)
		if err != nil || len(records) == 0 {
			return protocol.HarnessACP
		}
		for _, r := range records {
			after = r.Seq
			var ev struct {
				Type    protocol.EventType `json:"type"`
				Harness protocol.HarnessID `json:"harness"`
			}
			raw := r.Line[r.EventAt : len(r.Line)-len("}}\n")]
			if json.Unmarshal(raw, &ev) == nil && ev.Type == protocol.TypeSessionCreated && ev.Harness != "" {
				return ev.Harness
			}
		}
	}
}
