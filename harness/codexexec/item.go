package codexexec

import (
	"path"
	"strings"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// Each line tells the whole of an item as it stands: the first one makes it, the last
// one has the type item.completed, and a short item has that one alone. Ids are counted
// from 0 in each process, so that a call's id holds something of the turn as well.
//
// Text comes whole. It is shown as a part that is opened, grows once and is closed, so
// that a client needs to know one way only. A file change comes without its content.

// item is one item of the turn.
type item struct {
	kind string
	// said is what of a text was shown; open is true while its part streams, or its
	// call runs.
	said string
	open bool
}

// speech is what the open message holds: a message is what the model thought, then
// said, then called.
type speech struct{ open, said, called bool }

// fields are the members of an item, of whatever type it is.
type fields struct {
	ID   rpcline.Text `json:"id"`
	Type rpcline.Text `json:"type"`
	// Status is in_progress, completed, failed or declined.
	Status rpcline.Text `json:"status"`
	// Text is of agent_message and reasoning; Message, of error.
	Text    rpcline.Text `json:"text"`
	Message rpcline.Text `json:"message"`
	// Command, Output and ExitCode are of command_execution.
	Command  rpcline.Text   `json:"command"`
	Output   rpcline.Text   `json:"aggregated_output"`
	ExitCode rpcline.Number `json:"exit_code"`
	// Changes are of file_change, Items of todo_list: lists.
	Changes jsontext.Value `json:"changes"`
	Items   jsontext.Value `json:"items"`
	// Server, Tool, Arguments, Result and Error are of mcp_tool_call; Query, of
	// web_search.
	Server    rpcline.Text   `json:"server"`
	Tool      rpcline.Text   `json:"tool"`
	Arguments jsontext.Value `json:"arguments"`
	Result    jsontext.Value `json:"result"`
	Error     jsontext.Value `json:"error"`
	Query     rpcline.Text   `json:"query"`
	// raw is the item as it came.
	raw jsontext.Value
}

// item takes any line about an item: each tells the whole of it.
func (t *translator) item(l line) {
	f := rpcline.Read[fields](l.Item)
	f.raw = l.Item
	id := string(f.ID)
	if id == "" {
		t.note("item without an id", rpcline.Word(string(f.Type)))
		return
	}
	it := t.items[id]
	if it == nil {
		it = &item{kind: string(f.Type)}
		t.items[id] = it
		t.order = append(t.order, id)
	}
	done := l.Type == "item.completed"
	switch it.kind {
	case "agent_message":
		t.say(it, protocol.PartText, id, string(f.Text), done)
	case "reasoning":
		t.say(it, protocol.PartReasoning, id, string(f.Text), done)
	case "todo_list":
		t.plan(id, f)
	case "error":
		t.emit(harness.Notice{Category: categoryOf(string(f.Message)), Message: f.Message.Or("Codex gave no reason")})
	default:
		t.tool(it, id, f, done)
	}
}

// place makes room for something of a kind in a message.
func (t *translator) place(kind protocol.PartType) {
	s := &t.speech
	if !s.open || kind != protocol.PartTool && (s.called || s.said) {
		*s = speech{open: true}
		model := ""
		if m := t.launch.Config.Model; m != nil {
			model = *m
		}
		t.emit(harness.MessageOpened{Model: model})
	}
	s.said = s.said || kind == protocol.PartText
	s.called = s.called || kind == protocol.PartTool
}

// say shows what of a text is new as one delta, and closes it once it is whole.
func (t *translator) say(it *item, kind protocol.PartType, key, text string, done bool) {
	if !it.open && it.said == "" && text != "" {
		t.place(kind)
		t.emit(harness.PartOpened{Part: key, Kind: kind})
		it.open = true
	}
	if rest, longer := strings.CutPrefix(text, it.said); longer && rest != "" && it.open {
		t.emit(harness.TextAppended{Part: key, Text: rest})
		it.said = text
	}
	if done && it.open {
		it.open = false
		t.emit(harness.PartSet{Part: key, Value: whole(kind, text)})
	}
}

// whole is a part's last state; without a text it is what was streamed.
func whole(kind protocol.PartType, text string) protocol.Part {
	if kind == protocol.PartReasoning {
		return &protocol.ReasoningPart{Text: text, State: protocol.StateDone}
	}
	return &protocol.TextPart{Text: text, State: protocol.StateDone}
}

// plan shows the model's list of steps.
func (t *translator) plan(key string, f fields) {
	type entry struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	}
	entries := []entry{}
	for _, step := range rpcline.List[struct {
		Text rpcline.Text `json:"text"`
		Done rpcline.Flag `json:"completed"`
	}](f.Items) {
		e := entry{string(step.Text), "pending"}
		if step.Done {
			e.Status = "completed"
		}
		entries = append(entries, e)
	}
	t.emit(harness.PartSet{Part: key, Value: &protocol.UnknownPart{Kind: protocol.PartPlan, Raw: protocol.Encode(struct {
		Type    protocol.PartType `json:"type"`
		Entries []entry           `json:"entries"`
	}{protocol.PartPlan, entries})}})
}

// tool shows a tool call of any type; one that is not known, as it came.
func (t *translator) tool(it *item, id string, f fields, done bool) {
	u := describe(f)
	u.Call = t.prefix + id
	if !it.open {
		t.place(protocol.PartTool)
	}
	it.open = !done
	switch {
	case !done:
		u.State = &protocol.InProgressState{Input: u.Meta}
	case f.Status == "failed" || f.Status == "declined":
		u.State = &protocol.FailedState{Input: u.Meta, Error: errorOf(f)}
	default:
		u.State = &protocol.CompletedState{Input: u.Meta, Output: outputOf(f)}
	}
	u.Meta = nil
	t.emit(u)
}

// describe is a tool call without its state; its input stands in Meta meanwhile.
func describe(f fields) harness.ToolSet {
	u := harness.ToolSet{Name: string(f.Type), Kind: protocol.KindOther}
	switch f.Type {
	case "command_execution":
		u.Kind, u.Title, u.Meta = protocol.KindExecute, string(f.Command), rpcline.AsObject(protocol.Encode(string(f.Command)), "command")
	case "file_change":
		u.Kind, u.Meta = protocol.KindEdit, rpcline.AsObject(f.Changes, "changes")
		for _, c := range changesOf(f) {
			u.Locations = append(u.Locations, protocol.Location{Path: string(c.Path)})
			u.Title = string(c.Kind) + " " + path.Base(string(c.Path))
		}
	case "mcp_tool_call":
		u.Name, u.Title = "mcp__"+string(f.Server)+"__"+string(f.Tool), string(f.Server)+": "+string(f.Tool)
		u.Meta = rpcline.AsObject(f.Arguments, "arguments")
	case "web_search":
		u.Kind, u.Title, u.Meta = protocol.KindSearch, string(f.Query), rpcline.AsObject(protocol.Encode(string(f.Query)), "query")
	default:
		u.Meta = protocol.AppendRaw(nil, f.raw)
	}
	return u
}

// change is what happens to one file; its diff does not come this way.
type change struct {
	Path rpcline.Text `json:"path"`
	Kind rpcline.Text `json:"kind"`
}

func changesOf(f fields) []change { return rpcline.List[change](f.Changes) }

// outputOf is a call's result as text.
func outputOf(f fields) string {
	switch f.Type {
	case "command_execution":
		return string(f.Output)
	case "file_change":
		var lines []string
		for _, c := range changesOf(f) {
			lines = append(lines, string(c.Kind)+" "+string(c.Path))
		}
		return strings.Join(lines, "\n")
	}
	var texts []string
	for _, c := range rpcline.List[struct {
		Text rpcline.Text `json:"text"`
	}](rpcline.Read[struct {
		Content jsontext.Value `json:"content"`
	}](f.Result).Content) {
		texts = append(texts, string(c.Text))
	}
	return strings.Join(texts, "\n")
}

// errorOf is why a call failed; never "".
func errorOf(f fields) string {
	said := outputOf(f)
	if m := rpcline.Read[struct {
		Message rpcline.Text `json:"message"`
	}](f.Error).Message; m != "" {
		said = string(m)
	}
	if f.ExitCode.Set {
		said = strings.TrimSuffix("Exit code "+string(protocol.Encode(f.ExitCode.Value))+"\n"+said, "\n")
	}
	if said == "" {
		return "Codex did not say why this failed"
	}
	return said
}

// closeItems closes what is open when the turn ends.
func (t *translator) closeItems(cancelled bool) {
	for _, id := range t.order {
		it := t.items[id]
		if !it.open {
			continue
		}
		it.open = false
		switch {
		case it.kind == "agent_message":
			t.emit(harness.PartSet{Part: id, Value: whole(protocol.PartText, "")})
		case it.kind == "reasoning":
			t.emit(harness.PartSet{Part: id, Value: whole(protocol.PartReasoning, "")})
		case cancelled:
			t.emit(harness.ToolSet{Call: t.prefix + id, State: &protocol.CancelledState{}})
		default:
			t.emit(harness.ToolSet{Call: t.prefix + id, State: &protocol.FailedState{Error: "Codex did not say how this ended"}})
		}
	}
}
