package codexappserver

import (
	"path"
	"slices"
	"strings"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// Whatever is neither speech nor a compaction is shown as a tool call: its input is
// what the item says of what is to be done, its result what the item says at its end.
// An item of a type that is not known is one too, with the item as it came for input,
// so that nothing is lost on a client that knows more than we do.
//
// The provider's id of a call is shown as the call's. There are no deltas of inputs on
// this wire: a call is known as a whole or not at all.

// tool is what a tool call is shown with, beside its state.
type tool struct {
	name, title string
	kind        protocol.ToolKind
	locations   []protocol.Location
	subagent    *protocol.Subagent
	input       protocol.Object
}

// toolBegun shows a tool call at its first sight: as waiting where Codex says that
// it waits for an approval, whose request then follows.
func (t *translator) toolBegun(p params, it *item, f fields) {
	it.call = t.callID(p, f)
	it.tool = toolOf(f)
	it.title = it.tool.title
	owner := t.owner(string(p.ThreadID))
	t.place(protocol.PartTool, owner)
	it.pending = t.waiting && (it.kind == "commandExecution" || it.kind == "fileChange" || it.kind == "mcpToolCall")
	t.showTool(it, owner)
	if f.Kind == "started" {
		// What the newer kind of item tells first of a sub-agent.
		t.announce(string(f.AgentThread), it.call, string(f.AgentPath))
	}
}

// showTool shows a call that runs, or that waits.
func (t *translator) showTool(it *item, owner string) {
	u := harness.ToolSet{
		Call: it.call, Owner: owner, Name: it.tool.name, Kind: it.tool.kind, Title: it.tool.title,
		Locations: it.tool.locations, Subagent: it.tool.subagent,
	}
	if it.pending {
		u.State = &protocol.PendingState{PartialInput: string(it.tool.input)}
	} else {
		u.State = &protocol.InProgressState{Input: it.tool.input}
	}
	t.emit(u)
}

// callID is the tool call id of an item: the provider's own, unless another thread
// has it.
func (t *translator) callID(p params, f fields) string {
	id := string(f.ID)
	for _, key := range t.order {
		if key.item == id && key.thread != string(p.ThreadID) {
			return string(p.ThreadID) + "/" + id
		}
	}
	return id
}

// runs shows that a call waits no more.
func (t *translator) runs(it *item) {
	if it.pending && !it.asked && !it.closed && !it.left {
		it.pending = false
		t.emit(harness.ToolSet{Call: it.call, State: &protocol.InProgressState{Input: it.tool.input}})
	}
}

// toolEnded shows how a tool call ended.
func (t *translator) toolEnded(p params, it *item, f fields) {
	tl := toolOf(f)
	t.emit(harness.ToolSet{
		Call: it.call, Kind: tl.kind, Title: tl.title, Locations: tl.locations, Subagent: tl.subagent, State: stateOf(it, f, tl),
	})
	if it.kind == "collabAgentToolCall" && f.Tool == "spawnAgent" {
		for _, thread := range rpcline.Texts(f.Receivers) {
			t.announce(thread, it.call, string(f.Prompt))
		}
	}
}

// toolOf describes a tool call of any type.
func toolOf(f fields) tool {
	switch f.Type {
	case "commandExecution":
		return commandTool(f)
	case "fileChange":
		return changeTool(f)
	case "mcpToolCall":
		return tool{
			name: mcpName(string(f.Server), string(f.Tool)), title: string(f.Server) + ": " + string(f.Tool),
			kind: protocol.KindOther, input: rpcline.AsObject(f.Arguments, "arguments"),
		}
	case "dynamicToolCall":
		return tool{
			name: strings.TrimPrefix(string(f.Namespace)+"."+string(f.Tool), "."), kind: protocol.KindOther,
			input: rpcline.AsObject(f.Arguments, "arguments"),
		}
	case "collabAgentToolCall", "subAgentActivity":
		return agentTool(f)
	}
	return plainTool(f)
}

// mcpName is the name of an MCP server's tool.
func mcpName(server, name string) string { return "mcp__" + server + "__" + name }

// plainTool describes what has no description of its own: an unknown type is shown
// as it came.
func plainTool(f fields) tool {
	switch f.Type {
	case "webSearch":
		return tool{name: "webSearch", title: string(f.Query), kind: protocol.KindSearch, input: members(f.raw, "query", "action")}
	case "imageView":
		return tool{
			name: "imageView", title: path.Base(string(f.Path)), kind: protocol.KindRead,
			locations: located(string(f.Path)), input: members(f.raw, "path"),
		}
	case "imageGeneration":
		return tool{name: "imageGeneration", kind: protocol.KindOther, locations: located(string(f.SavedPath)), input: members(f.raw, "revisedPrompt")}
	}
	return tool{name: string(f.Type), kind: protocol.KindOther, input: protocol.AppendRaw(nil, f.raw)}
}

// members is an object of those members of another that are there and not null.
func members(raw jsontext.Value, names ...string) protocol.Object {
	values := rpcline.Read[map[string]jsontext.Value](raw)
	o := protocol.Object{'{'}
	for _, name := range names {
		if v := values[name]; len(v) > 0 && v.Kind() != 'n' {
			if len(o) > 1 {
				o = append(o, ',')
			}
			o = append(protocol.AppendString(o, name), ':')
			o = protocol.AppendRaw(o, v)
		}
	}
	return append(o, '}')
}

// located are the files concerned; nil where there is none.
func located(paths ...string) []protocol.Location {
	var out []protocol.Location
	for _, p := range paths {
		if p != "" && !slices.ContainsFunc(out, func(l protocol.Location) bool { return l.Path == p }) {
			out = append(out, protocol.Location{Path: p})
		}
	}
	return out
}

// stateOf is how a call ended.
func stateOf(it *item, f fields, tl tool) protocol.ToolState {
	switch f.Status {
	case "declined":
		return &protocol.FailedState{Input: tl.input, Error: "This was refused."}
	case "failed", "errored", "incomplete":
		return &protocol.FailedState{Input: tl.input, Error: errorOf(f)}
	}
	if f.Failure.Kind() == '{' || it.kind == "dynamicToolCall" && string(f.Success) == "false" {
		return &protocol.FailedState{Input: tl.input, Error: errorOf(f)}
	}
	text, content := resultOf(f)
	return &protocol.CompletedState{Input: tl.input, Output: text, Content: content, Metadata: metadataOf(f)}
}

// metadataOf is what of a result is for machines; nil where there is nothing.
func metadataOf(f fields) protocol.Object {
	var o protocol.Object
	switch f.Type {
	case "commandExecution":
		o = members(f.raw, "exitCode", "durationMs", "processId")
	case "mcpToolCall":
		o = members(f.Result, "structuredContent")
	}
	if len(o) <= len("{}") {
		return nil
	}
	return o
}

// resultOf is a call's result: as text, and for display where that is more.
func resultOf(f fields) (string, []protocol.ToolContent) {
	switch f.Type {
	case "commandExecution":
		return string(f.Output), nil
	case "fileChange":
		return changeText(f), diffs(f.Changes)
	case "mcpToolCall":
		return contentOf(rpcline.Read[struct {
			Content jsontext.Value `json:"content"`
		}](f.Result).Content)
	case "dynamicToolCall":
		return contentOf(f.ContentItems)
	case "collabAgentToolCall", "subAgentActivity":
		return agentText(f), nil
	case "webSearch":
		if f.Results.Kind() == '[' {
			return string(f.Results), nil
		}
	case "imageGeneration":
		return string(f.RevisedPrompt), nil
	}
	return "", nil
}

// contentOf is the content of a tool's result. What has no place in ours is
// written as it came.
func contentOf(raw jsontext.Value) (string, []protocol.ToolContent) {
	var texts []string
	var content []protocol.ToolContent
	for _, value := range rpcline.Values(raw) {
		c := rpcline.Read[struct {
			Type     rpcline.Text   `json:"type"`
			Text     jsontext.Value `json:"text"`
			Data     rpcline.Text   `json:"data"`
			MimeType rpcline.Text   `json:"mimeType"`
			ImageURL rpcline.Text   `json:"imageUrl"`
		}](value)
		mime, data := string(c.MimeType), string(c.Data)
		if rest, ok := strings.CutPrefix(string(c.ImageURL), "data:"); ok {
			mime, data, _ = strings.Cut(rest, ";base64,")
		}
		switch {
		case c.Text.Kind() == '"':
			text := protocol.Unquote(c.Text)
			texts = append(texts, text)
			content = append(content, &protocol.TextContent{Text: text})
		case strings.HasSuffix(strings.ToLower(string(c.Type)), "image") && data != "":
			content = append(content, &protocol.ImageContent{Data: data, MimeType: rpcline.Text(mime).Or("image/*")})
		default:
			texts = append(texts, string(value))
		}
	}
	return strings.Join(texts, "\n"), content
}

// errorOf is why a call failed; never "".
func errorOf(f fields) string {
	if f.Type == "commandExecution" {
		return commandError(f)
	}
	for _, raw := range []jsontext.Value{f.Error, f.Failure} {
		if said := rpcline.Read[struct {
			Message rpcline.Text `json:"message"`
		}](raw).Message; said != "" {
			return string(said)
		}
	}
	if text, _ := resultOf(f); text != "" {
		return text
	}
	return "Codex did not say why this failed"
}
