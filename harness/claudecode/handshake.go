package claudecode

import (
	"maps"
	"reflect"
	"slices"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// Before a prompt is written the CLI has to have answered what was asked of it:
// initialize on a fresh process, the members of a config that no flag can set,
// and what changed between turns. The prompt is held meanwhile, so that a cancel
// in that window finds nothing written.

// awaitedKind is what an open control request asks for.
type awaitedKind int

// Named by what the answer is to.
const (
	awaitInitialize awaitedKind = iota
	awaitThinking
	awaitServers
	awaitModel
	awaitMode
)

// The translator's timers: one bounds the handshake, one the wait for the result
// of a prompt whose life cycle has ended.
const (
	handshakeTimer = "handshake"
	settleTimer    = "settle"
)

// request is a control_request of ours.
type request struct {
	// Type is control_request.
	Type string `json:"type"`
	// ID comes back in the answer.
	ID string `json:"request_id"`
	// Request is one of the structs below.
	Request any `json:"request"`
}

// request writes a control request and gives its id.
func (t *translator) request(body any) string {
	id := t.newID()
	t.write(request{"control_request", id, body})
	return id
}

// aside writes a control request that nothing waits for.
func (t *translator) aside(what string, body any) {
	t.asides[t.request(body)] = what
}

// await writes a control request that the next prompt waits for.
func (t *translator) await(kind awaitedKind, body any) {
	t.awaited[t.request(body)] = kind
}

// initialize opens the conversation of two programs.
type initialize struct {
	// Subtype is initialize.
	Subtype string `json:"subtype"`
	// AppendSystemPrompt is here and not in argv, where its length is bounded
	// and other users can read it.
	AppendSystemPrompt string `json:"appendSystemPrompt,omitzero"`
	// Subagents asks for what sub-agents in the foreground say as well; those in
	// the background say it anyway. A flag of that name would end an older CLI.
	Subagents bool `json:"forwardSubagentText"`
}

// setThinking bounds what the model may think.
type setThinking struct {
	// Subtype is set_max_thinking_tokens.
	Subtype string `json:"subtype"`
	// Tokens is 0 for none.
	Tokens int `json:"max_thinking_tokens"`
}

// setServers replaces the MCP servers.
type setServers struct {
	// Subtype is mcp_set_servers.
	Subtype string `json:"subtype"`
	// Servers are by name.
	Servers map[string]mcpServer `json:"servers"`
}

// mcpServer is a server in the form that the CLI takes: ours, but that a command
// has arguments, if none.
type mcpServer struct {
	protocol.MCPServer
	// Args is nil of servers that are no command.
	Args []string `json:"args,omitzero"`
}

// serversOf gives the servers of a config.
func serversOf(cfg protocol.RunConfig) map[string]mcpServer {
	servers := make(map[string]mcpServer, len(cfg.MCPServers))
	for name, s := range cfg.MCPServers {
		m := mcpServer{MCPServer: s, Args: s.Args}
		if s.Type == protocol.MCPStdio && s.Args == nil {
			m.Args = []string{}
		}
		servers[name] = m
	}
	return servers
}

// setModel changes the model; the CLI tries it with a request of one word.
type setModel struct {
	// Subtype is set_model.
	Subtype string `json:"subtype"`
	// Model is a name, never empty.
	Model string `json:"model"`
}

// setMode changes the permission mode.
type setMode struct {
	// Subtype is set_permission_mode.
	Subtype string `json:"subtype"`
	// Mode is one of the CLI's words.
	Mode string `json:"mode"`
}

// greet writes the handshake of a fresh process. MCP servers go this way because
// their env and headers are secrets, which argv must not hold.
func (t *translator) greet() {
	t.greeted = true
	hello := initialize{Subtype: "initialize", Subagents: true}
	if t.cfg.SystemPromptAppend != nil {
		hello.AppendSystemPrompt = *t.cfg.SystemPromptAppend
	}
	t.await(awaitInitialize, hello)
	if t.cfg.ThinkingLevel == protocol.ThinkingOff {
		t.await(awaitThinking, setThinking{"set_max_thinking_tokens", 0})
	}
	if len(t.cfg.MCPServers) > 0 && !toolsDisabled(t.cfg) {
		t.await(awaitServers, setServers{"mcp_set_servers", serversOf(t.cfg)})
	}
}

// begin starts a turn.
func (t *translator) begin(in harness.Begin) {
	uuid := t.newID()
	line, err := promptLine(uuid, in.Input)
	if err != nil {
		t.emit(harness.Rejected{Error: protocol.TurnError{Category: protocol.CategoryInvalidRequest, Message: err.Error()}})
		return
	}
	t.turn = &turn{uuid: uuid, line: line}
	t.cfg = in.Config
	if !t.greeted {
		t.greet()
	}
	t.restoreMode()
	if t.advance(); t.turn != nil && !t.turn.written {
		t.turn.waiting = true
		t.out.Timers = append(t.out.Timers, harness.Timer{Name: handshakeTimer, After: t.opts.HandshakeTimeout})
	}
}

// restoreMode asks for the config's permission mode where the CLI has left it by
// itself (an approved plan does that).
func (t *translator) restoreMode() {
	want := modes[t.cfg.PermissionMode]
	if t.mode != "" && t.mode != want && !t.awaits(awaitMode) {
		t.await(awaitMode, setMode{"set_permission_mode", want})
	}
}

// awaits says whether a request of this kind is open.
func (t *translator) awaits(kind awaitedKind) bool {
	for _, k := range t.awaited {
		if k == kind {
			return true
		}
	}
	return false
}

// advance writes the prompt, or refuses the turn, if nothing is awaited any more.
func (t *translator) advance() {
	switch {
	case t.turn == nil || t.turn.written:
	case t.refused != nil:
		t.reject(*t.refused)
	case len(t.awaited) == 0:
		t.out.Stdin = append(t.out.Stdin, t.turn.line...)
		t.turn.line, t.turn.written, t.prompted = nil, true, true
		t.emit(harness.PromptWritten{})
		t.stopWaiting()
	}
}

// reject ends the turn before its prompt, and the process: what it is configured
// to is not known any more.
func (t *translator) reject(why protocol.TurnError) {
	t.emit(harness.Rejected{Error: why})
	t.abandonTurn()
	t.out.Process = harness.Stop
}

// abandonTurn forgets a turn whose prompt was not written.
func (t *translator) abandonTurn() {
	t.stopWaiting()
	t.turn = nil
}

// stopWaiting stops the timer of the handshake, if it runs.
func (t *translator) stopWaiting() {
	if t.turn.waiting {
		t.turn.waiting = false
		t.stopTimer(handshakeTimer)
	}
}

// stopTimer stops a timer; one that does not run is no matter.
func (t *translator) stopTimer(name string) {
	t.out.Timers = append(t.out.Timers, harness.Timer{Name: name})
}

// configure takes a changed config into the live process where it can: a model
// by name (its absence would reset to the CLI's default, not to what a launch
// without one gives) and a permission mode other than bypass, which must be
// launched with. What is the machine's own matter changes nothing here.
func (t *translator) configure(in harness.Configure) {
	model := modelOf(in.New)
	changesModel := model != modelOf(in.Old)
	changesMode := modes[in.New.PermissionMode] != modes[in.Old.PermissionMode]
	intoBypass := changesMode && modes[in.New.PermissionMode] == bypass && modes[t.launch.Config.PermissionMode] != bypass
	if !t.greeted || changesModel && model == "" || intoBypass || !sameLaunch(in.Old, in.New) {
		t.out.Process = harness.Restart
		return
	}
	t.cfg = in.New
	if changesModel {
		t.await(awaitModel, setModel{"set_model", model})
	}
	if changesMode {
		t.await(awaitMode, setMode{"set_permission_mode", modes[in.New.PermissionMode]})
	}
}

// sameLaunch says whether two configs differ only in what a live process can
// take.
func sameLaunch(a, b protocol.RunConfig) bool {
	for _, c := range []*protocol.RunConfig{&a, &b} {
		c.Harness, c.Model, c.PermissionMode, c.IncludeRaw = "", nil, "", nil
		c.ResumeSessionID, c.ResumeSessionAt = nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// onControlResponse takes the CLI's answer to a control request of ours.
func (t *translator) onControlResponse(line []byte) {
	r := object[reply](object[answered](line).Response)
	id, failed := string(r.ID), r.Subtype != "success"
	if what, ok := t.asides[id]; ok {
		delete(t.asides, id)
		if failed {
			t.note(what+" was refused", word(string(r.Error)))
		}
		return
	}
	kind, awaited := t.awaited[id]
	if !awaited {
		t.note("answer to no request", "")
		return
	}
	delete(t.awaited, id)
	if failed {
		t.onRefusal(kind, string(r.Error))
	} else {
		t.onConsent(kind, r.Response)
	}
	t.advance()
}

// onRefusal takes an error answer. Without its model or its permission mode a
// turn must not run; without the rest it may.
func (t *translator) onRefusal(kind awaitedKind, why string) {
	switch kind {
	case awaitInitialize:
		t.refused = &protocol.TurnError{Category: protocol.CategoryInternal, Message: "Claude Code refused the handshake: " + why}
	case awaitModel, awaitMode:
		t.refused = &protocol.TurnError{Category: protocol.CategoryInvalidRequest, Message: why}
	case awaitThinking:
		t.note("config member ignored", "thinkingLevel")
	case awaitServers:
		t.emitServerFault("")
	}
}

// onConsent takes what a successful answer says.
func (t *translator) onConsent(kind awaitedKind, body jsontext.Value) {
	switch kind {
	case awaitInitialize:
		t.noteGreeting(body)
	case awaitMode:
		t.noteMode(object[struct {
			Mode text `json:"mode"`
		}](body).Mode)
	case awaitServers:
		errors := object[struct {
			Errors map[string]jsontext.Value `json:"errors"`
		}](body).Errors
		for _, name := range slices.Sorted(maps.Keys(errors)) {
			t.emitServerFault(name)
		}
	}
}

// emitServerFault tells of an MCP server that is not there; "": of all. Why is
// not told: the CLI's words may hold its address.
func (t *translator) emitServerFault(name string) {
	message := "the MCP servers could not be set"
	if name != "" {
		message = "MCP server " + name + " could not be reached"
	}
	t.emit(harness.Notice{Category: protocol.CategoryInvalidRequest, Message: message})
}

// expired takes the end of a timer.
func (t *translator) expired(timer string) {
	switch {
	case t.turn == nil:
	case timer == handshakeTimer && !t.turn.written:
		t.reject(protocol.TurnError{
			Category: protocol.CategoryInternal,
			Message:  "Claude Code did not answer the handshake within " + t.opts.HandshakeTimeout.String(),
		})
	case timer == settleTimer && t.turn.settled != "":
		t.settle()
	}
}
