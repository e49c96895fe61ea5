package acp

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// A prompt waits inside the translator until the agent has shaken hands, opened
// a session and taken its settings, so that a cancel in that window finds
// nothing written.

// stage is how far the handshake of a process has come.
type stage int

const (
	// fresh: nothing was written.
	fresh stage = iota
	// greeting: initialize or authenticate waits for its answer.
	greeting
	// opening: a session is being made.
	opening
	// reopening: an old session is being opened; what comes is its history.
	reopening
	// ready: prompts can be written.
	ready
)

// handshakeTimer bounds the time from a turn's begin to its prompt.
const handshakeTimer = "handshake"

// maxEarly bounds the updates kept until a new session's id is known.
const maxEarly = 100

// maxEarlyBytes bounds them as well: a list of commands is long, a transcript has no
// business there.
const maxEarlyBytes = 8 << 20

// initializeParams are those of initialize.
type initializeParams struct {
	// ProtocolVersion is 1; an agent that has it answers it.
	ProtocolVersion int `json:"protocolVersion"`
	// ClientCapabilities are what the agent may use of us.
	ClientCapabilities clientCapabilities `json:"clientCapabilities"`
	// ClientInfo is for the agent's logs.
	ClientInfo clientInfo `json:"clientInfo"`
}

// clientCapabilities offer no files and no terminals: the agent has its own.
// Notices and compactions are asked for, since an agent that may not send them
// mixes them into the model's words.
type clientCapabilities struct {
	// FS is false throughout.
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
	// Terminal is false.
	Terminal bool `json:"terminal"`
	// Session asks for updates that must be asked for; an empty object asks.
	Session struct {
		Compaction struct{} `json:"compaction"`
		Notices    struct{} `json:"notices"`
	} `json:"session"`
}

// clientInfo names us.
type clientInfo struct {
	// Name is agent-server.
	Name string `json:"name"`
	// Version is that of this adapter's behaviour; agents ask for one.
	Version string `json:"version"`
}

// agentCapabilities are what initialize answers, as far as it matters here.
type agentCapabilities struct {
	// LoadSession: an old session can be opened, and is replayed.
	LoadSession flag `json:"loadSession"`
	// Prompt is what a prompt may hold beside text and links.
	Prompt struct {
		// Image: images with their data.
		Image flag `json:"image"`
		// EmbeddedContext: files with their content.
		EmbeddedContext flag `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	// MCP is how servers can be reached beside stdio.
	MCP struct {
		HTTP flag `json:"http"`
		SSE  flag `json:"sse"`
	} `json:"mcpCapabilities"`
	// Session is what can be done with sessions.
	Session struct {
		// Resume: an old session can be opened without a replay.
		Resume present `json:"resume"`
		// Close: a session can be closed before its process ends.
		Close present `json:"close"`
	} `json:"sessionCapabilities"`
}

// begin takes a turn, and starts the handshake with the first.
func (t *translator) begin(in harness.Begin) {
	t.giveWay()
	t.turn = &turn{in: in}
	if t.refused != nil {
		t.reject(*t.refused)
		return
	}
	t.out.Timers = append(t.out.Timers, harness.Timer{Name: handshakeTimer, After: t.agent.HandshakeTimeout})
	switch t.stage {
	case fresh:
		t.greet()
	case ready:
		t.settle()
	}
}

// greet writes initialize.
func (t *translator) greet() {
	t.stage = greeting
	t.call("initialize", initializeParams{
		ProtocolVersion: 1,
		ClientInfo:      clientInfo{Name: "agent-server", Version: "1"},
	}, (*translator).greeted)
}

// greeted takes the answer to initialize.
func (t *translator) greeted(m rpcline.Message) {
	if m.Error != nil {
		t.giveUp(t.failure(m.Error, "the agent refused the handshake"))
		return
	}
	said := read[struct {
		ProtocolVersion   number            `json:"protocolVersion"`
		AgentCapabilities agentCapabilities `json:"agentCapabilities"`
		AuthMethods       jsontext.Value    `json:"authMethods"`
	}](m.Result)
	if said.ProtocolVersion.set && said.ProtocolVersion.value != 1 {
		t.giveUp(protocol.TurnError{
			Category: protocol.CategoryInternal,
			Message:  fmt.Sprintf("the agent speaks version %v of its protocol, not 1", said.ProtocolVersion.value),
		})
		return
	}
	t.can, t.logins = said.AgentCapabilities, list[login](said.AuthMethods)
	if t.agent.AuthMethod == "" {
		t.open()
		return
	}
	t.authenticate(t.agent.AuthMethod)
}

// authenticate has the agent use a login that it has.
func (t *translator) authenticate(method string) {
	t.call("authenticate", struct {
		MethodID string `json:"methodId"`
	}{method}, (*translator).authenticated)
}

// authenticated takes the answer to authenticate.
func (t *translator) authenticated(m rpcline.Message) {
	if m.Error != nil {
		e := t.failure(m.Error, "the agent refused the login")
		e.Category = protocol.CategoryAuth
		t.giveUp(e)
		return
	}
	t.open()
}

// sessionParams are those of session/new, session/load and session/resume.
type sessionParams struct {
	// SessionID is the old session; absent for a new one.
	SessionID string `json:"sessionId,omitzero"`
	// Cwd is the folder that the agent works in.
	Cwd string `json:"cwd"`
	// MCPServers is required, and may be empty.
	MCPServers []mcpServer `json:"mcpServers"`
}

// open makes the session, or goes on with an old one in the best way that the
// agent has.
func (t *translator) open() {
	params := sessionParams{
		SessionID: t.launch.Resume, Cwd: t.launch.Config.Cwd, MCPServers: t.mcpServers(t.launch.Config.MCPServers),
	}
	switch {
	case params.SessionID == "":
		t.stage = opening
		t.call("session/new", params, (*translator).opened)
	case t.agent.Quirks.NoReopen:
		t.resumeFailed("the agent says that it opens old sessions, and fails to")
	case bool(t.can.Session.Resume):
		t.stage, t.session = reopening, params.SessionID
		t.call("session/resume", params, (*translator).resumed)
	case bool(t.can.LoadSession):
		t.load(params)
	default:
		t.resumeFailed("the agent cannot open an old session")
	}
}

// load has the agent open an old session and replay it.
func (t *translator) load(params sessionParams) {
	t.stage, t.session = reopening, params.SessionID
	t.call("session/load", params, (*translator).reopened)
}

// resumed takes the answer to session/resume. An agent that advertises it and
// does not know it may still be able to load.
func (t *translator) resumed(m rpcline.Message) {
	if m.Error != nil && m.Error.Code == rpcline.CodeMethodNotFound && bool(t.can.LoadSession) {
		t.load(sessionParams{
			SessionID: t.launch.Resume, Cwd: t.launch.Config.Cwd, MCPServers: t.mcpServers(t.launch.Config.MCPServers),
		})
		return
	}
	t.reopened(m)
}

// reopened takes the end of an old session's opening.
func (t *translator) reopened(m rpcline.Message) {
	if n := t.replay.history; n > 0 {
		t.note("history of the old session not shown again", fmt.Sprintf("%d updates", n))
	}
	switch {
	case m.Error == nil:
		t.start(m.Result, true)
	case t.triesKey(m.Error): // and opens it again
	case m.Error.Code == codeAuthRequired:
		t.giveUp(t.loginNeeded(m.Error))
	default:
		t.resumeFailed(failed(m.Error, "").Message)
	}
}

// resumeFailed says that the old session cannot be gone on with. The machine
// lets this process go.
func (t *translator) resumeFailed(why string) {
	t.turn = nil
	t.refused = &protocol.TurnError{Category: protocol.CategoryInternal, Message: why}
	t.emit(harness.ResumeFailed{Message: why})
}

// opened takes the answer to session/new.
func (t *translator) opened(m rpcline.Message) {
	if t.triesKey(m.Error) {
		return
	}
	if m.Error != nil {
		t.giveUp(t.failure(m.Error, "the agent opened no session"))
		return
	}
	t.session = string(read[struct {
		SessionID text `json:"sessionId"`
	}](m.Result).SessionID)
	if t.session == "" {
		t.giveUp(protocol.TurnError{Category: protocol.CategoryInternal, Message: "the agent named no session"})
		return
	}
	t.spent = cost{known: true}
	t.start(m.Result, false)
}

// start begins the session's life. What was said of it before the answer is told
// first: of two words on one thing the answer's is the later.
func (t *translator) start(result jsontext.Value, resumed bool) {
	t.stage = ready
	t.chunkHead = chunkHead(t.session)
	t.emit(harness.Created{NativeID: t.session, Resumed: resumed})
	t.recall()
	early := t.early
	t.early, t.earlyBytes = nil, 0
	for _, params := range early {
		t.updated(params)
	}
	t.settings.learn(result)
	t.reportSettings()
	t.settle()
}

// giveUp ends the turn, and with it the process: nothing can be asked of it.
func (t *translator) giveUp(why protocol.TurnError) {
	t.refused = &why
	t.reject(why)
}

// reject ends a turn whose prompt was not written. The process is let go where
// it can take no other either.
func (t *translator) reject(why protocol.TurnError) {
	if t.turn != nil {
		t.turn = nil
		t.emit(harness.Rejected{Error: why})
		t.out.Timers = append(t.out.Timers, harness.Timer{Name: handshakeTimer})
	}
	if t.refused != nil {
		t.out.Process = harness.Stop
	}
}

// expired is a timer's end: the agent did not get ready in time.
func (t *translator) expired(timer string) {
	switch timer {
	case graceTimer:
		t.endGrace()
		return
	case quietTimer:
		t.fallAsleep()
		return
	}
	if timer != handshakeTimer || t.turn == nil || t.turn.written {
		return
	}
	t.giveUp(protocol.TurnError{
		Category: protocol.CategoryInternal,
		Message:  "the agent was not ready for a prompt within " + t.agent.HandshakeTimeout.String(),
	})
}

// configure says what a live process can take. Settings of the session are set
// as the turn begins; what the process or the session was made with, only a new
// one can have.
func (t *translator) configure(in harness.Configure) {
	fixed := func(c protocol.RunConfig) protocol.RunConfig {
		return protocol.RunConfig{Cwd: c.Cwd, MCPServers: c.MCPServers, Env: c.Env, APIKey: c.APIKey}
	}
	if t.refused != nil || !reflect.DeepEqual(fixed(in.Old), fixed(in.New)) {
		t.out.Process = harness.Restart
	}
}

// mcpServer is one server as ACP writes it.
type mcpServer struct {
	// Type is absent for stdio, which every agent has.
	Type string `json:"type,omitzero"`
	// Name is what the config calls it.
	Name string `json:"name"`
	// Command, Args and Env start a stdio server; all three are required there.
	Command string     `json:"command,omitzero"`
	Args    []string   `json:"args,omitzero"`
	Env     []variable `json:"env,omitzero"`
	// URL and Headers reach any other; both are required there.
	URL     string     `json:"url,omitzero"`
	Headers []variable `json:"headers,omitzero"`
}

// variable is a member of what is a map elsewhere. Its value may be a secret.
type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// mcpServers are the servers that the agent can reach, by name; never nil, since
// the list is required.
func (t *translator) mcpServers(servers map[string]protocol.MCPServer) []mcpServer {
	out := make([]mcpServer, 0, len(servers))
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name]
		switch {
		case s.Type == protocol.MCPStdio:
			out = append(out, mcpServer{
				Name: name, Command: s.Command, Args: append([]string{}, s.Args...), Env: variables(s.Env),
			})
		case s.Type == protocol.MCPHTTP && bool(t.can.MCP.HTTP), s.Type == protocol.MCPSSE && bool(t.can.MCP.SSE):
			out = append(out, mcpServer{Type: string(s.Type), Name: name, URL: s.URL, Headers: variables(s.Headers)})
		default:
			t.note(ignoredMember, "mcpServers: the agent cannot reach "+word(string(s.Type)))
		}
	}
	return out
}

// variables are in order of name; never nil.
func variables(m map[string]string) []variable {
	out := make([]variable, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, variable{name, m[name]})
	}
	return out
}
