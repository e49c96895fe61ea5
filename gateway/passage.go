package gateway

import "agent-server/eventlog"

// passage is the way through what one read of a session's log has given, as one
// connection is shown it: line by line, a filler where a number is missing and the
// connection has no chain to cross the hole by. Live reading and events/replay go
// the same way.
type passage struct {
	gw      *Gateway
	session string
	view    view
	// records are what was read; next is the first that was not passed.
	records []eventlog.Record
	next    int
	// at is the last seq passed, shown or not; upto the last that may be.
	at, upto int64
	// prev is the seq of the last line shown.
	prev int64
	// passed counts the bytes of the records that were passed.
	passed int

	// rec is the line at hand; nil: it is a filler.
	rec *eventlog.Record
	// gap is what fills the hole at hand; nil: at lies in none.
	gap *filler
	// chainedTo is what rec's line names as the one before it.
	chainedTo int64
}

// step moves to the next line to be shown; false: there is none in what was read.
// Where the log gave no record at all, all up to upto is a hole.
func (p *passage) step() bool {
	for p.at < p.upto {
		edge := p.upto + 1
		if p.next < len(p.records) {
			edge = min(edge, p.records[p.next].Seq)
		} else if len(p.records) > 0 {
			return false // the next read says what comes behind them
		}
		if p.at+1 < edge {
			if p.view.chained {
				p.at = edge - 1
				continue
			}
			p.fill()
			return true
		}
		if p.take() {
			return true
		}
	}
	return false
}

// take passes the next record; false: it is not shown.
func (p *passage) take() bool {
	r := &p.records[p.next]
	p.next++
	p.at, p.gap = r.Seq, nil
	p.passed += len(r.Line)
	if !p.view.shows(*r) {
		return false
	}
	p.rec, p.chainedTo, p.prev = r, p.prev, r.Seq
	return true
}

// fill makes the next missing number the line at hand.
func (p *passage) fill() {
	if p.gap == nil {
		p.gap = p.gw.fillerFor(p)
	}
	p.at++
	p.rec, p.prev = nil, p.at
}

// append appends the line at hand.
func (p *passage) append(dst []byte) []byte {
	if p.rec == nil {
		return p.gap.append(dst, p.at)
	}
	return p.view.append(dst, *p.rec, p.chainedTo)
}

// envelope is the envelope at hand.
func (p *passage) envelope() []byte {
	if p.rec == nil {
		return envelopeIn(p.gap.append(nil, p.at))
	}
	return p.view.envelope(*p.rec, p.chainedTo)
}
