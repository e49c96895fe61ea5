package demoagent

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// sessionIDPattern is the form of the ids that [agent.beginSession] makes, in
// this process or another.
var sessionIDPattern = regexp.MustCompile(`^demo-[a-z0-9]{1,32}-[1-9][0-9]{0,17}$`)

// session is one conversation. The agent's mutex guards it, but for ids and
// resumed, which belong to the running turn, of which there is one at most.
type session struct {
	id      string
	cwd     string
	mode    string
	resumed bool            // from another process, and not yet said so
	always  map[string]bool // tools that were allowed for the session, by name
	used    int             // tokens of all its turns
	turn    *turn           // nil between turns
	ids     idSource
}

// idSource makes the ids of one session's messages and tool calls. They hold the
// seed, so that a session resumed in a new process does not repeat old ones, and
// count by session, so that sessions beside it do not change them.
type idSource struct {
	scope string // the seed and the session's ordinal
	n     int
}

// next makes an id such as msg-5eed-1-4.
func (s *idSource) next(kind string) string {
	s.n++
	return kind + "-" + s.scope + "-" + strconv.Itoa(s.n)
}

// beginSession adds a session, under a new id if id is empty. The caller holds
// mu.
func (a *agent) beginSession(id, cwd string) *session {
	a.ordinal++
	scope := a.opts.Seed + "-" + strconv.Itoa(a.ordinal)
	if id == "" {
		id = "demo-" + scope
	}
	if _, taken := a.sessions[id]; taken { // resumed earlier, under the same fixed seed
		return a.beginSession("", cwd)
	}
	s := &session{
		id:     id,
		cwd:    cwd,
		mode:   modeDefault,
		always: map[string]bool{},
		ids:    idSource{scope: scope},
	}
	a.sessions[id] = s
	return s
}

// The ids of the modes.
const (
	modeDefault     = "default"
	modePlan        = "plan"
	modeAcceptEdits = "acceptEdits"
	modeDontAsk     = "dontAsk"
	modeBypass      = "bypassPermissions"
)

// mode is one of the ways a session treats tools, as the client lists it.
type mode struct {
	// ID is what session/set_mode takes.
	ID string `json:"id"`
	// Name is for people.
	Name string `json:"name"`
	// Description is a sentence for people.
	Description string `json:"description"`
}

// modes in the order in which they are listed. Their ids are those of the best
// known agents, so that a gateway's mapping of modes can be tried.
var modes = []mode{
	{modeDefault, "Default", "Asks before a command and before an edit"},
	{modePlan, "Plan", "Asks as the default does; the demo has no plans"},
	{modeAcceptEdits, "Accept edits", "Edits unasked, asks before a command"},
	{modeDontAsk, "Don't ask", "Refuses, unasked, what needs permission"},
	{modeBypass, "Bypass permissions", "Does everything unasked"},
}

// modesState is how a session's answer tells the modes.
type modesState struct {
	// CurrentModeID is default for a new session, also for a resumed one.
	CurrentModeID string `json:"currentModeId"`
	// AvailableModes is always the whole list.
	AvailableModes []mode `json:"availableModes"`
}

func (s *session) modes() modesState {
	return modesState{CurrentModeID: s.mode, AvailableModes: modes}
}

// ruling is what the mode and earlier answers say about a tool.
type ruling int

const (
	rulingAsk    ruling = iota // put the question to the client
	rulingAllow                // run it unasked
	rulingRefuse               // fail it unasked
)

// rule says whether a tool needs the user. What the user has always allowed goes
// before the mode: it was said later than the mode was made.
func (a *agent) rule(s *session, call toolCall) ruling {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case s.always[call.Name], s.mode == modeBypass:
		return rulingAllow
	case s.mode == modeAcceptEdits && call.Kind == "edit":
		return rulingAllow
	case s.mode == modeDontAsk:
		return rulingRefuse
	}
	return rulingAsk
}

// allowAlways remembers the answer "always" for as long as the session is open.
func (a *agent) allowAlways(s *session, tool string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.always[tool] = true
}

// sessionParams are those of session/new and session/resume.
type sessionParams struct {
	// SessionID is the session to resume; session/new ignores it.
	SessionID string `json:"sessionId"`
	// CWD has to be absolute and need not exist.
	CWD string `json:"cwd"`
	// MCPServers is required by session/new and never used; raw, because its
	// entries do not matter here.
	MCPServers []jsontext.Value `json:"mcpServers"`
}

// decode checks what both methods ask for.
func (p *sessionParams) decode(msg incoming) *rpcError {
	if fault := decodeParams(msg.params, p); fault != nil {
		return fault
	}
	if !filepath.IsAbs(p.CWD) {
		return rpcErrorf(codeInvalidParams, "cwd must be an absolute path, not %q", p.CWD)
	}
	return nil
}

// sessionResult is the answer to session/new and session/resume.
type sessionResult struct {
	// SessionID is absent in the answer to session/resume, which was told it.
	SessionID string `json:"sessionId,omitzero"`
	// Modes is where the session stands.
	Modes modesState `json:"modes"`
}

// newSession makes a session. Nothing of the MCP servers is started: a demo that
// runs no tools needs none.
func (a *agent) newSession(_ context.Context, msg incoming) (any, error) {
	var params sessionParams
	if fault := params.decode(msg); fault != nil {
		return nil, fault
	}
	if params.MCPServers == nil {
		return nil, rpcErrorf(codeInvalidParams, "mcpServers is missing; it may be empty")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.beginSession("", params.CWD)
	return sessionResult{SessionID: s.id, Modes: s.modes()}, nil
}

// resumeSession takes any id that an agent of this kind could have made. There
// is nothing to find and nothing to replay; a session that lives in this process
// goes on as it is.
func (a *agent) resumeSession(_ context.Context, msg incoming) (any, error) {
	var params sessionParams
	if fault := params.decode(msg); fault != nil {
		return nil, fault
	}
	if !sessionIDPattern.MatchString(params.SessionID) {
		return nil, noSession(params.SessionID)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sessions[params.SessionID]
	if !ok {
		s = a.beginSession(params.SessionID, params.CWD)
		s.resumed = true
	}
	return sessionResult{Modes: s.modes()}, nil
}

// setMode holds from the next tool on, also within a running turn. The client
// set it and is not told of it again by an update.
func (a *agent) setMode(_ context.Context, msg incoming) (any, error) {
	var params struct {
		SessionID string `json:"sessionId"`
		ModeID    string `json:"modeId"`
	}
	if fault := decodeParams(msg.params, &params); fault != nil {
		return nil, fault
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sessions[params.SessionID]
	if !ok {
		return nil, noSession(params.SessionID)
	}
	known := slices.ContainsFunc(modes, func(m mode) bool { return m.ID == params.ModeID })
	if !known {
		return nil, rpcErrorf(codeInvalidParams, "there is no mode %q", params.ModeID)
	}
	s.mode = params.ModeID
	return struct{}{}, nil
}

// closeSession forgets the session. A running turn is ended first and answers
// both requests, its own before this one.
func (a *agent) closeSession(_ context.Context, msg incoming) (any, error) {
	var params sessionRef
	if fault := decodeParams(msg.params, &params); fault != nil {
		return nil, fault
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sessions[params.SessionID]
	if !ok {
		return nil, noSession(params.SessionID)
	}
	delete(a.sessions, s.id)
	if s.turn == nil {
		return struct{}{}, nil
	}
	s.turn.closer = msg.id
	s.turn.withdraw()
	return nil, errLater
}
