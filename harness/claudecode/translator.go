package claudecode

import (
	"strconv"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/go-json-experiment/json"
)

// translator is one process's state. It lives from launch to exit and runs one
// turn after another.
type translator struct {
	opts   Options
	launch harness.Launch
	newID  func() string
	// out is what the call in progress answers.
	out harness.Output

	// greeted is true once initialize was written; awaited are the control
	// requests that must be answered before a prompt may be written.
	greeted bool
	awaited map[string]awaitedKind
	// refused is why no prompt may be written any more; nil: nothing.
	refused *protocol.TurnError
	// asides are requests of ours whose answer changes nothing, by id: what each
	// asked for.
	asides map[string]string

	// turn is the one running; nil between turns.
	turn *turn
	// prompted is true once a prompt was written, tracked once the CLI has told of
	// a prompt's life cycle: older ones do not.
	prompted, tracked bool
	// cfg is the config in force.
	cfg protocol.RunConfig
	// mode is the CLI's permission mode as it last said; "" before it did.
	mode string
	// model is what it last said it runs on; "" before it did.
	model string
	// createdBefore is true once a turn has said Created; cleared, once the
	// conversation was started afresh by /clear.
	createdBefore, cleared bool

	// stream is the top-level message being said; nil between them.
	stream *said
	// open is the message that the machine has open, as far as known.
	open openMessage
	// blocks counts those of messages that were not streamed, by message id.
	blocks map[string]int
	// calls are the tool calls without a result.
	calls map[string]*call
	// agents maps a sub-agent's id to the tool call that runs it.
	agents map[string]string
	// asks are the permission requests without an answer.
	asks map[string]ask

	// gauge is what the last request of the main agent filled the window with.
	gauge gauge
	// spent is total_cost_usd of the last result; nil while the history before
	// this process is not known.
	spent *float64
	// background are the tasks that run beside the turn; tasks are all that were
	// started and have not ended, by id.
	background []harness.Task
	tasks      map[string]task
	// trigger is what the task that ended last was about; "" once it was told.
	trigger string
}

// turn is one prompt on its way through the CLI, or what the CLI does of its own
// accord.
type turn struct {
	// uuid is the prompt's native id; "" where there was none.
	uuid string
	// woken is true where no prompt of ours began it.
	woken bool
	// started is true once the CLI has said that it works on the prompt.
	started bool
	// visited is true while the CLI works on something else than the prompt, which
	// waits behind it.
	visited bool
	// further are prompts that were written into it, not answered yet.
	further []further
	// held is its end but for those; nil: no result came yet.
	held *harness.Finished
	// tokens and cost are what its results before the last have told; nil: none.
	tokens *protocol.TokenUsage
	cost   *protocol.Number
	// line is the prompt, held until the handshake is over; nil once written.
	line []byte
	// written, registered and created say how far it has come.
	written, registered, created bool
	// waiting is true while the timer of the handshake runs.
	waiting bool
	// cancelled is true once an interrupt was written.
	cancelled bool
	// cut is true once a compaction ended without success upon that.
	cut bool
	// failure is the API error that the CLI has shown last; nil: none.
	failure *failure
	// compaction is the last one begun; nil: none.
	compaction *compaction
	// settled is the end that the prompt's life cycle named before any result;
	// "": none.
	settled string
}

// openMessage is a message by its native key and its sub-agent.
type openMessage struct{ id, owner string }

// newTranslator is the translator of a process that has said nothing yet. What a
// fresh session has spent is known; what a resumed one had is not.
func newTranslator(o Options, l harness.Launch, newID func() string) *translator {
	t := &translator{
		opts:    o,
		launch:  l,
		newID:   newID,
		cfg:     l.Config,
		awaited: map[string]awaitedKind{},
		asides:  map[string]string{},
		tasks:   map[string]task{},
		blocks:  map[string]int{},
		calls:   map[string]*call{},
		agents:  map[string]string{},
		asks:    map[string]ask{},
	}
	if l.Resume == "" {
		t.spent = new(float64)
	}
	return t
}

// Line takes one line of stdout. Nearly all of them are deltas, so that these are
// tried first, without the decoder.
func (t *translator) Line(line []byte) harness.Output {
	t.out = harness.Output{}
	if g, ok := probe(line); ok {
		t.grow(g)
		return t.out
	}
	t.plainLine(line)
	return t.out
}

// plainLine is Line without the probe.
func (t *translator) plainLine(line []byte) {
	var h head
	if err := json.Unmarshal(line, &h, lenient); err != nil {
		t.note("line is no JSON object", strconv.Itoa(len(line))+" bytes")
		return
	}
	if h.Type == "" {
		t.note("line has no type", strconv.Itoa(len(line))+" bytes")
		return
	}
	t.dispatch("unknown line type", lineHandlers, string(h.Type), line)
}

// handlers say what a line of a type is worth; nil: known, and ignored.
type handlers map[string]func(t *translator, line []byte)

// dispatch hands a line to its handler; a type without one is a diagnostic.
func (t *translator) dispatch(unknown string, table handlers, name string, line []byte) {
	handle, known := table[name]
	switch {
	case !known:
		t.note(unknown, word(name))
	case handle != nil:
		handle(t, line)
	}
}

// lineHandlers are by the line's type. What stands behind nil is what the CLI's
// own declarations list and we have no use for: hints, and news of features that
// are not switched on.
var lineHandlers = handlers{
	"stream_event":           (*translator).onStreamEvent,
	"assistant":              (*translator).onAssistant,
	"user":                   (*translator).onUser,
	"system":                 (*translator).onSystem,
	"result":                 (*translator).onResult,
	"command_lifecycle":      (*translator).onLifecycle,
	"control_request":        (*translator).onControlRequest,
	"control_response":       (*translator).onControlResponse,
	"control_cancel_request": (*translator).onControlCancel,
	"conversation_reset":     (*translator).onReset,
	"rate_limit_event":       (*translator).onRateLimit,

	"active_goal": nil, "auth_status": nil, "commands_changed": nil, "control_request_progress": nil,
	"elicitation_complete": nil, "files_persisted": nil, "keep_alive": nil, "memory_recall": nil,
	"mirror_error": nil, "plugin_install": nil, "prompt_suggestion": nil, "session_writes_lost": nil,
	// Its parent is the tool that still runs, which says nothing new.
	"tool_progress":    nil,
	"tool_use_summary": nil, "worker_shutting_down": nil,
}

// systemHandlers are by the system line's subtype.
var systemHandlers = handlers{
	"init":                     (*translator).onInit,
	"status":                   (*translator).onStatus,
	"compact_boundary":         (*translator).onCompactBoundary,
	"api_retry":                (*translator).onRetry,
	"task_started":             (*translator).onTaskStarted,
	"background_tasks_changed": (*translator).onBackground,
	"task_notification":        (*translator).onTaskEnded,
	"session_state_changed":    (*translator).onState,
	"session_title_changed":    (*translator).onTitle,

	// The tool's result says that it was refused.
	"permission_denied": nil,
	// The result says that the model refused.
	"model_refusal_fallback": nil, "model_refusal_no_fallback": nil,
	// The task's call, and the set of those that run, say the same.
	"task_progress": nil, "task_updated": nil,
	"hook_progress": nil, "hook_response": nil, "hook_started": nil, "informational": nil,
	"local_command_output": nil, "notification": nil,
	"thinking_tokens": nil,
}

// onSystem hands a system line on by its subtype.
func (t *translator) onSystem(line []byte) {
	t.dispatch("unknown system line", systemHandlers, string(object[head](line).Subtype), line)
}

// Step takes one input. An input that is not known asks nothing.
func (t *translator) Step(in harness.Input) harness.Output {
	t.out = harness.Output{}
	switch in := in.(type) {
	case harness.Begin:
		t.begin(in)
	case harness.Configure:
		t.configure(in)
	case harness.Cancel:
		t.cancel()
	case harness.Steer:
		t.steer(in)
	case harness.Resolve:
		t.resolve(in)
	case harness.Expired:
		t.expired(in.Timer)
	case harness.Dropped:
		t.note("line over the budget was lost", strconv.FormatInt(in.Bytes, 10)+" bytes")
	case harness.Exited:
		t.exited(in.Status)
	}
	return t.out
}

// emit adds updates to the answer.
func (t *translator) emit(updates ...harness.Update) {
	t.out.Updates = append(t.out.Updates, updates...)
}

// write adds one line to the answer's stdin. The value is ours and encodes. A line
// that is no JSON object would end the CLI, so nothing else is ever written.
func (t *translator) write(v any) {
	t.out.Stdin = append(append(t.out.Stdin, protocol.Encode(v)...), '\n')
}

// note adds a diagnostic to the answer.
func (t *translator) note(message, detail string) {
	t.out.Diagnostics = append(t.out.Diagnostics, harness.Diagnostic{Message: message, Detail: detail})
}

// word is a name that another program wrote, fit for a log: short, and of
// letters that names are made of.
func word(name string) string {
	const most = 40
	clean := make([]byte, 0, most)
	for i := 0; i < len(name) && len(clean) < most; i++ {
		c := name[i]
		if c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			c = '?'
		}
		clean = append(clean, c)
	}
	return string(clean)
}
