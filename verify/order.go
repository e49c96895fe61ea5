package verify

import (
	"fmt"

	"agent-server/protocol"
	"agent-server/seqcursor"
)

// order is what the numbers of the stream have told.
type order struct {
	cursor seqcursor.Cursor
	// begun: an envelope came, the latest with seq last.
	begun bool
	last  int64
}

// session is the one name by which the cursor knows the stream: a Verifier judges
// a single one, and what its envelopes call it is no rule of seq.
const session = ""

// step judges the numbers of an envelope. hole says that events before it may
// be missing: left out on purpose, lost, or out of place.
func (o *order) step(env protocol.Envelope, chained bool) (monotonic, contiguous string, hole bool) {
	if !o.begun {
		o.cursor.Seek(session, before(env))
	} else if env.Seq <= o.last {
		monotonic = fmt.Sprintf("seq %d follows %d", env.Seq, o.last)
	}
	o.begun, o.last = true, env.Seq
	verdict := o.advance(env)
	switch {
	case chained && env.PrevSeq == nil:
		contiguous = fmt.Sprintf("seq %d carries no prevSeq", env.Seq)
	case verdict == seqcursor.Gap:
		contiguous = fmt.Sprintf("seq %d does not continue after %d", env.Seq, o.cursor.Last(session))
	}
	if verdict == seqcursor.Gap {
		o.cursor.Seek(session, env.Seq)
	}
	return monotonic, contiguous, verdict != seqcursor.Deliver || before(env) != env.Seq-1
}

// advance moves the cursor. An envelope that carries prevSeq is judged by its
// chain even where nobody asked for one: a recording does not say what was asked.
func (o *order) advance(env protocol.Envelope) seqcursor.Verdict {
	if env.PrevSeq != nil {
		return o.cursor.AdvanceChained(session, *env.PrevSeq, env.Seq)
	}
	return o.cursor.Advance(session, env.Seq)
}

// before is the seq that the envelope says it follows; without a prevSeq every
// number is sent, so it is the one below.
func before(env protocol.Envelope) int64 {
	if env.PrevSeq != nil {
		return *env.PrevSeq
	}
	return env.Seq - 1
}
