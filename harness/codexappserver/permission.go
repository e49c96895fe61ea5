package codexappserver

import (
	"slices"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// Codex asks by requests of its own, whose ids begin at 0. Any number may be open at a
// time, in any order of answers; each holds its turn up until it is answered or
// settled. An answer to one that is settled is ignored there, so that a race does no
// harm. An answer that Codex does not understand fails the call and not the turn.
//
// Approvals offer more words than are used here. Two of them write rules into the
// person's own settings, for every thread and process to come: what a client calls
// "always" is for the session. One ends the turn as well, which is a client's to say.

// ask is a request without an answer.
type ask struct {
	// id is the request's id as sent; its text is the key of the request.
	id jsontext.Value
	// item is the item that it is about; the zero value where there is none.
	item itemKey
	// answer is what a decision is to Codex.
	answer func(harness.Decision) any
}

// askParams are those of every request for consent; which are there, the method
// says.
type askParams struct {
	params
	Reason  rpcline.Text   `json:"reason"`
	Command rpcline.Text   `json:"command"`
	Actions jsontext.Value `json:"commandActions"`
	// Network is set where a command wants out; an object.
	Network jsontext.Value `json:"networkApprovalContext"`
	// GrantRoot is a folder that is to be writable from then on.
	GrantRoot rpcline.Text `json:"grantRoot"`
	// Permissions are what is wanted; an object.
	Permissions jsontext.Value `json:"permissions"`
	// Server, Mode, URL, Schema and Meta are of an MCP server's question.
	Server rpcline.Text   `json:"serverName"`
	Mode   rpcline.Text   `json:"mode"`
	URL    rpcline.Text   `json:"url"`
	Schema jsontext.Value `json:"requestedSchema"`
	Meta   jsontext.Value `json:"_meta"`
	// raw are the params as they came.
	raw jsontext.Value
}

// requested takes a request. What is not known, or cannot be put to anybody, is
// refused at once: a request without an answer holds the turn up for ever.
func (t *translator) requested(m rpcline.Message) {
	build, known := askers[m.Method]
	if !known {
		t.note("request refused: unknown method", rpcline.Word(m.Method))
		t.refuse(m.ID)
		return
	}
	p := rpcline.Read[askParams](m.Params)
	p.raw = m.Params
	asked, a := build(t, p)
	a.id, asked.Request = m.ID, string(m.ID)
	switch {
	case a.answer == nil:
		t.note("request refused: nobody can answer it here", rpcline.Word(m.Method))
		t.result(m.ID, declined)
	case !t.ours(string(p.ThreadID)):
		t.note("request of an unknown thread refused", rpcline.Word(m.Method))
		t.result(m.ID, a.answer(harness.Deny))
	case t.askOf(asked.Request) >= 0:
		t.note("request asked for twice under one id", "")
	default:
		t.put(asked, a, p)
	}
}

// askers make of each request what is asked, and what is to be answered. A zero
// ask cannot be answered.
var askers = map[string]func(*translator, askParams) (harness.Asked, ask){
	"item/commandExecution/requestApproval": askCommand,
	"item/fileChange/requestApproval":       askChange,
	"item/permissions/requestApproval":      askPermissions,
	"mcpServer/elicitation/request":         askElicitation,
}

// put puts a request to whoever answers. Its call is shown as waiting.
func (t *translator) put(asked harness.Asked, a ask, p askParams) {
	t.stopTimer(idleTimer)
	asked.Owner = t.owner(string(p.ThreadID))
	if it := t.items[a.item]; it != nil && !it.closed {
		it.asked = true
		asked.Call = it.call
	} else if asked.Call != "" && t.callTaken(asked.Call) {
		asked.Call = ""
	}
	t.asks = append(t.asks, a)
	t.emit(asked)
}

// callTaken says whether a call id is that of an item, of whatever thread.
func (t *translator) callTaken(call string) bool {
	return slices.ContainsFunc(t.order, func(k itemKey) bool { return k.item == call })
}

// askOf is the place of an open request; -1 where it is none.
func (t *translator) askOf(request string) int {
	return slices.IndexFunc(t.asks, func(a ask) bool { return string(a.id) == request })
}

// decision answers an approval. There are further words, which write rules for
// every thread to come; they are never used.
type decision struct {
	Decision string `json:"decision"`
}

// decide is a decision in the word of an approval. A request that is taken back
// alone is declined: Codex's "cancel" would end the turn.
func decide(d harness.Decision) any {
	switch d {
	case harness.Allow:
		return decision{"accept"}
	case harness.AllowAlways:
		return decision{"acceptForSession"}
	}
	return decision{"decline"}
}

// askCommand: a command wants to run, or to reach the network.
func askCommand(t *translator, p askParams) (harness.Asked, ask) {
	key := itemKey{string(p.ThreadID), string(p.ItemID)}
	asked := harness.Asked{
		Call: string(p.ItemID), Name: "commandExecution", Kind: commandKind(p.Actions), Always: true,
		Title:    commandTitle(fields{Command: p.Command, Actions: p.Actions}),
		RawInput: members(p.raw, "command", "cwd", "reason", "networkApprovalContext"),
	}
	if it := t.items[key]; it != nil {
		asked.Title, asked.Locations = rpcline.Text(asked.Title).Or(it.title), it.tool.locations
	}
	if host := rpcline.Read[struct {
		Host rpcline.Text `json:"host"`
	}](p.Network).Host; host != "" {
		asked.Title = "Connect to " + string(host) + ": " + asked.Title
	}
	return asked, ask{item: key, answer: decide}
}

// askChange: a patch wants to be applied. The item has said what is in it.
func askChange(t *translator, p askParams) (harness.Asked, ask) {
	key := itemKey{string(p.ThreadID), string(p.ItemID)}
	asked := harness.Asked{
		Call: string(p.ItemID), Name: "fileChange", Kind: protocol.KindEdit, Always: true,
		RawInput: members(p.raw, "reason", "grantRoot"),
	}
	if it := t.items[key]; it != nil {
		asked.Title, asked.Kind, asked.Locations, asked.RawInput = it.title, it.tool.kind, it.tool.locations, it.tool.input
	}
	if p.GrantRoot != "" {
		asked.Title = "Write below " + string(p.GrantRoot) + " for the rest of the session: " + asked.Title
	}
	return asked, ask{item: key, answer: decide}
}

// granted answers a request for permissions.
type granted struct {
	// Permissions are those granted, in the form of those wanted.
	Permissions jsontext.Value `json:"permissions"`
	// Scope is turn or session.
	Scope string `json:"scope"`
}

// askPermissions: the model wants more than its sandbox gives.
func askPermissions(_ *translator, p askParams) (harness.Asked, ask) {
	wanted := p.Permissions
	asked := harness.Asked{
		Name: "request_permissions", Kind: protocol.KindOther, Always: true,
		Title:    rpcline.Text(p.Reason).Or("Give the model further permissions"),
		RawInput: members(p.raw, "permissions", "reason", "cwd"),
	}
	return asked, ask{answer: func(d harness.Decision) any {
		switch {
		case d == harness.Allow && wanted.Kind() == '{':
			return granted{wanted, "turn"}
		case d == harness.AllowAlways && wanted.Kind() == '{':
			return granted{wanted, "session"}
		}
		return granted{jsontext.Value("{}"), "turn"}
	}}
}

// elicited answers an MCP server's question.
type elicited struct {
	// Action is accept or decline.
	Action string `json:"action"`
	// Content is the form's; an empty one where nothing was to be filled in.
	Content any `json:"content"`
	// Meta says how long an acceptance holds; nil: this once.
	Meta any `json:"_meta"`
}

// declined answers what nobody can be asked here.
var declined = elicited{Action: "decline"}

// askElicitation: a tool of an MCP server wants to run, or a server has a question
// that yes or no can answer. A form to be filled in cannot be put to anybody.
func askElicitation(t *translator, p askParams) (harness.Asked, ask) {
	meta := rpcline.Read[struct {
		Kind    rpcline.Text   `json:"codex_approval_kind"`
		Tool    rpcline.Text   `json:"tool_name"`
		Input   jsontext.Value `json:"tool_params"`
		Persist jsontext.Value `json:"persist"`
	}](p.Meta)
	asked := harness.Asked{Kind: protocol.KindOther, Title: string(p.Message)}
	a := ask{answer: func(d harness.Decision) any {
		switch d {
		case harness.Allow:
			return elicited{Action: "accept", Content: struct{}{}}
		case harness.AllowAlways:
			return elicited{Action: "accept", Content: struct{}{}, Meta: map[string]string{"persist": "session"}}
		}
		return declined
	}}
	if meta.Kind == "mcp_tool_call" {
		asked.Name, asked.RawInput = mcpName(string(p.Server), string(meta.Tool)), rpcline.AsObject(meta.Input, "arguments")
		asked.Always = slices.Contains(rpcline.Texts(meta.Persist), "session")
		a.item = t.unasked(p, asked.Name)
		return asked, a
	}
	if needsFilling(p.Schema) {
		return asked, ask{}
	}
	asked.Name, asked.RawInput = "elicitation", members(p.raw, "serverName", "message", "url")
	return asked, a
}

// needsFilling says whether a form has members that have to be given.
func needsFilling(schema jsontext.Value) bool {
	return len(rpcline.Values(rpcline.Read[struct {
		Required jsontext.Value `json:"required"`
	}](schema).Required)) > 0
}

// unasked is the running call of a tool that has not been asked about: an
// elicitation names the tool and not the call.
func (t *translator) unasked(p askParams, name string) itemKey {
	for _, key := range t.order {
		it := t.items[key]
		if key.thread == string(p.ThreadID) && it.tool.name == name && !it.asked && !it.closed {
			return key
		}
	}
	return itemKey{}
}

// resolve answers a request.
func (t *translator) resolve(in harness.Resolve) {
	i := t.askOf(in.Request)
	if i < 0 {
		t.note("answer to a request that is not open", "")
		return
	}
	a := t.asks[i]
	t.asks = slices.Delete(t.asks, i, i+1)
	t.result(a.id, a.answer(in.Verdict.Decision))
	if it := t.items[a.item]; it != nil && !it.closed {
		allowed := in.Verdict.Decision == harness.Allow || in.Verdict.Decision == harness.AllowAlways
		it.asked, it.refused = false, !allowed
		if allowed {
			t.runs(it)
		}
	}
}

// settled takes the news that a request is dead, answered or not.
func (t *translator) settled(p params) {
	i := t.askOf(string(p.RequestID))
	if i < 0 {
		return
	}
	if it := t.items[t.asks[i].item]; it != nil {
		it.asked = false
	}
	t.asks = slices.Delete(t.asks, i, i+1)
	t.emit(harness.Withdrawn{Request: string(p.RequestID)})
}
