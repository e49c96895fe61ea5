package codexappserver

import (
	"reflect"
	"strings"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// A prompt waits inside the translator until Codex has shaken hands and opened a
// thread, so that a cancel in that window finds nothing written.

// stage is how far the handshake of a process has come.
type stage int

const (
	// fresh: nothing was written.
	fresh stage = iota
	// opening: initialize or the thread waits for its answer.
	opening
	// ready: prompts can be written.
	ready
)

// initializeParams are those of initialize.
type initializeParams struct {
	// ClientInfo begins the user agent that the provider sees.
	ClientInfo clientInfo `json:"clientInfo"`
	// Capabilities say what we take.
	Capabilities capabilities `json:"capabilities"`
}

// clientInfo names us.
type clientInfo struct {
	// Name is agent-server; Title, the same for people.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Version is that of this adapter's behaviour.
	Version string `json:"version"`
}

// capabilities are what the connection may use.
type capabilities struct {
	// ExperimentalAPI opens thread/backgroundTerminals, without which a command
	// outlives its interrupt.
	ExperimentalAPI bool `json:"experimentalApi"`
	// RequestAttestation is false: we have none to give.
	RequestAttestation bool `json:"requestAttestation"`
	// OptOut names notifications that are of no use here.
	OptOut []string `json:"optOutNotificationMethods"`
}

// optOut are notifications that come with every call of the model, or in numbers,
// and that are never read.
var optOut = []string{
	"account/rateLimits/updated", "remoteControl/status/changed", "turn/diff/updated", "thread/goal/cleared",
}

// begin takes a turn, and starts the handshake with the first.
func (t *translator) begin(in harness.Begin) {
	if t.refused != nil {
		t.turn = &turn{in: in}
		t.reject(*t.refused)
		return
	}
	if t.turn != nil && t.turn.own {
		// Codex works of its own accord: the prompt joins that turn, or begins one
		// if it has just ended. The answer says which.
		t.last = t.turn.id
	}
	t.turn = &turn{in: in}
	t.setTimer(handshakeTimer, t.opts.HandshakeTimeout)
	switch t.stage {
	case fresh:
		t.greet()
	case ready:
		t.prompt()
	}
}

// greet writes initialize.
func (t *translator) greet() {
	t.stage = opening
	t.call("initialize", initializeParams{
		ClientInfo:   clientInfo{Name: "agent-server", Title: "agent-server", Version: "1"},
		Capabilities: capabilities{ExperimentalAPI: true, OptOut: optOut},
	}, (*translator).greeted)
}

// greeted takes the answer to initialize. Codex reads no key from its environment
// unless a provider of the settings names the variable: one of the config logs in.
func (t *translator) greeted(m rpcline.Message) {
	if m.Error != nil {
		t.giveUp(failed(m.Error, "Codex refused the handshake"))
		return
	}
	t.out.Stdin = t.framing.AppendNotification(t.out.Stdin, "initialized", nil)
	key := t.launch.Config.APIKey
	if key == nil {
		t.openThread()
		return
	}
	t.call("account/login/start", struct {
		Type string `json:"type"`
		Key  string `json:"apiKey"`
	}{"apiKey", *key}, func(t *translator, m rpcline.Message) {
		if m.Error != nil {
			// Its words may hold the key.
			t.giveUp(protocol.TurnError{Category: protocol.CategoryAuth, Message: "Codex refused the key"})
			return
		}
		t.openThread()
	})
}

// openThread makes the thread, or goes on with an old one.
func (t *translator) openThread() {
	params := t.threadParams()
	if params.ThreadID != "" {
		t.call("thread/resume", params, (*translator).resumed)
		return
	}
	t.call("thread/start", params, (*translator).started)
}

// threadAnswer is what thread/start and thread/resume answer, as far as it
// matters here.
type threadAnswer struct {
	// Thread is the native session.
	Thread struct {
		ID rpcline.Text `json:"id"`
	} `json:"thread"`
	// Model and Effort are what the thread runs with.
	Model  rpcline.Text `json:"model"`
	Effort rpcline.Text `json:"reasoningEffort"`
	// Approval and Sandbox are the policies in force.
	Approval rpcline.Text `json:"approvalPolicy"`
	Sandbox  struct {
		Type rpcline.Text `json:"type"`
	} `json:"sandbox"`
}

// started takes the answer to thread/start.
func (t *translator) started(m rpcline.Message) {
	if m.Error != nil {
		t.giveUp(failed(m.Error, "Codex opened no thread"))
		return
	}
	t.open(m.Result, false)
}

// resumed takes the answer to thread/resume. One process writes a thread: that
// another one holds it is no reason to begin afresh.
func (t *translator) resumed(m rpcline.Message) {
	if m.Error == nil {
		t.open(m.Result, true)
		return
	}
	why := failed(m.Error, "").Message
	t.turn = nil
	t.refused = &protocol.TurnError{Category: protocol.CategoryInternal, Message: why}
	t.stopTimer(handshakeTimer)
	t.emit(harness.ResumeFailed{InUse: strings.Contains(why, "active writer"), Message: why})
}

// open begins the thread's life.
func (t *translator) open(result jsontext.Value, resumed bool) {
	a := rpcline.Read[threadAnswer](result)
	if a.Thread.ID == "" {
		t.giveUp(protocol.TurnError{Category: protocol.CategoryInternal, Message: "Codex named no thread"})
		return
	}
	t.stage, t.thread = ready, string(a.Thread.ID)
	t.defaults = defaults{model: string(a.Model), effort: string(a.Effort)}
	p := policyOf(t.launch.Config)
	if string(a.Approval) != p.approval || string(a.Sandbox.Type) != p.policy(t.launch.Config).Type {
		// Each turn says them again; a managed machine may hold them down.
		t.note("thread has other policies than asked for", rpcline.Word(string(a.Sandbox.Type)))
	}
	if !resumed {
		t.spent[t.thread] = &totals{known: true}
	}
	t.emit(harness.Created{NativeID: t.thread, Resumed: resumed})
	t.prompt()
}

// giveUp ends the turn, and with it the process: nothing can be asked of it.
func (t *translator) giveUp(why protocol.TurnError) {
	t.refused = &why
	t.reject(why)
}

// reject ends a turn that Codex never ran. The process is let go where it can take
// no other either.
func (t *translator) reject(why protocol.TurnError) {
	if t.turn != nil {
		t.turn = nil
		t.stopTimer(handshakeTimer)
		t.emit(harness.Rejected{Error: why})
	}
	if t.refused != nil {
		t.out.Process = harness.Stop
	}
}

// configure says what a live process can take: each turn brings its model, effort
// and policies. What the thread was made with, only a new process can have.
func (t *translator) configure(in harness.Configure) {
	fixed := func(c protocol.RunConfig) protocol.RunConfig {
		return protocol.RunConfig{
			Cwd: c.Cwd, MCPServers: c.MCPServers, Env: c.Env, APIKey: c.APIKey, SystemPromptAppend: c.SystemPromptAppend,
		}
	}
	if t.refused != nil || !reflect.DeepEqual(fixed(in.Old), fixed(in.New)) {
		t.out.Process = harness.Restart
	}
}
