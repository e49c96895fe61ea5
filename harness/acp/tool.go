package acp

import (
	"slices"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// tool is one tool call, as all updates of it have left it.
type tool struct {
	// call is the agent's id of the call.
	call string
	// name is the tool's; title, the call's, for people; "" while unknown.
	name, title string
	kind        protocol.ToolKind
	// locations are nil until some were named.
	locations []protocol.Location
	// input is the call's input; nil while unknown.
	input protocol.Object
	// output is rawOutput; nil while there is none.
	output jsontext.Value
	// content is what the last update that had any says.
	content []protocol.ToolContent
	// status only moves forward.
	status protocol.ToolStatus
	// rejected is true where consent was refused.
	rejected bool
	// owner is the call whose sub-agent made it; "" at top level. runs is true of a
	// call that is such an owner.
	owner string
	runs  bool
}

// toolCall is a tool_call, a tool_call_update or the toolCall of a permission
// request: whatever is absent stays as it was.
type toolCall struct {
	// ID is unique in the session; without it nothing can be shown.
	ID text `json:"toolCallId"`
	// Title is for people: often the command, or the file.
	Title text `json:"title"`
	// Name is the agent's own name of the tool; most give none.
	Name text `json:"name"`
	// Kind is of a vocabulary that ours has taken over.
	Kind text `json:"kind"`
	// Status is pending, in_progress, completed or failed; absent in a first
	// sight it is pending.
	Status text `json:"status"`
	// Content is for display, a list; it replaces the one before.
	Content jsontext.Value `json:"content"`
	// Locations are files, a list; it replaces the one before.
	Locations jsontext.Value `json:"locations"`
	// RawInput is the tool's input; agents send {} before they know it.
	RawInput jsontext.Value `json:"rawInput"`
	// RawOutput is the tool's result, as the agent has it.
	RawOutput jsontext.Value `json:"rawOutput"`
	// Meta is the agent's own.
	Meta jsontext.Value `json:"_meta"`
}

// maxLeft bounds the calls that are remembered beyond their turn because nobody has
// said how they ended; maxOver, the ids of those that have ended.
const (
	maxLeft = 256
	maxOver = 1024
)

// toolUpdate takes an update of a tool call. A new call may begin a turn of the
// agent's own; an update of one that is over begins nothing.
func (t *translator) toolUpdate(kind string, raw jsontext.Value) {
	u := read[toolCall](raw)
	id := string(u.ID)
	late, left := t.left.recall(id)
	_, over := t.over.recall(id)
	switch {
	case id == "":
		t.note("tool call without an id", "")
	case left:
		t.lateEnd(late, u)
	case over && !u.begins(kind):
		t.note("update of a tool that has ended with its turn", "")
	case !t.running() && (!u.begins(kind) || !t.heard("")):
		t.note("update of a tool outside a turn", "")
	default:
		t.upsert(u)
	}
}

// begins says whether an update is the beginning of a call, under an id that may have
// been used before.
func (u toolCall) begins(kind string) bool { return kind == "tool_call" && !u.status().Terminal() }

// lateEnd takes the end of a call whose turn is over; it is shown in its place there.
func (t *translator) lateEnd(tl *tool, u toolCall) {
	tl.merge(u)
	status := u.status()
	if !status.Terminal() {
		t.note("update of a tool whose turn is over", "")
		return
	}
	tl.status = status
	t.left.forget(tl.call)
	t.over.keep(tl.call, struct{}{}, maxOver)
	t.showTool(tl, true)
}

// status is the status that an update tells; one that waits in the middle runs.
func (u toolCall) status() protocol.ToolStatus {
	if u.Status == "paused" {
		return protocol.ToolInProgress
	}
	return protocol.ToolStatus(u.Status)
}

// upsert takes in what is new of a tool call, and shows it.
func (t *translator) upsert(u toolCall) *tool {
	tl := t.tools[string(u.ID)]
	if tl == nil {
		tl = &tool{call: string(u.ID), status: protocol.ToolPending, owner: t.parent(u.Meta)}
		t.tools[tl.call] = tl
		t.order = append(t.order, tl.call)
		t.toolSighted(tl.owner)
	}
	ended := tl.status.Terminal()
	tl.merge(u)
	t.showTool(tl, tl.advance(u.status()))
	if tl.status.Terminal() && !ended {
		t.speech.ended = true
	}
	return tl
}

// merge takes in what an update says beside the status. Arrays replace what was
// there.
func (tl *tool) merge(u toolCall) {
	if name := u.toolName(); name != "" {
		tl.name = name
	}
	if u.Title != "" {
		tl.title = string(u.Title)
	}
	if u.Kind != "" {
		tl.kind = protocol.ToolKind(u.Kind)
	}
	if u.Locations.Kind() == '[' {
		tl.locations = locations(u.Locations)
	}
	if input := asObject(u.RawInput, "rawInput"); input != nil {
		tl.input = input
	}
	if u.RawOutput.Kind() != jsontext.KindInvalid && u.RawOutput.Kind() != 'n' {
		tl.output = u.RawOutput
	}
	if u.Content.Kind() == '[' {
		tl.content = toolContent(u.Content)
	}
}

// toolName is the agent's own name of the tool; "" where it gives none.
func (u toolCall) toolName() string {
	if u.Name != "" {
		return string(u.Name)
	}
	meta := read[struct {
		ClaudeCode struct {
			ToolName text `json:"toolName"`
		} `json:"claudeCode"`
	}](u.Meta)
	return string(meta.ClaudeCode.ToolName)
}

// asObject is a free value as an object: any other value becomes the member of
// one. nil where there is none, or nothing in it yet.
func asObject(raw jsontext.Value, member string) protocol.Object {
	switch raw.Kind() {
	case jsontext.KindInvalid, 'n':
		return nil
	case '{':
		return object(raw)
	}
	o := append(protocol.AppendString([]byte{'{'}, member), ':')
	return append(protocol.AppendRaw(o, raw), '}')
}

// rank orders what a status may follow.
func rank(s protocol.ToolStatus) int {
	switch s {
	case protocol.ToolPending:
		return 0
	case protocol.ToolInProgress:
		return 1
	case protocol.ToolCompleted, protocol.ToolFailed, protocol.ToolCancelled:
		return 2
	}
	return -1
}

// advance takes a status that moves forward, and says whether the state is to be
// shown again.
func (tl *tool) advance(to protocol.ToolStatus) bool {
	if tl.status.Terminal() {
		return to == tl.status
	}
	if rank(to) > rank(tl.status) {
		tl.status = to
	}
	return true
}

// showTool shows a call; with withState its state too.
func (t *translator) showTool(tl *tool, withState bool) { t.emit(tl.shown(withState)) }

// shown is a call as it stands.
func (tl *tool) shown(withState bool) harness.ToolSet {
	u := harness.ToolSet{
		Call: tl.call, Owner: tl.owner, Name: tl.shownName(), Kind: tl.kind, Title: tl.title, Locations: tl.locations,
	}
	if withState {
		u.State = tl.state()
	}
	return u
}

// shownName is the tool's name, else its kind: an agent without names still says
// what kind of tool it is.
func (tl *tool) shownName() string {
	if tl.name == "" {
		return string(tl.kind)
	}
	return tl.name
}

// state is how far the call has come, in full.
func (tl *tool) state() protocol.ToolState {
	switch tl.status {
	case protocol.ToolInProgress:
		return &protocol.InProgressState{Input: tl.input}
	case protocol.ToolCompleted:
		s := &protocol.CompletedState{Input: tl.input, Output: tl.outputText(), Content: tl.content}
		s.Metadata = object(tl.output)
		return s
	case protocol.ToolFailed:
		return &protocol.FailedState{Input: tl.input, Error: tl.errorText()}
	case protocol.ToolCancelled:
		return &protocol.CancelledState{Input: tl.input}
	}
	return &protocol.PendingState{}
}

// toolRuns says whether a call is at work.
func (t *translator) toolRuns() bool {
	return slices.ContainsFunc(t.order, func(call string) bool {
		return t.tools[call].status == protocol.ToolInProgress
	})
}

// endTools ends what is still open when the turn does: as cancelled where that
// is what the user asked for, else as failed. Nobody has said how it went: should
// somebody yet, that counts.
func (t *translator) endTools(cancelled bool) {
	for _, call := range t.order {
		tl := t.tools[call]
		if tl.status.Terminal() {
			t.over.keep(call, struct{}{}, maxOver)
			continue
		}
		tl.status = protocol.ToolFailed
		if cancelled || tl.rejected {
			tl.status = protocol.ToolCancelled
		}
		end := tl.shown(true)
		end.Assumed = true
		t.emit(end)
		t.left.keep(call, tl, maxLeft)
	}
	t.tools, t.order = map[string]*tool{}, nil
}

// toolsOpen says whether a call of the turn has not ended.
func (t *translator) toolsOpen() bool {
	for _, tl := range t.tools {
		if !tl.status.Terminal() {
			return true
		}
	}
	return false
}

// locations are the files concerned; never nil, so that an empty list replaces.
func locations(raw jsontext.Value) []protocol.Location {
	out := []protocol.Location{}
	for _, l := range list[struct {
		Path text   `json:"path"`
		Line number `json:"line"`
	}](raw) {
		if l.Path != "" {
			out = append(out, protocol.Location{Path: string(l.Path), Line: l.Line.pointer()})
		}
	}
	return out
}
