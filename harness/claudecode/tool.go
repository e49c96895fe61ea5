package claudecode

import (
	"strings"
	"unicode/utf8"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// call is a tool call without a result.
type call struct {
	// id is the CLI's.
	id string
	// owner is the call whose sub-agent made this one; "" at top level.
	owner string
	// view is how it is shown.
	view toolView
}

// toolView is how a tool call is shown.
type toolView struct {
	// name is the CLI's.
	name string
	// kind is never blank.
	kind protocol.ToolKind
	// title is what it does, for people who may have to allow it: a command and
	// not the model's description of it. "": nothing better than the name.
	title string
	// locations are files that its input names.
	locations []protocol.Location
	// subagent is set where it runs one; what was shown is never changed.
	subagent *protocol.Subagent
}

// toolInput are the members of the known tools' inputs that a view is made of.
// Their names say what they are; a tool has few of them, and an input that still
// streams has none.
type toolInput struct {
	// Command is of Bash and Monitor.
	Command text `json:"command"`
	// Description is of Agent; Bash has one too, in the model's words.
	Description text `json:"description"`
	// FilePath is of Read, Write and Edit.
	FilePath text `json:"file_path"`
	// Notebook is of NotebookEdit.
	Notebook text `json:"notebook_path"`
	// Path is of LS.
	Path text `json:"path"`
	// Pattern is of Glob and Grep.
	Pattern text `json:"pattern"`
	// URL is of WebFetch.
	URL text `json:"url"`
	// Query is of WebSearch and ToolSearch.
	Query text `json:"query"`
	// Subject is of TaskCreate.
	Subject text `json:"subject"`
	// Skill is of Skill.
	Skill text `json:"skill"`
	// Agent is of Agent: which kind of sub-agent.
	Agent text `json:"subagent_type"`
	// Model is of Agent.
	Model text `json:"model"`
	// Offset is of Read: its first line, from 1.
	Offset *number `json:"offset"`
	// Questions are of AskUserQuestion.
	Questions jsontext.Value `json:"questions"`
}

// toolEntry is a row of the table of known tools.
type toolEntry struct {
	// kind is what the tool does.
	kind protocol.ToolKind
	// title makes the title.
	title func(toolInput) string
}

// prefixed makes a title of a word and a member; the word alone where that is
// missing.
func prefixed(word string, member func(toolInput) text) func(toolInput) string {
	return func(in toolInput) string { return strings.TrimSpace(word + " " + string(member(in))) }
}

// fixed is a title that the input adds nothing to.
func fixed(title string) func(toolInput) string {
	return func(toolInput) string { return title }
}

// inputFile is the file that a tool reads or writes.
func inputFile(in toolInput) text {
	if in.FilePath == "" {
		return in.Notebook
	}
	return in.FilePath
}

// inputCommand is a command as it will run.
func inputCommand(in toolInput) string { return string(in.Command) }

// firstQuestion is what AskUserQuestion asks first.
func firstQuestion(in toolInput) string {
	for _, q := range objects[struct {
		Question text `json:"question"`
	}](in.Questions) {
		return string(q.Question)
	}
	return ""
}

// tools are the CLI's own, with names of older versions beside today's.
var tools = map[string]toolEntry{
	"Bash":                 {protocol.KindExecute, inputCommand},
	"BashOutput":           {protocol.KindExecute, fixed("Read the command's output")},
	"Monitor":              {protocol.KindExecute, inputCommand},
	"KillShell":            {protocol.KindExecute, fixed("Stop the command")},
	"KillBash":             {protocol.KindExecute, fixed("Stop the command")},
	"TaskStop":             {protocol.KindExecute, fixed("Stop the task")},
	"Read":                 {protocol.KindRead, prefixed("Read", inputFile)},
	"NotebookRead":         {protocol.KindRead, prefixed("Read", inputFile)},
	"Write":                {protocol.KindEdit, prefixed("Write", inputFile)},
	"Edit":                 {protocol.KindEdit, prefixed("Edit", inputFile)},
	"MultiEdit":            {protocol.KindEdit, prefixed("Edit", inputFile)},
	"NotebookEdit":         {protocol.KindEdit, prefixed("Edit", inputFile)},
	"Glob":                 {protocol.KindSearch, prefixed("Find", func(in toolInput) text { return in.Pattern })},
	"Grep":                 {protocol.KindSearch, prefixed("Search for", func(in toolInput) text { return in.Pattern })},
	"LS":                   {protocol.KindSearch, prefixed("List", func(in toolInput) text { return in.Path })},
	"ToolSearch":           {protocol.KindSearch, prefixed("Search tools for", func(in toolInput) text { return in.Query })},
	"WebFetch":             {protocol.KindFetch, prefixed("Fetch", func(in toolInput) text { return in.URL })},
	"WebSearch":            {protocol.KindFetch, prefixed("Search the web for", func(in toolInput) text { return in.Query })},
	"Agent":                {protocol.KindTask, prefixed("", func(in toolInput) text { return in.Description })},
	"Task":                 {protocol.KindTask, prefixed("", func(in toolInput) text { return in.Description })},
	"TodoWrite":            {protocol.KindThink, fixed("Update the to-do list")},
	"TaskCreate":           {protocol.KindThink, prefixed("Add task", func(in toolInput) text { return in.Subject })},
	"TaskGet":              {protocol.KindThink, fixed("Look at a task")},
	"TaskList":             {protocol.KindThink, fixed("List tasks")},
	"TaskUpdate":           {protocol.KindThink, fixed("Update a task")},
	"EnterPlanMode":        {protocol.KindSwitchMode, fixed("Start planning")},
	"ExitPlanMode":         {protocol.KindSwitchMode, fixed("Carry out the plan")},
	"AskUserQuestion":      {protocol.KindOther, firstQuestion},
	"Skill":                {protocol.KindOther, prefixed("Skill", func(in toolInput) text { return in.Skill })},
	"ListMcpResourcesTool": {protocol.KindRead, fixed("List resources")},
	"ReadMcpResourceTool":  {protocol.KindRead, fixed("Read a resource")},
	"EnterWorktree":        {protocol.KindOther, fixed("Enter a worktree")},
	"ExitWorktree":         {protocol.KindOther, fixed("Leave the worktree")},
}

// viewOf is how a call of a tool with this input is shown.
func viewOf(name string, input jsontext.Value) toolView {
	in := object[toolInput](input)
	entry, known := tools[name]
	v := toolView{name: name, kind: entry.kind}
	switch {
	case !known:
		v.kind, v.title = protocol.KindOther, foreignTitle(name)
	default:
		v.title = shorten(entry.title(in))
	}
	if file := inputFile(in); file != "" {
		v.locations = []protocol.Location{{Path: string(file), Line: (*protocol.Number)(in.Offset)}}
	}
	if v.kind == protocol.KindTask {
		v.subagent = &protocol.Subagent{Type: optional(in.Agent), Description: optional(in.Description), Model: optional(in.Model)}
	}
	return v
}

// foreignTitle is the title of a tool that the CLI does not bring itself: an MCP
// tool's name says server and tool.
func foreignTitle(name string) string {
	server, tool, ok := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	if !ok || !strings.HasPrefix(name, "mcp__") {
		return shorten(name)
	}
	return shorten(server + ": " + tool)
}

// optional is a string that may be unknown.
func optional(s text) *string {
	if s == "" {
		return nil
	}
	return new(string(s))
}

// shorten makes a title of a text: its first line, of bounded length.
func shorten(s string) string {
	const most = 200
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if len(line) > most {
		cut := most
		for !utf8.RuneStart(line[cut]) {
			cut--
		}
		line, more = line[:cut], true
	}
	if more {
		line += "…"
	}
	return line
}

// showTool notes a call as a block of a message tells it, and shows it.
func (t *translator) showTool(c content, owner string, state protocol.ToolState) {
	id := string(c.ID)
	v := viewOf(string(c.Name), c.Input)
	if old := t.calls[id]; old != nil {
		v.keepAgent(old.view)
	}
	t.calls[id] = &call{id: id, owner: owner, view: v}
	t.show(t.calls[id], state)
}

// keepAgent takes over what no input tells: which agent runs.
func (v *toolView) keepAgent(old toolView) {
	if v.subagent != nil && old.subagent != nil {
		v.subagent.AgentID = old.subagent.AgentID
	}
}

// show tells a call's state, with all that is known of it.
func (t *translator) show(c *call, state protocol.ToolState) {
	t.emit(harness.ToolSet{
		Call:      c.id,
		Owner:     c.owner,
		Name:      c.view.name,
		Kind:      c.view.kind,
		Title:     c.view.title,
		Locations: c.view.locations,
		Subagent:  c.view.subagent,
		State:     state,
	})
}

// inputOf is a call's input; the CLI always gives an object, and a part must
// have one.
func inputOf(c content) protocol.Object {
	if in := free(c.Input); in != nil {
		return in
	}
	return protocol.Object("{}")
}

// nameAgent shows the id of the sub-agent that a call runs.
func (t *translator) nameAgent(id, agent string) {
	c := t.calls[id]
	if c == nil || c.view.subagent == nil || !t.canSay(c.id) {
		return
	}
	named := *c.view.subagent // what was shown is never changed
	named.AgentID = &agent
	c.view.subagent = &named
	t.emit(harness.ToolSet{Call: c.id, Owner: c.owner, Subagent: c.view.subagent})
}
