package session

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"agent-server/harness"
	"agent-server/protocol"
)

// maxOpenTools bounds the calls that are remembered beyond their turn because
// they never ended; the oldest are forgotten first.
const maxOpenTools = 256

// tool is one tool call: an upsert by the harness's own id of it, in one part. It
// outlives its turn for as long as it is open, so that its end still finds its
// place; the readers' fold has closed it meanwhile, and takes the end instead.
type tool struct {
	at   place
	head protocol.PartHead
	call string
	// sighted is the seq at first sight: it tells older from younger.
	sighted int64
	// name is the harness's own name of the tool; "" while unknown.
	name      string
	kind      protocol.ToolKind
	title     *string
	locations []protocol.Location
	subagent  *protocol.Subagent
	state     protocol.ToolState
	// partial is the JSON text of the input as it streamed.
	partial strings.Builder
	// field is how far it was shown.
	field field
	// input is the input as last known; nil while unknown.
	input protocol.Object
	// start is since when it runs, in epoch milliseconds; valid from in_progress
	// on.
	start int64
	// abandoned is true where it was superseded: nothing changes it any more.
	abandoned bool
	// assumed is true while its end is a guess, which its own end may replace.
	assumed bool
}

// toolSet takes a tool call's state. One whose turn has ended only takes its own
// end: that may still replace what the fold closed it with.
func (m *Machine) toolSet(u harness.ToolSet) {
	t := m.tools[u.Call]
	switch {
	case t == nil && m.turn == nil:
		m.note("update of an unknown tool while no turn is open", "")
	case t == nil:
		t = m.openTool(u)
		m.showTool(t)
		m.restateInput(t, u.State)
	case t.abandoned:
		m.note("update of an abandoned tool", "")
	case t.at.msg.turn != m.turn:
		m.lateTool(t, u)
	default:
		m.restateInput(t, u.State)
		described, advanced := t.describe(u), t.take(u, m.now)
		if described || advanced {
			m.showTool(t)
		}
	}
}

// lateTool takes the end of a tool whose turn is over.
func (m *Machine) lateTool(t *tool, u harness.ToolSet) {
	if u.State == nil || !u.State.Status().Terminal() {
		m.note("update of a tool whose turn is over", "")
		return
	}
	t.describe(u)
	t.take(u, m.now)
	m.showTool(t)
	delete(m.tools, u.Call)
}

// openTool makes a tool call at first sight, not shown yet.
func (m *Machine) openTool(u harness.ToolSet) *tool {
	at := m.newPlace(u.Owner, "")
	t := &tool{at: at, head: m.newHead(at), call: u.Call, sighted: m.next, state: &protocol.PendingState{}}
	t.describe(u)
	t.take(u, m.now)
	m.tools[u.Call] = t
	return t
}

// sightTool shows the tool that consent is asked for, pending, where it was not
// seen yet: its part precedes the request.
func (m *Machine) sightTool(u harness.Asked) {
	if u.Call == "" {
		return
	}
	t := m.tools[u.Call]
	if t == nil {
		t = m.openTool(harness.ToolSet{
			Call: u.Call, Owner: u.Owner, Name: u.Name, Kind: u.Kind, Title: u.Title, Locations: u.Locations,
		})
		m.showTool(t)
	}
	if input := object(u.RawInput); input != nil && t.input == nil {
		t.input = input
	}
}

// showTool shows a tool call as it stands.
func (m *Machine) showTool(t *tool) {
	m.restated(t)
	state := t.state
	if p, ok := state.(*protocol.PendingState); ok {
		state = &protocol.PendingState{PartialInput: t.partial.String(), Meta: p.Meta}
	}
	m.show(t.at, m.fit(&protocol.ToolPart{
		PartHead: t.head, ToolCallID: t.call, ToolName: toolName(t.name), Kind: t.kind, Title: t.title,
		Locations: t.locations, Subagent: t.subagent, State: state,
	}))
}

// toolName is a tool's name; readers always find one.
func toolName(name string) string {
	if name == "" {
		return "tool"
	}
	return name
}

// inputAppended grows a pending tool's input.
func (m *Machine) inputAppended(u harness.InputAppended) {
	t := m.tools[u.Call]
	if t == nil || t.at.msg.turn != m.turn || t.state.Status() != protocol.ToolPending {
		m.note("input for a tool that is not pending", "")
		return
	}
	m.growInput(t, u.Text)
}

// restateInput takes the whole of a pending tool's input so far: what is new of
// it is sent as a delta, so that snapshots hold what the deltas built.
func (m *Machine) restateInput(t *tool, s protocol.ToolState) {
	pending, ok := s.(*protocol.PendingState)
	if !ok || t.state.Status() != protocol.ToolPending {
		return
	}
	if rest, longer := strings.CutPrefix(pending.PartialInput, t.partial.String()); longer {
		m.growInput(t, rest)
	}
}

// growInput sends a delta of a tool's input.
func (m *Machine) growInput(t *tool, text string) {
	if text == "" {
		return
	}
	text = clean(text)
	add(&t.partial, text)
	g := &grown[protocol.ToolInputDelta]{
		delta: protocol.ToolInputDelta{ToolCallID: t.call, ToolName: toolName(t.name), Input: text},
	}
	g.event = m.delta(t.at, t.head.ID, &g.delta)
	m.loosen(t)
	m.emit(&g.event)
	m.restateLarge(t)
}

// abandonTool cancels a tool call that is not over, and marks it.
func (m *Machine) abandonTool(t *tool) {
	t.advance(&protocol.CancelledState{}, m.now)
	t.head.Meta = abandonedMeta(t.head.Meta)
	t.abandoned = true
	m.showTool(t)
}

// forgetClosedTools lets go of what ended with the turn, and of the oldest of too
// many that never end.
func (m *Machine) forgetClosedTools() {
	for call, t := range m.tools {
		if t.abandoned || t.state.Status().Terminal() && !t.assumed {
			delete(m.tools, call)
		}
	}
	if many := len(m.tools) - maxOpenTools; many > 0 {
		byAge := func(a, b *tool) int { return cmp.Compare(a.sighted, b.sighted) }
		for _, t := range slices.SortedFunc(maps.Values(m.tools), byAge)[:many] {
			delete(m.tools, t.call)
		}
	}
}

// forgetOpenTools lets go of the tools of turns that are over: another native
// session may use their ids again.
func (m *Machine) forgetOpenTools() {
	for call, t := range m.tools {
		if t.at.msg.turn != m.turn {
			delete(m.tools, call)
		}
	}
}
