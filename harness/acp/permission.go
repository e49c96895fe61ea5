package acp

import (
	"maps"
	"slices"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// ask is a permission request without an answer.
type ask struct {
	// id is the request's id as sent; its text is the key of the request.
	id jsontext.Value
	// call is the tool call; "" where none is named.
	call    string
	options []protocol.PermissionOption
}

// permissionParams are those of session/request_permission.
type permissionParams struct {
	// SessionID is the session that asks.
	SessionID text `json:"sessionId"`
	// ToolCall is what is asked for, an update like any other.
	ToolCall jsontext.Value `json:"toolCall"`
	// Options are what may be answered.
	Options jsontext.Value `json:"options"`
}

// outcome is the answer to a request: an object within an object. An agent that
// gets another shape may crash.
type outcome struct {
	Outcome struct {
		// Outcome is selected or cancelled.
		Outcome string `json:"outcome"`
		// OptionID is absent where it is cancelled.
		OptionID string `json:"optionId,omitzero"`
	} `json:"outcome"`
}

// ask takes a permission request. One that no running turn can answer for is
// answered at once: the agent must not wait, and nothing may be allowed late.
func (t *translator) ask(m rpcline.Message) {
	p := read[permissionParams](m.Params)
	options := optionsOf(p.Options)
	a := ask{id: m.ID, options: options}
	if why := t.unanswerable(p, options); why != "" {
		t.note("permission refused: "+why, "")
		t.answerAsk(a, "")
		return
	}
	if t.askOf(string(m.ID)) >= 0 {
		t.note("permission asked for twice under one id", "")
		return // one answer will do for both
	}
	asked := harness.Asked{Request: string(m.ID), Options: options, Always: !t.agent.Quirks.AlwaysOnDisk}
	if u := read[toolCall](p.ToolCall); u.ID != "" && !t.isLeft(string(u.ID)) {
		a.call = string(u.ID)
		tl := t.upsert(u)
		tl.content = diffs(tl.content)
		t.describeAsk(&asked, tl)
	} else {
		asked.Title, asked.Kind = string(u.Title), protocol.ToolKind(u.Kind)
		asked.RawInput, asked.Locations = asObject(u.RawInput, "rawInput"), locations(u.Locations)
		asked.Files = diffed(toolContent(u.Content))
	}
	if t.agent.Quirks.CallInInput {
		asked.RawInput = withoutCall(asked.RawInput)
	}
	t.asks = append(t.asks, a)
	t.emit(asked)
}

// isLeft says whether a call is of a turn that is over.
func (t *translator) isLeft(call string) bool {
	_, left := t.left.recall(call)
	return left
}

// callMembers are those of an input that name the call, and say nothing of what it
// does.
var callMembers = []string{"call_id", "turn_id", "process_id", "started_at_ms"}

// withoutCall is an input without what names the call.
func withoutCall(input protocol.Object) protocol.Object {
	members := read[map[string]jsontext.Value](jsontext.Value(input))
	if members == nil {
		return input
	}
	for _, name := range callMembers {
		delete(members, name)
	}
	out := protocol.Object{'{'}
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(protocol.AppendString(out, name), ':')
		out = append(out, members[name]...)
	}
	return append(out, '}')
}

// askOf is the place of an open request; -1 where it is none.
func (t *translator) askOf(request string) int {
	return slices.IndexFunc(t.asks, func(a ask) bool { return string(a.id) == request })
}

// unanswerable is why a request cannot be shown to anyone; "" where it can.
func (t *translator) unanswerable(p permissionParams, options []protocol.PermissionOption) string {
	switch {
	case !t.running():
		return "no turn is running"
	case t.turn.cancelled:
		return "the turn is being cancelled"
	case t.turn.answered != nil:
		return "the prompt is answered"
	case p.SessionID != "" && string(p.SessionID) != t.session:
		return "it is of another session"
	case len(options) == 0:
		return "it offers no options"
	}
	return ""
}

// describeAsk says what is asked for, by all that is known of the call. The
// input is shown in the call itself too, while that waits.
func (t *translator) describeAsk(asked *harness.Asked, tl *tool) {
	asked.Call, asked.Name, asked.Kind = tl.call, tl.shownName(), tl.kind
	asked.Title, asked.Locations, asked.RawInput = tl.title, tl.locations, tl.input
	asked.Files = diffed(tl.content)
	if tl.status == protocol.ToolPending && tl.input != nil {
		t.emit(harness.ToolSet{Call: tl.call, State: &protocol.PendingState{PartialInput: string(tl.input)}})
	}
}

// optionsOf are the agent's own options, in its order. Kinds may repeat; one
// without an id cannot be chosen.
func optionsOf(raw jsontext.Value) []protocol.PermissionOption {
	var out []protocol.PermissionOption
	for _, o := range list[struct {
		ID   text `json:"optionId"`
		Name text `json:"name"`
		Kind text `json:"kind"`
	}](raw) {
		if o.ID != "" {
			out = append(out, protocol.PermissionOption{
				OptionID: string(o.ID), Name: orElse(o.Name, string(o.ID)),
				Kind: protocol.PermissionKind(orElse(o.Kind, "_unknown")),
			})
		}
	}
	return out
}

// resolve answers a request.
func (t *translator) resolve(in harness.Resolve) {
	i := t.askOf(in.Request)
	if i < 0 {
		t.note("answer to a permission request that is not open", "")
		return
	}
	a := t.asks[i]
	t.asks = slices.Delete(t.asks, i, i+1)
	chosen := a.choose(in.Verdict)
	t.answerAsk(a, chosen)
	tl := t.tools[a.call]
	if tl == nil {
		return
	}
	allowed := chosen != "" && (in.Verdict.Decision == harness.Allow || in.Verdict.Decision == harness.AllowAlways)
	tl.rejected = !allowed
	if allowed && tl.advance(protocol.ToolInProgress) {
		t.showTool(tl, true)
	}
}

// choose is the option that a verdict means; "": none, the request is cancelled.
func (a ask) choose(v harness.Verdict) string {
	for _, o := range a.options {
		if o.OptionID == v.OptionID {
			return o.OptionID
		}
	}
	switch v.Decision {
	case harness.Allow, harness.AllowAlways:
		return a.first(protocol.AllowOnce)
	case harness.Deny:
		if id := a.first(protocol.RejectOnce); id != "" {
			return id
		}
		return a.first(protocol.RejectAlways)
	}
	return ""
}

// first is the first option of a kind; "" where there is none.
func (a ask) first(kind protocol.PermissionKind) string {
	for _, o := range a.options {
		if o.Kind == kind {
			return o.OptionID
		}
	}
	return ""
}

// answerAsk writes the answer; "" is cancelled.
func (t *translator) answerAsk(a ask, option string) {
	var o outcome
	o.Outcome.Outcome, o.Outcome.OptionID = "selected", option
	if option == "" {
		o.Outcome.Outcome = "cancelled"
	}
	t.out.Stdin = t.framing.AppendResult(t.out.Stdin, a.id, o)
}

// cancelAsks answers every open request as cancelled: some agents wait for it
// before they end the turn.
func (t *translator) cancelAsks() {
	for _, a := range t.asks {
		t.answerAsk(a, "")
	}
	t.asks = nil
}

// withdraw takes a request back that the agent no longer wants answered; the
// answer that it still has a right to is "cancelled".
func (t *translator) withdraw(params jsontext.Value) {
	id := read[struct {
		RequestID jsontext.Value `json:"requestId"`
	}](params).RequestID
	i := t.askOf(string(id))
	if i < 0 {
		t.note("withdrawn request is not open", "")
		return
	}
	t.answerAsk(t.asks[i], "")
	t.asks = slices.Delete(t.asks, i, i+1)
	t.emit(harness.Withdrawn{Request: string(id)})
}
