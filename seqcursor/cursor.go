package seqcursor

import (
	"maps"
	"slices"
)

// Cursor holds, for each session, the seq that was delivered last. The zero
// value knows no session and is ready for use. Not safe for concurrent use.
type Cursor struct {
	last map[string]int64
}

// Advance judges an envelope of a stream in which every seq is sent: the
// successor of the last one is delivered, anything beyond it is a gap.
//
// The order of the questions matters: a 1 after a higher number is a reset
// before it is a duplicate, a 1 after a 1 is a duplicate.
func (c *Cursor) Advance(sessionID string, seq int64) Verdict {
	last := c.last[sessionID]
	switch {
	case seq == 1 && last > 1:
		c.Seek(sessionID, 1)
		return Reset
	case seq <= last:
		return Duplicate
	case seq == last+1:
		c.Seek(sessionID, seq)
		return Deliver
	}
	return Gap
}

// AdvanceChained judges an envelope of a stream that may leave numbers out:
// prevSeq is the seq sent before it, so the chain, not the distance, tells
// whether something is missing. Such a stream never resets by itself: its
// server does not use a number twice.
func (c *Cursor) AdvanceChained(sessionID string, prevSeq, seq int64) Verdict {
	last := c.last[sessionID]
	switch {
	case seq <= last:
		return Duplicate
	case prevSeq == last:
		c.Seek(sessionID, seq)
		return Deliver
	}
	return Gap
}

// Seek puts the session's cursor at seq, forwards or back: a snapshot taken at
// seq was loaded. From then on the session is known, also at 0.
func (c *Cursor) Seek(sessionID string, seq int64) {
	if c.last == nil {
		c.last = make(map[string]int64)
	}
	c.last[sessionID] = seq
}

// Reset forgets the session; its next envelope is judged from 0.
func (c *Cursor) Reset(sessionID string) { delete(c.last, sessionID) }

// Last is the seq that was delivered last or sought; 0 for an unknown session.
func (c *Cursor) Last(sessionID string) int64 { return c.last[sessionID] }

// Sessions lists the known sessions, sorted. A session of which only gaps were
// seen is not known.
func (c *Cursor) Sessions() []string { return slices.Sorted(maps.Keys(c.last)) }
