package harness

import "agent-server/protocol"

// Update is one thing that happened in a native stream: a sealed union of the
// structs of this file. Keys are the harness's own, unique in the native
// session; the session machine maps them to ids and addresses.
type Update interface{ update() }

// Created: the native session is known. At most once a turn counts.
type Created struct {
	// NativeID is the harness's id of the conversation.
	NativeID string
	// Resumed is true where Launch.Resume was gone on with.
	Resumed bool
}

// Registered: the harness has taken the turn; an interrupt now lands. A latched
// cancel is delivered on it.
type Registered struct{}

// PromptWritten: this Output's Stdin holds the prompt. Before it a cancel ends
// the turn at once and a Restart may begin it again.
type PromptWritten struct{}

// MessageOpened: a message starts at top level, ending the open one.
type MessageOpened struct {
	// Message is its native key; "" where the harness has none.
	Message string
	// Model is what the harness itself names; "" when it names none.
	Model string
}

// PartOpened: a text or reasoning part starts to stream. (PartSet alone shows a
// part that was never streamed.)
type PartOpened struct {
	// Part is its native key.
	Part string
	// Kind is protocol.PartText or protocol.PartReasoning.
	Kind protocol.PartType
	// Owner is the tool call id whose sub-agent speaks; "" at top level.
	Owner string
}

// TextAppended: a text or reasoning part grows. For a part never shown it is
// dropped.
type TextAppended struct {
	// Part is its native key.
	Part string
	// Text is what was added. A trailing half of a surrogate pair was held back.
	Text string
}

// PartSet: a part's full state; an upsert.
type PartSet struct {
	// Part is its native key.
	Part string
	// Owner is the tool call id whose sub-agent made it; "" at top level.
	Owner string
	// Role is the speaker of the message it stands in; "" is assistant. A part
	// of the other role than the open message's opens a message of its own.
	Role protocol.Role
	// Value is the part; of its head only Meta counts. A text or reasoning part
	// with State done is final. For one that streamed, a Value that holds "" and
	// State done closes it with the text streamed so far.
	Value protocol.Part
}

// ToolSet: a tool call's state; an upsert by Call. Members left at zero keep
// what was known.
type ToolSet struct {
	// Call is the tool call id, shown as toolCallId.
	Call string
	// Owner is the tool call id whose sub-agent made it; "" at top level.
	Owner string
	// Name is the harness's own name of the tool.
	Name string
	// Kind is what it does.
	Kind protocol.ToolKind
	// Title is for people.
	Title string
	// Locations are the files concerned.
	Locations []protocol.Location
	// Subagent is set where the call runs a sub-agent.
	Subagent *protocol.Subagent
	// State is how far it has come; nil keeps it. Its times are set by the
	// machine where zero; its Input, where nil, is the one known before. States
	// only move forward; one that would move back changes the rest only.
	State protocol.ToolState
	// Meta is the part's extension object; nil keeps it.
	Meta protocol.Object
	// Assumed: a terminal State is what the adapter makes of the turn's end, not the
	// harness's word. The call's own end, should one come, still replaces it.
	Assumed bool
}

// InputAppended: the JSON text of a pending tool's input grows.
type InputAppended struct {
	// Call is the tool call id.
	Call string
	// Text is what was added.
	Text string
}

// MessageClosed: the open message ends; parts still streaming are closed first.
type MessageClosed struct{}

// Abandoned: what a message showed so far is superseded (a retry, a fallback).
// Its parts are closed as streamed and marked, and it ends.
type Abandoned struct {
	// Parts are the native keys of the parts concerned; tools by call id.
	Parts []string
}

// Asked: the harness wants consent. The tool's part precedes it: where none was
// shown yet, the machine shows one, pending.
type Asked struct {
	// Request is its native key.
	Request string
	// Call is the tool call id; "" where none is named.
	Call string
	// Owner is the tool call id of the sub-agent that asks; "" at top level.
	Owner string
	// Name is the harness's own name of the tool; "" with a known Call keeps it.
	Name string
	// Kind is what the tool does.
	Kind protocol.ToolKind
	// Title is for people; "" gives "Allow tool: <name>".
	Title string
	// Locations are the files concerned.
	Locations []protocol.Location
	// Files are those that the request shows otherwise, as a diff does: a policy
	// looks at them too.
	Files []string
	// RawInput is the tool's input; nil where it is unknown.
	RawInput protocol.Object
	// Options are the harness's own, passed through; nil: the four of ours.
	Options []protocol.PermissionOption
	// Always is true where the harness has a narrow AllowAlways of its own for
	// this request; else the broker keeps a standing rule.
	Always bool
	// InputSlot is true where an allow can carry an updated input.
	InputSlot bool
}

// Withdrawn: the harness no longer wants an answer.
type Withdrawn struct {
	// Request is the key given in Asked.
	Request string
}

// Usage: the context-window gauge.
type Usage struct {
	// Used counts tokens in the window.
	Used protocol.Number
	// Size is the window's size; nil when unknown.
	Size *protocol.Number
	// Cost is in US dollars; nil when unknown.
	Cost *protocol.Number
}

// Compaction: one compaction's state; an upsert by Key.
type Compaction struct {
	// Key is its native key.
	Key string
	// Status is in_progress, completed, failed or cancelled.
	Status string
	// Trigger is auto or manual; "" when unknown.
	Trigger string
	// PreTokens counts the context before; nil when unknown.
	PreTokens *protocol.Number
	// PostTokens counts the context after; nil when unknown.
	PostTokens *protocol.Number
	// Summary is what the context was replaced by; "" when unknown.
	Summary string
}

// Notice: a fault from which the harness itself goes on.
type Notice struct {
	// Category is what kind of fault it was.
	Category protocol.ErrorCategory
	// Message is for people; no secret.
	Message string
}

// Background: the whole set of tasks that run on beside the turn.
type Background struct {
	// Tasks are all that run; empty: none is left.
	Tasks []Task
}

// Task is one piece of work that runs on beside the turns.
type Task struct {
	// ID is its native id.
	ID string
	// Call is the tool call that started it; "" when unknown. It is the Owner of
	// what its sub-agent shows.
	Call string
	// Description is for people; "" when the harness has none.
	Description string
}

// Woken: the harness's main loop has begun to work of its own accord, its Finished
// is still to come. Where no turn is open the machine opens a harness turn, else
// it belongs to the one that is.
type Woken struct {
	// Trigger is what woke it, for people; "" when unknown.
	Trigger string
	// Yields: it speaks, and nothing says that its main loop works. The turn still
	// ends by Finished, unless somebody wants one of their own: that takes its place
	// at once, and what else is said stands there.
	Yields bool
}

// SessionInfo: what the harness reports of the session itself. nil members keep
// what was known; what was reported before may be repeated.
type SessionInfo struct {
	// Title is what it calls the session.
	Title *string
	// Mode is its own current mode.
	Mode *string
	// Modes are those it has, as it describes them.
	Modes []protocol.Object
	// Commands are those it has, as it describes them.
	Commands []protocol.Object
	// Model is what it runs on.
	Model *string
}

// Finished: the turn is over, by the harness's own word.
type Finished struct {
	// Reason is why; cancelled only where the harness says so structurally.
	Reason protocol.StopReason
	// Raw is the harness's own word; "" when it has none.
	Raw string
	// Tokens is what this turn cost; nil when unknown.
	Tokens *protocol.TokenUsage
	// Cost is in US dollars, this turn's alone; nil when unknown.
	Cost *protocol.Number
	// Error is set exactly where Reason is error.
	Error *protocol.TurnError
}

// Rejected: the harness refused the turn before it ran (handshake failed, not
// logged in, bad flag). It ends as error.
type Rejected struct {
	// Error is why.
	Error protocol.TurnError
}

// ResumeFailed: Launch.Resume cannot be gone on with. The machine starts a fresh
// native session for the same turn and says resumed:false, unless InUse.
type ResumeFailed struct {
	// InUse is true where another process owns the native id: that is an error,
	// never a fresh session.
	InUse bool
	// Message says why.
	Message string
}

func (Created) update()       {}
func (Registered) update()    {}
func (PromptWritten) update() {}
func (MessageOpened) update() {}
func (PartOpened) update()    {}
func (TextAppended) update()  {}
func (PartSet) update()       {}
func (ToolSet) update()       {}
func (InputAppended) update() {}
func (MessageClosed) update() {}
func (Abandoned) update()     {}
func (Asked) update()         {}
func (Withdrawn) update()     {}
func (Usage) update()         {}
func (Compaction) update()    {}
func (Notice) update()        {}
func (Background) update()    {}
func (Woken) update()         {}
func (SessionInfo) update()   {}
func (Finished) update()      {}
func (Rejected) update()      {}
func (ResumeFailed) update()  {}
