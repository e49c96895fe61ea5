package session

import "slices"

// A field that streams is restated by full snapshots in between, so that little
// is lost with the deltas, which a durable log never stores and any log may let
// go: when it has doubled beyond a size, and, where the owner asks for it, some
// time after its last snapshot. Doubling makes all its snapshots together no more
// than twice the field.

// restateFloor is the size in bytes beyond which a field is restated each time
// that it has doubled.
const restateFloor = 64 << 10

// field is the streamed text of a part or of a tool's input.
type field struct {
	// loose is the seq of its first delta that no snapshot restates; 0: none.
	loose int64
	// size is its length in its last snapshot, in bytes.
	size int
	// shownAt is when that was, in epoch milliseconds.
	shownAt int64
}

// growing is what has such a field.
type growing interface {
	stream() *field
	// length is the field's now, in bytes.
	length() int
	// restate shows it whole.
	restate(m *Machine)
}

func (p *part) stream() *field     { return &p.field }
func (p *part) length() int        { return p.text.Len() }
func (p *part) restate(m *Machine) { m.showPart(p) }

func (t *tool) stream() *field     { return &t.field }
func (t *tool) length() int        { return t.partial.Len() }
func (t *tool) restate(m *Machine) { m.showTool(t) }

// Restated is the seq up to which every delta is restated by a snapshot in the
// log: those above it still stand alone, and the log's window keeps them.
func (m *Machine) Restated() int64 {
	if len(m.loose) == 0 {
		return m.next - 1
	}
	return m.loose[0].stream().loose - 1
}

// loosen notes a delta that is about to be said. Fields stand in order of their
// first delta without a snapshot.
func (m *Machine) loosen(g growing) {
	if f := g.stream(); f.loose == 0 {
		f.loose = m.next
		m.loose = append(m.loose, g)
	}
}

// restateLarge shows a field that has just grown, where it has doubled.
func (m *Machine) restateLarge(g growing) {
	if n := g.length(); n > restateFloor && n >= 2*g.stream().size {
		g.restate(m)
	}
}

// restated notes a snapshot that is about to be said.
func (m *Machine) restated(g growing) {
	f := g.stream()
	if f.loose != 0 {
		f.loose = 0
		m.loose = slices.DeleteFunc(m.loose, func(o growing) bool { return o == g })
	}
	f.size, f.shownAt = g.length(), m.now
}

// restateAll shows every field that stands on deltas alone. When a turn ends none
// is left: not even the input of a tool that never ran, which no later snapshot
// might restate.
func (m *Machine) restateAll() {
	for len(m.loose) > 0 {
		m.loose[0].restate(m)
	}
}

// restateDue shows what was last shown too long ago.
func (m *Machine) restateDue() {
	for i := 0; i < len(m.loose); {
		if g := m.loose[i]; m.restateAt(g) <= m.now {
			g.restate(m) // and is loose no more
		} else {
			i++
		}
	}
}

// restateAt is when a field is to be shown again.
func (m *Machine) restateAt(g growing) int64 { return g.stream().shownAt + m.o.RestateAfter }

// watchLoose keeps the clock of snapshots in between: it runs while a field stands
// on deltas alone. One that was silent for long is shown at once when it grows.
func (m *Machine) watchLoose() {
	if m.o.RestateAfter <= 0 {
		return
	}
	m.restateDue()
	switch set := m.armedAt(timerRestate) >= 0; {
	case len(m.loose) == 0 && set:
		m.disarm(timerRestate)
	case len(m.loose) > 0 && !set:
		at := m.restateAt(m.loose[0])
		for _, g := range m.loose[1:] {
			at = min(at, m.restateAt(g))
		}
		m.arm(timerRestate, at)
	}
}
