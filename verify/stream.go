package verify

import (
	"fmt"

	"agent-server/protocol"
)

// streams are the fields that grow by deltas at the moment, each from the
// snapshot that opened it to the one that is final.
type streams struct {
	open map[place]*stream
	// holes counts the places where deltas may be missing.
	holes int
}

// place is a part in the message that its event names, as the fold finds it.
type place struct{ messageID, partID string }

// stream is one growing field.
type stream struct {
	// of is the type of the part: a field is compared with its like alone.
	of protocol.PartType
	// text is what snapshot and deltas have built.
	text []byte
	// holes is how many there were when it was opened.
	holes int
}

// newStreams has seen nothing grow.
func newStreams() streams { return streams{open: map[place]*stream{}} }

// hole notes that something before the next event may be missing.
func (s *streams) hole() { s.holes++ }

// raw takes a filler for the hole that it stands for.
func (s *streams) raw(ev *protocol.Raw) {
	if has(ev.Meta, protocol.MetaElided) {
		s.hole()
	}
}

// show notes a snapshot: it opens a stream, restates one, or ends it.
func (s *streams) show(ev *protocol.MessagePart) {
	at := place{ev.MessageID, ev.Part.Head().ID}
	field, _, grows := fieldOf(ev.Part)
	if !grows {
		delete(s.open, at)
		return
	}
	st := s.open[at]
	if st == nil || st.of != ev.Part.Type() {
		st = &stream{of: ev.Part.Type(), holes: s.holes}
		s.open[at] = st
	}
	st.text = append(st.text[:0], field...)
}

// grow adds a delta to the stream it belongs to; as in the fold, text and
// reasoning take either's.
func (s *streams) grow(ev *protocol.MessagePartDelta) {
	st := s.open[place{ev.MessageID, ev.PartID}]
	if st == nil {
		return
	}
	switch d := ev.Delta.(type) {
	case *protocol.TextDelta:
		st.add(d.Text, st.of != protocol.PartTool)
	case *protocol.ReasoningDelta:
		st.add(d.Text, st.of != protocol.PartTool)
	case *protocol.ToolInputDelta:
		st.add(d.Input, st.of == protocol.PartTool)
	}
}

// add adds what fits the field; anything else the fold drops, too.
func (st *stream) add(text string, fits bool) {
	if fits {
		st.text = append(st.text, text...)
	}
}

// fieldOf is the field of a part that deltas build, whether this snapshot
// restates it, and whether it may still grow. A tool restates its partialInput
// only while it is pending: afterwards its input is what the harness made of the
// text, and harnesses normalise (Claude Code adds a default here and there).
func fieldOf(p protocol.Part) (field string, restated, grows bool) {
	switch p := p.(type) {
	case *protocol.TextPart:
		return p.Text, true, p.State == protocol.StateStreaming
	case *protocol.ReasoningPart:
		return p.Text, true, p.State == protocol.StateStreaming
	case *protocol.ToolPart:
		if st, ok := p.State.(*protocol.PendingState); ok {
			return st.PartialInput, true, true
		}
	}
	return "", false, false
}

// deltaConcatEqualsFinal judges each snapshot of an open stream. It is silent
// where deltas may be missing since the stream was opened, and where the part
// says itself that it is not whole.
func deltaConcatEqualsFinal(s *story, ev *protocol.MessagePart) string {
	st := s.streams.open[place{ev.MessageID, ev.Part.Head().ID}]
	field, restated, _ := fieldOf(ev.Part)
	if st == nil || !restated || st.of != ev.Part.Type() || st.holes != s.streams.holes {
		return ""
	}
	if field == string(st.text) || notWhole(ev.Part) {
		return ""
	}
	return fmt.Sprintf("part %s restates %d bytes, its deltas have built %d others", ev.Part.Head().ID, len(field), len(st.text))
}

// notWhole says whether a part is marked as cut, abandoned or closed for a dead
// host: it is then no copy of what was streamed.
func notWhole(p protocol.Part) bool {
	meta := p.Head().Meta
	return has(meta, protocol.MetaTruncated) || has(meta, protocol.MetaAbandoned) || has(meta, protocol.MetaHostDeath)
}
