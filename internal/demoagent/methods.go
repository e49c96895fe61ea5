package demoagent

import (
	"context"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errLater is returned by a method whose answer is written by a turn.
var errLater = errors.New("answered later")

// method serves one request. Its error is an *rpcError or errLater.
type method func(a *agent, ctx context.Context, msg incoming) (any, error)

var methods = map[string]method{
	"initialize":       (*agent).initialize,
	"session/new":      (*agent).newSession,
	"session/resume":   (*agent).resumeSession,
	"session/set_mode": (*agent).setMode,
	"session/close":    (*agent).closeSession,
	"session/prompt":   (*agent).prompt,
}

// request serves a request and answers it, if its answer is not a turn's.
func (a *agent) request(ctx context.Context, msg incoming) {
	serve, ok := methods[msg.method]
	if !ok {
		a.respond(msg.id, nil, rpcErrorf(codeNoMethod, "the demo has no method %q", msg.method))
		return
	}
	if msg.method != "initialize" && !a.isInitialized() {
		a.respond(msg.id, nil, rpcErrorf(codeInvalidRequest, "%s before initialize", msg.method))
		return
	}
	result, err := serve(a, ctx, msg)
	if errors.Is(err, errLater) {
		return
	}
	var fault *rpcError
	if err != nil && !errors.As(err, &fault) {
		fault = rpcErrorf(codeInternal, "%v", err)
	}
	a.respond(msg.id, result, fault)
}

// notified takes a notification; those it does not know mean nothing to it.
func (a *agent) notified(msg incoming) {
	switch msg.method {
	case "session/cancel":
		a.cancelTurn(msg.params)
	case "$/cancel_request":
		a.withdrawRequest(msg.params)
	}
}

// settle gives an answer to the turn that asked. A late one, or one to a
// question never asked, means nothing.
func (a *agent) settle(msg incoming) {
	id, err := strconv.ParseInt(string(msg.id), 10, 64)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if answered, ok := a.asks[id]; ok {
		delete(a.asks, id)
		answered <- msg.result // has room for the one answer there is
	}
}

// isInitialized reports whether the client has shaken hands, which the protocol
// wants first and a client that forgets it should notice here.
func (a *agent) isInitialized() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.initialized
}

// showsCompactions says whether the client asked to be told of them: the protocol
// has an agent keep them from any other.
func (a *agent) showsCompactions() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.compactions
}

// initializeResult is what the demo can do. Everything it leaves out is
// unsupported by the rule of the protocol.
type initializeResult struct {
	// ProtocolVersion is 1.
	ProtocolVersion int `json:"protocolVersion"`
	// AgentCapabilities is spelled out also where the answer is no.
	AgentCapabilities agentCapabilities `json:"agentCapabilities"`
	// AuthMethods is empty: the demo needs no login.
	AuthMethods []struct{} `json:"authMethods"`
	// AgentInfo names the demo and its version.
	AgentInfo agentInfo `json:"agentInfo"`
}

// agentCapabilities are what the demo says it can do.
type agentCapabilities struct {
	// LoadSession is false: there is no history to replay.
	LoadSession bool `json:"loadSession"`
	// PromptCapabilities are all false: text and links are the baseline.
	PromptCapabilities promptCapabilities `json:"promptCapabilities"`
	// SessionCapabilities are resume and close.
	SessionCapabilities sessionCapabilities `json:"sessionCapabilities"`
}

// promptCapabilities are the kinds of content that a prompt may hold beyond the
// baseline.
type promptCapabilities struct {
	// Image is false.
	Image bool `json:"image"`
	// Audio is false.
	Audio bool `json:"audio"`
	// EmbeddedContext is false.
	EmbeddedContext bool `json:"embeddedContext"`
}

// sessionCapabilities are the optional methods; an empty object means supported.
type sessionCapabilities struct {
	// Resume is session/resume.
	Resume struct{} `json:"resume"`
	// Close is session/close.
	Close struct{} `json:"close"`
}

// agentInfo is for logs and for people.
type agentInfo struct {
	// Name is demo.
	Name string `json:"name"`
	// Title is the name for people.
	Title string `json:"title"`
	// Version is [Options.Version].
	Version string `json:"version"`
}

// initialize answers version 1 whatever the client speaks, as the protocol
// wants: a client that cannot speak it leaves.
func (a *agent) initialize(_ context.Context, msg incoming) (any, error) {
	var params struct {
		ProtocolVersion    *uint16 `json:"protocolVersion"`
		ClientCapabilities struct {
			Session struct {
				Compaction jsontext.Value `json:"compaction"`
			} `json:"session"`
		} `json:"clientCapabilities"`
	}
	if fault := decodeParams(msg.params, &params); fault != nil {
		return nil, fault
	}
	if params.ProtocolVersion == nil {
		return nil, rpcErrorf(codeInvalidParams, "protocolVersion is missing")
	}
	a.mu.Lock()
	a.initialized = true
	a.compactions = params.ClientCapabilities.Session.Compaction.Kind() == '{'
	a.mu.Unlock()
	return initializeResult{
		ProtocolVersion: 1,
		AuthMethods:     []struct{}{},
		AgentInfo:       agentInfo{Name: "demo", Title: "Demo agent", Version: a.opts.Version},
	}, nil
}

// sessionRef are the params that say a session and no more.
type sessionRef struct {
	// SessionID may be one that there is not.
	SessionID string `json:"sessionId"`
}

// cancelTurn is session/cancel: the turn ends at its next step, but still waits
// for the answer to an open permission. Without a turn it means nothing.
func (a *agent) cancelTurn(params jsontext.Value) {
	var ref sessionRef
	if fault := decodeParams(params, &ref); fault != nil {
		return // a notification has no answer
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s, ok := a.sessions[ref.SessionID]; ok && s.turn != nil {
		s.turn.cancel()
	}
}

// withdrawRequest is $/cancel_request. Prompts are the only requests that stay
// open long enough to be withdrawn.
func (a *agent) withdrawRequest(params jsontext.Value) {
	var ref struct {
		RequestID jsontext.Value `json:"requestId"`
	}
	if err := json.Unmarshal(params, &ref); err != nil {
		return // a notification has no answer
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		if s.turn != nil && string(s.turn.request) == string(ref.RequestID) {
			s.turn.recalled = true
			s.turn.withdraw()
		}
	}
}

// noSession is the answer for a session that is not there, with its id as data,
// as the coming version of the protocol has it.
func noSession(id string) *rpcError {
	fault := rpcErrorf(codeNotFound, "there is no session %q", id)
	fault.Data = sessionRef{SessionID: id}
	return fault
}
