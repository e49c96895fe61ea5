package gateway

import "agent-server/protocol"

// weight is about what a session's fold takes in memory, in bytes: those of the events
// that it was made of, without what a later event has taken the place of. To count so
// costs an event a few additions. To measure the fold would cost all of it each time,
// and a second copy of it; what is counted is on the safe side of its canonical length
// (TestWeightOfAFold), which is about what the heap holds for it.
type weight struct {
	// seq is the last event that was counted: one that is folded again, after a fold
	// that has failed, counts once.
	seq   int64
	bytes int64
	// parts are what each part takes that may yet be replaced. They are forgotten where
	// a turn ends: one that changes after that is counted twice, which is too much, not
	// too little.
	parts map[weighedPart]int64
}

// weighedPart names a part.
type weighedPart struct{ message, part string }

// add counts an event that has so many bytes.
func (w *weight) add(env protocol.Envelope, size int) {
	if env.Seq <= w.seq {
		return
	}
	w.seq = env.Seq
	switch e := env.Event.(type) {
	case *protocol.MessagePartDelta:
		w.delta(e)
	case *protocol.MessagePart:
		at := weighedPart{e.MessageID, e.Part.Head().ID}
		w.replace(at, int64(size))
	case *protocol.TurnEnded:
		w.parts = nil
		w.bytes += int64(size)
	case *protocol.Raw, *protocol.SessionUsage:
		// The one leaves nothing, the other one gauge, however often it comes.
	default:
		w.bytes += int64(size)
	}
}

// delta counts what a delta adds: to a part, until its next snapshot; to a tool's input,
// which a fold keeps as it came, for good.
func (w *weight) delta(e *protocol.MessagePartDelta) {
	at := weighedPart{e.MessageID, e.PartID}
	switch d := e.Delta.(type) {
	case *protocol.TextDelta:
		w.replace(at, w.parts[at]+int64(len(d.Text)))
	case *protocol.ReasoningDelta:
		w.replace(at, w.parts[at]+int64(len(d.Text)))
	case *protocol.ToolInputDelta:
		w.bytes += int64(len(d.Input))
	}
}

// replace counts a part anew.
func (w *weight) replace(at weighedPart, size int64) {
	w.bytes += size - w.parts[at]
	if w.parts == nil {
		w.parts = map[weighedPart]int64{}
	}
	w.parts[at] = size
}
