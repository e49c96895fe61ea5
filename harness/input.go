package harness

import "agent-server/protocol"

// Input is what the session machine tells a translator: a sealed union of the
// structs of this file.
type Input interface{ input() }

// Begin starts a turn. The first Begin of a process also starts the native
// handshake, if there is one; a prompt that has to wait for it waits inside the
// translator.
type Begin struct {
	// Turn is our turn id; for harnesses that carry a prompt's id it is not
	// the native one (mint that).
	Turn string
	// Input is the prompt.
	Input protocol.Input
	// Config is the turn's config; Configure came before if it differs from the
	// process's.
	Config protocol.RunConfig
}

// Configure asks for a changed config between turns. The answer's Process is
// Keep where the live process can take it (Stdin then holds what it takes),
// Restart where only a new process can.
type Configure struct {
	// Old is the config in force.
	Old protocol.RunConfig
	// New is the config asked for.
	New protocol.RunConfig
}

// Cancel asks for the end of the running turn. It comes only after Registered
// and at most once a turn; a harness turn counts as registered from its start on,
// and comes a second time only where the main loop woke after the first (without a
// main loop it means what runs in the background). The broker has been drained
// before, so a translator writes here what its harness wants for requests still
// open. (A turn that is cancelled before PromptWritten ends at once, and its
// process with it: the prompt that the translator holds must never be written.)
type Cancel struct{}

// Steer puts a further prompt into the running turn, between its steps. It comes
// only after Registered, never after Cancel, and only where Info.Steer says that
// the harness can. The answer's Stdin holds it; the turn's end covers both.
type Steer struct {
	// Turn is the further prompt's turn id.
	Turn string
	// Input is the further prompt.
	Input protocol.Input
}

// Resolve answers a request that the translator Asked for. It comes at most
// once a request, never after Withdrawn, nor after a Cancel for a request asked
// before it. One asked when nobody can be asked any more (a cancel was accepted,
// no turn is open), or left open by a turn that the harness itself ended, is
// resolved at once as CancelRequest, so that no harness waits for ever.
type Resolve struct {
	// Request is the key given in Asked.
	Request string
	// Verdict is the answer.
	Verdict Verdict
}

// Decision is what was decided on a request.
type Decision int

// Deny is the zero value: nothing is allowed by mistake.
const (
	// Deny refuses this one call; the turn goes on.
	Deny Decision = iota
	// Allow allows this one call.
	Allow
	// AllowAlways allows this call and those like it, in the harness's own
	// narrowest form for this session. Only where Asked.Always said so.
	AllowAlways
	// CancelRequest answers with the harness's own "cancelled" where it has one,
	// else as Deny.
	CancelRequest
)

// Verdict is the answer to a permission request.
type Verdict struct {
	// Decision is what was decided.
	Decision Decision
	// OptionID is the option chosen, where the harness brought its own options;
	// "" where it did not.
	OptionID string
	// UpdatedInput replaces the tool's input; nil: it stays. Only where
	// Asked.InputSlot said so.
	UpdatedInput protocol.Object
	// Message tells the model why it was refused; "" where there is no reason.
	Message string
}

// Expired is the expiry of a Timer.
type Expired struct {
	// Timer is its name.
	Timer string
}

// Dropped reports a stdout line over the budget that was not delivered.
type Dropped struct {
	// Bytes is the line's length.
	Bytes int64
}

// Exited reports that the process has ended; nothing comes after it. The machine
// ends the turn itself with process_exit unless the answer holds a Finished,
// Rejected or ResumeFailed.
type Exited struct {
	// Status is how it ended.
	Status ExitStatus
}

// ExitStatus is how a process ended.
type ExitStatus struct {
	// Code is the exit code; -1 when a signal ended it.
	Code int
	// Signal is the signal's name, "killed" for instance; "" when it exited.
	Signal string
	// Stderr is the tail of what it wrote to stderr, at most 64 KiB.
	Stderr string
	// Asked is true where we had asked it to stop.
	Asked bool
	// Fault is what failed beside the exit itself, input that it never took for
	// instance; "" where nothing did.
	Fault string
}

func (Begin) input()     {}
func (Configure) input() {}
func (Cancel) input()    {}
func (Steer) input()     {}
func (Resolve) input()   {}
func (Expired) input()   {}
func (Dropped) input()   {}
func (Exited) input()    {}
