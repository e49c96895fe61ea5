// Package harness is what an adapter gives: a Harness that says how its CLI is
// launched, and a Translator that turns the CLI's native stream into Updates and
// our Inputs into native lines.
//
// It decides the vocabulary between an adapter and the session machine: native
// keys in, never an id, an address, a seq or a time of ours. It refuses to know
// processes, files, clocks and sessions: a Translator is a pure state machine,
// one for each process, driven by Line and Step and answering with an Output.
//
// A Translator is not safe for concurrent use: the session machine calls it, one
// call at a time. A Harness is immutable and safe for concurrent use.
package harness

import (
	"time"

	"agent-server/protocol"
)

// Harness is one kind of coding-agent CLI.
type Harness interface {
	// Info is what is known of it without running it.
	Info() Info
	// Check says what of a config it cannot honour: faults for members on which
	// safety or cost depends (they refuse the turn, paths as in "config.maxTurns"),
	// diagnostics for the rest (they are ignored).
	Check(cfg protocol.RunConfig) ([]protocol.Fault, []Diagnostic)
	// Launch gives the arguments and the extra environment of one process. An
	// error fails the turn as invalid_request.
	Launch(l Launch) (Command, error)
	// New gives the translator of one process that Launch was asked for. newID
	// mints UUIDs; it may be called during Line and Step only.
	New(l Launch, newID func() string) Translator
}

// Info is what is known of a harness without running it.
type Info struct {
	// ID is the harness id as clients write it.
	ID protocol.HarnessID
	// Capabilities are true of the harness as this adapter drives it.
	Capabilities protocol.AgentCapabilities
	// Executable is the command looked up on PATH where the operator names no
	// other; never wire config.
	Executable string
	// APIKeyEnv is the variable that config.apiKey goes into; "": it has none,
	// and config.apiKey is ignored with a diagnostic.
	APIKeyEnv string
	// Steer: a running turn takes a further prompt (Input Steer).
	Steer bool
	// PassEnv names the variables of the gateway's own environment that the
	// harness documents (keys, endpoints, config directories); a trailing * is a
	// prefix match.
	PassEnv []string
	// Install is how the installed CLI tells of itself.
	Install Install
}

// Launch says what a process is started for.
type Launch struct {
	// Config is the config of the turn that needs the process.
	Config protocol.RunConfig
	// NativeID is a fresh UUID for the native session, for harnesses that let
	// us choose it. Unused when Resume is set.
	NativeID string
	// Resume is the native id to go on with; "": a fresh native session.
	Resume string
	// ResumeAt is a place in that conversation; "" its end. Only with Resume.
	ResumeAt string
}

// Command is how a process is started; the executable itself is the operator's.
type Command struct {
	// Args follow the executable and the operator's own arguments. Never a secret.
	Args []string
	// Env is added to the allow-listed environment, KEY=VALUE.
	Env []string
	// StdinOnce closes stdin behind the first Output that holds some: for a CLI that
	// reads its prompt to the end of its input. Nothing can be written after it.
	StdinOnce bool
}

// Translator turns one process's native stream into updates. Line must not
// retain its argument.
type Translator interface {
	// Line takes one line of the CLI's stdout, without its terminator.
	Line(line []byte) Output
	// Step takes one Input.
	Step(in Input) Output
}

// Leaver is a Translator that has something to say to a process which we stop.
type Leaver interface {
	// Leave gives whole lines, each with its newline; nil: nothing. They are written
	// before stdin is closed, if the process still reads; no answer is waited for. The
	// process may be in a turn. It is asked once, and is told nothing afterwards but
	// Exited.
	Leave() []byte
}

// Output is what a step of a Translator asks for. The zero value asks nothing.
type Output struct {
	// Updates happened, in this order.
	Updates []Update
	// Stdin is to be written, whole lines each with its newline; nil: nothing.
	Stdin []byte
	// Timers are to be set or stopped.
	Timers []Timer
	// Diagnostics go to the log; they hold no payload and no secret.
	Diagnostics []Diagnostic
	// Process says what is to become of the process.
	Process Process
}

// Process is what is to become of a process after a step.
type Process int

// Keep is the zero value. Restart stops it and starts another for the same
// turn, if one is open whose prompt was not written (the machine begins it
// again there). Stop ends it by the ladder.
const (
	Keep Process = iota
	Restart
	Stop
)

// Timer is a deadline of a translator's own. Its expiry is an Expired input.
type Timer struct {
	// Name tells it from the translator's other timers.
	Name string
	// After is from now; 0 stops it.
	After time.Duration
}

// Diagnostic is a remark for the log: what, and a short detail. No payload.
type Diagnostic struct {
	// Message is a constant phrase.
	Message string
	// Detail is the varying part, at most a few words; never content or secrets.
	Detail string
}
