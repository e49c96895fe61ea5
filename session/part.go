package session

import (
	"slices"
	"strings"
	"unicode/utf8"

	"agent-server/harness"
	"agent-server/protocol"
)

// part is a part of the open turn, other than a tool. Text and reasoning come in
// two ways: streamed (an empty snapshot, deltas, one full snapshot), or shown
// whole, by snapshots alone. Which way is settled at first sight, so that deltas
// always build exactly what the snapshots say.
type part struct {
	at   place
	head protocol.PartHead
	kind protocol.PartType

	// text grows only: a snapshot shares its bytes with those before.
	text strings.Builder
	// streamed is true where it was opened empty, to grow by deltas.
	streamed bool
	// streaming is true while it may still grow.
	streaming bool
	// start is when it was first shown, in epoch milliseconds.
	start int64
	// provider is a reasoning part's providerMetadata; nil when absent.
	provider protocol.Object
	// span is a reasoning part's time by the harness's own clock; nil when
	// unknown.
	span *protocol.OpenSpan
	// whole is an image, a file or an unknown part; nil for text and reasoning.
	whole protocol.Part
	// field is how far the text was shown.
	field field
}

// partOpened starts a text or reasoning part: an empty snapshot, so that every
// delta has something to grow.
func (m *Machine) partOpened(u harness.PartOpened) {
	if m.turn.parts[u.Part] != nil || !flows(u.Kind) {
		m.note("part cannot be opened", string(u.Kind))
		return
	}
	m.openPart(u.Part, u.Kind, m.newPlace(u.Owner, ""))
}

// flows says whether parts of this type grow by text deltas.
func flows(kind protocol.PartType) bool {
	return kind == protocol.PartText || kind == protocol.PartReasoning
}

// openPart starts a streaming part at a place.
func (m *Machine) openPart(key string, kind protocol.PartType, at place) *part {
	p := m.addPart(key, kind, at)
	p.streamed, p.streaming = true, true
	m.turn.streaming = append(m.turn.streaming, p)
	m.showPart(p)
	return p
}

// addPart makes a part, not shown yet.
func (m *Machine) addPart(key string, kind protocol.PartType, at place) *part {
	p := &part{at: at, head: m.newHead(at), kind: kind, start: m.now}
	m.turn.parts[key] = p
	return p
}

// textAppended grows a part. One that was shown whole is shown whole again: what
// its deltas build up must begin with its first snapshot.
func (m *Machine) textAppended(u harness.TextAppended) {
	p := m.turn.parts[u.Part]
	switch {
	case p == nil || p.whole != nil:
		m.note("text for a part that was never shown", "")
	case p.streamed:
		m.grow(p, u.Text)
	case u.Text != "":
		p.text.WriteString(clean(u.Text))
		m.showPart(p)
	}
}

// grow sends a delta. A part that was closed streams again: its text is never
// lost.
func (m *Machine) grow(p *part, text string) {
	if text == "" {
		return
	}
	text = clean(text)
	add(&p.text, text)
	if !p.streaming {
		p.streaming = true
		m.turn.streaming = append(m.turn.streaming, p)
	}
	m.loosen(p)
	m.sayGrown(p, text)
	m.restateLarge(p)
}

// sayGrown is the delta.
func (m *Machine) sayGrown(p *part, text string) {
	if p.kind == protocol.PartText {
		g := &grown[protocol.TextDelta]{delta: protocol.TextDelta{Text: text}}
		g.event = m.delta(p.at, p.head.ID, &g.delta)
		m.emit(&g.event)
		return
	}
	g := &grown[protocol.ReasoningDelta]{delta: protocol.ReasoningDelta{Text: text}}
	g.event = m.delta(p.at, p.head.ID, &g.delta)
	m.emit(&g.event)
}

// showPart shows a text or reasoning part as it stands.
func (m *Machine) showPart(p *part) {
	m.restated(p)
	m.show(p.at, p.snapshot(m.now))
}

// add appends, doubling the room where there is too little: a long answer is then
// copied twice on the average, where the builder's own steps copy it five times.
func add(b *strings.Builder, text string) {
	if b.Cap()-b.Len() < len(text) {
		b.Grow(b.Len() + len(text))
	}
	b.WriteString(text)
}

// clean is text that the wire can carry: deltas and snapshot must agree, so it is
// made so before either is.
func clean(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// snapshot is a text or reasoning part as it stands.
func (p *part) snapshot(now int64) protocol.Part {
	state := protocol.StateDone
	if p.streaming {
		state = protocol.StateStreaming
	}
	if p.kind == protocol.PartText {
		return &protocol.TextPart{PartHead: p.head, Text: p.text.String(), State: state}
	}
	return &protocol.ReasoningPart{
		PartHead: p.head, Text: p.text.String(), State: state, Time: p.time(now), ProviderMetadata: p.provider,
	}
}

// time is when a reasoning part was thought: by the harness's own clock where it
// said so, by ours where we saw it stream, else unknown.
func (p *part) time(now int64) *protocol.OpenSpan {
	switch {
	case p.span != nil || !p.streamed:
		return p.span
	case p.streaming:
		return &protocol.OpenSpan{Start: p.start}
	}
	return &protocol.OpenSpan{Start: p.start, End: &now}
}

// closePart ends a streaming part with the text that it has, by one full
// snapshot.
func (m *Machine) closePart(p *part) {
	p.streaming = false
	t := m.turn
	t.streaming = slices.DeleteFunc(t.streaming, func(o *part) bool { return o == p })
	m.showPart(p)
}

// closeStreaming ends every part that still streams, in order of opening; those
// of one message only where msg is not nil.
func (m *Machine) closeStreaming(msg *message) {
	for _, p := range slices.Clone(m.turn.streaming) {
		if msg == nil || p.at.msg == msg {
			m.closePart(p)
		}
	}
}

// abandonPart closes a part as streamed, and marks it.
func (m *Machine) abandonPart(p *part) {
	p.head.Meta = abandonedMeta(p.head.Meta)
	switch {
	case p.whole != nil:
		m.showWhole(p, p.whole)
	case p.streaming:
		m.closePart(p)
	default:
		m.showPart(p)
	}
}
