package session

import (
	"strings"

	"agent-server/harness"
	"agent-server/protocol"
)

// flowing is the full state of a text or reasoning part, as a harness gives it.
type flowing struct {
	kind     protocol.PartType
	text     string
	done     bool
	meta     protocol.Object
	provider protocol.Object
	span     *protocol.OpenSpan
}

// partSet takes a part's full state.
func (m *Machine) partSet(u harness.PartSet) {
	switch v := u.Value.(type) {
	case *protocol.TextPart:
		m.flowSet(u, flowing{
			kind: protocol.PartText, text: clean(v.Text), done: v.State != protocol.StateStreaming, meta: v.Meta,
		})
	case *protocol.ReasoningPart:
		m.flowSet(u, flowing{
			kind: protocol.PartReasoning, text: clean(v.Text), done: v.State != protocol.StateStreaming, meta: v.Meta,
			provider: v.ProviderMetadata, span: v.Time,
		})
	case *protocol.ImagePart, *protocol.FilePart, *protocol.UnknownPart:
		m.wholeSet(u)
	default:
		m.note("part of a type that is not set so", "")
	}
}

// flowSet takes a text or reasoning part's full state.
func (m *Machine) flowSet(u harness.PartSet, f flowing) {
	if u.Role == protocol.RoleUser {
		f.done = true // what a user said does not grow
	}
	p := m.turn.parts[u.Part]
	switch {
	case p == nil && f.done:
		p = m.addPart(u.Part, f.kind, m.newPlace(u.Owner, u.Role))
		m.showSet(p, f)
	case p == nil:
		p = m.openPart(u.Part, f.kind, m.newPlace(u.Owner, u.Role))
		m.grow(p, f.text)
	case p.kind != f.kind:
		m.note("part changes its type", string(f.kind))
	case p.streamed:
		m.flowFinal(u, p, f)
	default:
		m.showSet(p, f)
	}
}

// showSet shows a part that never streamed: the text given is the text. Giving
// none keeps what there was.
func (m *Machine) showSet(p *part, f flowing) {
	if f.text != "" {
		p.text = strings.Builder{}
		p.text.WriteString(f.text)
	}
	p.adorn(f)
	m.showPart(p)
}

// adorn takes in what a full state says beside the text.
func (p *part) adorn(f flowing) {
	if meta := object(f.meta); meta != nil {
		p.head.Meta = meta
	}
	if provider := object(f.provider); provider != nil {
		p.provider = provider
	}
	if f.span != nil {
		p.span = f.span
	}
}

// flowFinal takes the full state of a part that streamed. What deltas built and
// what the final snapshot says must be one text, in every reader:
//   - it says more: the rest is sent as a delta first;
//   - it says less, or nothing: what was streamed stays, since it was seen;
//   - it says something else: the part is closed as streamed and marked as
//     abandoned, and the final text is shown as a new part.
func (m *Machine) flowFinal(u harness.PartSet, p *part, f flowing) {
	streamed := p.text.String()
	if rest, longer := strings.CutPrefix(f.text, streamed); longer {
		m.grow(p, rest)
	} else if !strings.HasPrefix(streamed, f.text) {
		m.supersede(u, p, f)
		return
	}
	p.adorn(f)
	switch {
	case !f.done:
		// The deltas have said it all.
	case p.streaming:
		m.closePart(p)
	case object(f.meta) != nil || object(f.provider) != nil:
		m.showPart(p)
	}
}

// supersede shows a final text that contradicts what was streamed.
func (m *Machine) supersede(u harness.PartSet, p *part, f flowing) {
	m.note("final text differs from what was streamed", "")
	m.abandonPart(p)
	delete(m.turn.parts, u.Part)
	m.flowSet(u, f)
}

// wholeSet takes an image, a file, or a part of a type that only the harness's
// translator knows.
func (m *Machine) wholeSet(u harness.PartSet) {
	p := m.turn.parts[u.Part]
	if p != nil && p.kind != u.Value.Type() || !sendable(u.Value) {
		m.note("part changes its type, or is none", string(u.Value.Type()))
		return
	}
	if p == nil {
		p = m.addPart(u.Part, u.Value.Type(), m.newPlace(u.Owner, u.Role))
	}
	if meta := object(u.Value.Head().Meta); meta != nil {
		p.head.Meta = meta
	}
	m.showWhole(p, u.Value)
}

// showWhole shows such a part under our own head.
func (m *Machine) showWhole(p *part, v protocol.Part) {
	p.whole = v
	switch v := v.(type) {
	case *protocol.ImagePart:
		m.show(p.at, &protocol.ImagePart{PartHead: p.head, Data: v.Data, URL: v.URL, MimeType: v.MimeType})
	case *protocol.FilePart:
		m.show(p.at, &protocol.FilePart{
			PartHead: p.head, Data: v.Data, URL: v.URL, MimeType: v.MimeType, Filename: v.Filename,
		})
	case *protocol.UnknownPart:
		m.show(p.at, &protocol.UnknownPart{PartHead: p.head, Kind: v.Kind, Raw: headed(v.Raw, v.Kind, p.head)})
	}
}
