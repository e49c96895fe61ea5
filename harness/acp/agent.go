package acp

import (
	"time"

	"agent-server/harness"
	"agent-server/protocol"
)

// Agent is one ACP agent, as an operator configures it. The zero value of every
// member but ID is usable.
type Agent struct {
	// ID is the harness id as clients write it; required.
	ID protocol.HarnessID
	// Like is the known agent whose defaults and quirks it has; "": its own ID's, where
	// that is known.
	Like protocol.HarnessID
	// Executable is the command looked up on PATH where the operator names no
	// other; "": the operator has to.
	Executable string
	// Args follow the executable; nil: none. What makes it speak ACP.
	Args []string
	// Env is what the agent is told beside, KEY=VALUE; nil: nothing. Never a secret.
	Env []string
	// Capabilities are true of the agent; nil: those of a known ID, else turns
	// and permissions alone.
	Capabilities *protocol.AgentCapabilities
	// APIKeyEnv is the variable that config.apiKey goes into; "": it has none.
	APIKeyEnv string
	// PassEnv names the variables of the gateway's environment that the agent
	// documents; a trailing * is a prefix match. nil: those of a known ID.
	PassEnv []string
	// AuthMethod is the method that authenticate is called with before a session
	// is opened; "": it is not called.
	AuthMethod string
	// KeyAuthMethod is the method that authenticate is called with where the agent
	// wants a login before it opens a session, once; "": it is not.
	KeyAuthMethod string
	// Login is the command by which a person logs in; "": its executable.
	Login string
	// Modes name the agent's modes where no spelling of ours finds them.
	Modes map[protocol.PermissionMode]string
	// HandshakeTimeout bounds the time from a turn's begin to its prompt being
	// written; 0 is 60 s, since some agents take as long to start.
	HandshakeTimeout time.Duration
	// Quirks are where the agent departs from the protocol.
	Quirks Quirks
}

// Quirks are where an agent departs from the protocol. The zero value: nowhere.
type Quirks struct {
	// AlwaysOnDisk: its allow_always holds beyond the session. It is given its
	// allow_once instead, and the gateway keeps the rule for the session.
	AlwaysOnDisk bool
	// NoReopen: it says that it opens old sessions, and does not.
	NoReopen bool
	// ErrorText: a failed turn ends well, without figures, after a text that begins
	// with "Error: ".
	ErrorText bool
	// Grace is how long after its answer to a prompt the last updates of that turn
	// may come; 0: none do.
	Grace time.Duration
	// Chatter is what a message begins with that is none: a remark of its own outside
	// of any turn. "": it makes none.
	Chatter string
	// Untold: which modes and models it has is told to nobody. The embedded agent shows
	// what every client of the base protocol knows, and no more.
	Untold bool
	// LeavesTools: a command that runs when its turn is cancelled runs on, and nobody
	// says how it ended. The process is let go with all it has started; the next turn
	// has a new one, in which the session is gone on with.
	LeavesTools bool
	// LosesNext: a prompt that comes just after a turn that failed may be lost, and
	// nobody answers it. The process is let go here, too.
	LosesNext bool
	// CallInInput: the inputs it asks about name the call as well: members that are
	// others each time, for the same command. They are left out of what is asked, or
	// no rule would ever hold.
	CallInInput bool
}

// New is the harness of one agent.
func New(a Agent) harness.Harness {
	like := a.Like
	if like == "" {
		like = a.ID
	}
	for _, row := range append(Known(), demo) {
		if row.ID == like {
			a = a.withDefaults(row)
		}
	}
	return adapter{a.withDefaults(plain)}
}

// demo is the embedded one.
var demo = Agent{
	ID: protocol.HarnessDemo,
	Capabilities: &protocol.AgentCapabilities{
		MultiTurn: true, SessionResume: true, PermissionRequests: true, ModelSwitch: protocol.ModelSwitchUnsupported,
	},
	PassEnv: []string{"AGENT_SERVER_DEMO_SEED"},
	Quirks:  Quirks{Untold: true},
}

// plain is what holds of every agent of which nothing is known.
var plain = Agent{
	Capabilities: &protocol.AgentCapabilities{
		MultiTurn: true, PermissionRequests: true, ModelSwitch: protocol.ModelSwitchUnsupported,
	},
	HandshakeTimeout: time.Minute,
}

// withDefaults fills what is empty.
func (a Agent) withDefaults(d Agent) Agent {
	if a.Capabilities == nil {
		a.Capabilities = d.Capabilities
	}
	if a.PassEnv == nil {
		a.PassEnv = d.PassEnv
	}
	if a.HandshakeTimeout == 0 {
		a.HandshakeTimeout = d.HandshakeTimeout
	}
	if a.Executable == "" {
		a.Executable = d.Executable
	}
	if a.Args == nil && d.Args != nil {
		a.Args = d.Args
	}
	if a.Env == nil {
		a.Env = d.Env
	}
	if a.APIKeyEnv == "" {
		a.APIKeyEnv = d.APIKeyEnv
	}
	if a.KeyAuthMethod == "" {
		a.KeyAuthMethod = d.KeyAuthMethod
	}
	if a.Login == "" {
		a.Login = d.Login
	}
	if a.Modes == nil {
		a.Modes = d.Modes
	}
	if a.Quirks == (Quirks{}) {
		a.Quirks = d.Quirks
	}
	return a
}

// adapter is the Harness: immutable.
type adapter struct{ agent Agent }

// Info is what is known of the agent without running it.
func (a adapter) Info() harness.Info {
	return harness.Info{
		ID:           a.agent.ID,
		Capabilities: *a.agent.Capabilities,
		Executable:   a.agent.Executable,
		APIKeyEnv:    a.agent.APIKeyEnv,
		PassEnv:      append([]string(nil), a.agent.PassEnv...),
		Install:      a.agent.install(),
	}
}

// Check refuses what version 1 of the protocol has no word for and a client
// relies on; the rest of what it has no word for is ignored. Modes are the
// agent's own, so that they are looked at only once it has named them.
func (a adapter) Check(cfg protocol.RunConfig) ([]protocol.Fault, []harness.Diagnostic) {
	var faults []protocol.Fault
	refuse := func(member string, given bool) {
		if given {
			faults = append(faults, protocol.Fault{
				Path: "config." + member, Message: "harness " + string(a.agent.ID) + " cannot honour it",
			})
		}
	}
	refuse("additionalDirectories", len(cfg.AdditionalDirectories) > 0)
	refuse("maxTurns", cfg.MaxTurns != nil)
	refuse("disableTools", cfg.DisableTools != nil && *cfg.DisableTools)

	var notes []harness.Diagnostic
	ignore := func(member string, given bool) {
		if given {
			notes = append(notes, harness.Diagnostic{Message: ignoredMember, Detail: member})
		}
	}
	ignore("systemPromptAppend", cfg.SystemPromptAppend != nil)
	ignore("resumeSessionAt", cfg.ResumeSessionID != nil && cfg.ResumeSessionAt != nil)
	return faults, notes
}

// ignoredMember is the diagnostic of a config member that changes nothing.
const ignoredMember = "config member ignored"

// Launch gives the arguments of one process.
func (a adapter) Launch(harness.Launch) (harness.Command, error) {
	return harness.Command{Args: append([]string(nil), a.agent.Args...), Env: append([]string(nil), a.agent.Env...)}, nil
}

// New gives the translator of one process. It mints no ids: the agent does.
func (a adapter) New(l harness.Launch, _ func() string) harness.Translator {
	return &translator{agent: a.agent, launch: l, tools: map[string]*tool{}}
}
