package claudecode

import (
	"maps"
	"slices"
	"strings"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The CLI asks on stdout and waits for ever; it takes a question back by itself
// when it is interrupted. Several may be open at once, answered in any order. The
// complete line of the tool call always comes before its question.

// ask is a permission request without an answer.
type ask struct {
	// id is the CLI's.
	id string
	// shown is how it was told, under a key of ours where it is told again.
	shown harness.Asked
	// input is restated with an allow.
	input protocol.Object
	// always are the permissions that an "always" brings; nil: it cannot.
	always []map[string]jsontext.Value
}

// response answers a control request.
type response struct {
	// Type is control_response.
	Type string `json:"type"`
	// Response is a success or a refusal.
	Response any `json:"response"`
}

// success is an answer.
type success struct {
	// Subtype is success.
	Subtype string `json:"subtype"`
	// ID is the request's.
	ID string `json:"request_id"`
	// Response is what was asked for.
	Response any `json:"response"`
}

// refusal is the answer to what cannot be answered.
type refusal struct {
	// Subtype is error.
	Subtype string `json:"subtype"`
	// ID is the request's.
	ID string `json:"request_id"`
	// Error says why.
	Error string `json:"error"`
}

// allow lets a tool run. The input goes back with it: versions of the CLI that
// require it fail the tool otherwise.
type allow struct {
	// Behavior is allow.
	Behavior string `json:"behavior"`
	// Input is what the tool runs with.
	Input protocol.Object `json:"updatedInput"`
	// Always are permissions to be added.
	Always []map[string]jsontext.Value `json:"updatedPermissions,omitzero"`
	// Class says that a person meant it to last.
	Class string `json:"decisionClassification,omitzero"`
}

// deny refuses one call; the turn goes on.
type deny struct {
	// Behavior is deny.
	Behavior string `json:"behavior"`
	// Message is what the model reads in place of a result.
	Message string `json:"message"`
}

// succeed answers a control request.
func (t *translator) succeed(id string, body any) {
	t.write(response{"control_response", success{"success", id, body}})
}

// deny answers a request for permission with a refusal.
func (t *translator) deny(id, message string) {
	t.succeed(id, deny{"deny", message})
}

// onControlRequest takes a request of the CLI's. Each must be answered, or it
// waits for ever; only a dialog that was not declared must not be.
func (t *translator) onControlRequest(line []byte) {
	c := object[control](line)
	id, subtype := string(c.ID), string(object[head](c.Request).Subtype)
	if id == "" {
		t.note("control request without an id", word(subtype))
		return
	}
	switch subtype {
	case "can_use_tool":
		t.onQuestion(id, object[question](c.Request))
	case "hook_callback":
		t.succeed(id, struct{}{})
	case "elicitation":
		t.succeed(id, struct {
			Action string `json:"action"`
		}{"decline"})
	case "request_user_dialog":
		t.note("undeclared dialog", "")
	default:
		t.note("unknown control request", word(subtype))
		t.write(response{"control_response", refusal{"error", id, "not supported by this client"}})
	}
}

// onQuestion takes a request for permission. Who can be asked, and whether anyone
// still can, is the machine's to say; but where it is not known who asks, there is
// nobody to show it to, and a request left open would hold the turn for ever.
func (t *translator) onQuestion(id string, q question) {
	call := string(q.ToolUseID)
	owner, known := t.ownerOf(call, string(q.Agent))
	if !known {
		t.note("permission asked by an unknown sub-agent", word(string(q.Tool)))
		t.deny(id, "It is not known which sub-agent asks.")
		return
	}
	input := free(q.Input)
	if input == nil {
		input = protocol.Object("{}")
	}
	a := ask{id: id, input: input}
	if !bool(q.NoAlways) {
		a.always = sessionRules(q.Suggestions)
	}
	v := viewOf(string(q.Tool), q.Input)
	a.shown = harness.Asked{
		Request: id, Call: call, Owner: owner, Name: v.name, Kind: v.kind, Title: v.title, Locations: v.locations,
		RawInput: input, Always: len(a.always) > 0, InputSlot: true,
	}
	t.ask(a)
}

// ask tells a request.
func (t *translator) ask(a ask) {
	t.asks[a.shown.Request] = a
	t.emit(a.shown)
}

// keepAsks takes back the requests of background tasks that a turn would take with
// it at its end, for they still wait, and gives them as they are to be told again
// behind it, under keys of their own.
func (t *translator) keepAsks() (again []ask) {
	for _, key := range slices.Sorted(maps.Keys(t.asks)) {
		a := t.asks[key]
		if a.shown.Owner == "" || len(t.background) == 0 {
			continue
		}
		delete(t.asks, key)
		t.emit(harness.Withdrawn{Request: key})
		a.shown.Request = t.newID()
		again = append(again, a)
	}
	return again
}

// ownerOf is the tool call whose sub-agent asks; false where one asks that is not
// known.
func (t *translator) ownerOf(call, agent string) (string, bool) {
	if c := t.calls[call]; c != nil {
		return c.owner, true
	}
	owner, known := t.agents[agent]
	return owner, known || agent == ""
}

// sessionRules makes of the CLI's suggestions what an "always" brings: the rules
// among them, which allow this call and those like it; nil where there are none.
// A directory or a permission mode is never sent: it would allow what nobody
// looked at, a mode even more than the server's cap lets a client ask for. The
// rules are for this session alone: the CLI would write them into the project.
func sessionRules(suggestions jsontext.Value) (rules []map[string]jsontext.Value) {
	for _, raw := range array(suggestions) {
		var s map[string]jsontext.Value
		if raw.Kind() != '{' || json.Unmarshal(raw, &s, lenient) != nil {
			continue
		}
		narrow := narrowRules(s["rules"])
		if member(s, "type") == "addRules" && member(s, "behavior") == "allow" && len(narrow) > 0 {
			s["rules"], s["destination"] = protocol.Encode(narrow), jsontext.Value(`"session"`)
			rules = append(rules, s)
		}
	}
	return rules
}

// narrowRules are the rules that say which calls they allow. One without a content
// allows its tool whatever the input, which is wider than "always" reads: then the
// machine keeps a rule of its own, for this very call.
func narrowRules(rules jsontext.Value) (narrow []jsontext.Value) {
	for _, raw := range array(rules) {
		content := object[struct {
			Content text `json:"ruleContent"`
		}](raw).Content
		if strings.Trim(string(content), " :*") != "" {
			narrow = append(narrow, raw)
		}
	}
	return narrow
}

// member is a string member of an object; "" where it is none.
func member(o map[string]jsontext.Value, name string) string {
	if v := o[name]; v.Kind() == '"' {
		return protocol.Unquote(v)
	}
	return ""
}

// resolve answers a permission request.
func (t *translator) resolve(in harness.Resolve) {
	a, open := t.asks[in.Request]
	if !open {
		t.note("verdict on no open request", "")
		return
	}
	delete(t.asks, in.Request)
	v := in.Verdict
	switch v.Decision {
	case harness.Allow, harness.AllowAlways:
		t.allow(a, v)
	default:
		message := v.Message
		if message == "" {
			message = "The user refused this call."
		}
		t.deny(a.id, message)
	}
}

// allow lets the call run, and shows the input that it runs with where that was
// changed.
func (t *translator) allow(a ask, v harness.Verdict) {
	body := allow{Behavior: "allow", Input: a.input}
	if v.UpdatedInput != nil {
		body.Input = v.UpdatedInput
		t.reshow(a.shown.Call, v.UpdatedInput)
	}
	if v.Decision == harness.AllowAlways && len(a.always) > 0 {
		body.Always, body.Class = a.always, "user_permanent"
	}
	t.succeed(a.id, body)
}

// reshow shows a call with another input.
func (t *translator) reshow(id string, input protocol.Object) {
	c := t.calls[id]
	if c == nil {
		return
	}
	v := viewOf(c.view.name, input)
	v.keepAgent(c.view)
	c.view = v
	t.show(c, &protocol.InProgressState{Input: input})
}

// onControlCancel takes back a permission request; one that is answered or was
// drained by a cancel is not open any more.
func (t *translator) onControlCancel(line []byte) {
	id := string(object[control](line).ID)
	for key, a := range t.asks {
		if a.id == id {
			delete(t.asks, key)
			t.emit(harness.Withdrawn{Request: key})
		}
	}
}
