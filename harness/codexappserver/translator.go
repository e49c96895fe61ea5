package codexappserver

import (
	"bytes"
	"strconv"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// translator is one process's state. It lives from launch to exit and runs one
// turn after another.
type translator struct {
	opts   Options
	launch harness.Launch
	// out is what the call in progress answers.
	out harness.Output
	// framing and calls are our side of the line protocol.
	framing rpcline.Framing
	calls   rpcline.Calls[answered]

	// stage is how far the handshake has come.
	stage stage
	// refused is why no prompt can be written any more; nil: nothing.
	refused *protocol.TurnError
	// thread is the native id; "" before it is known.
	thread string
	// defaults are what the thread runs with where a turn asks for nothing else.
	defaults defaults

	// turn is the one running; nil between turns. last is the native id of the
	// one before.
	turn *turn
	last string
	// agents are the threads of sub-agents, by id; early are lines of threads that
	// nobody has announced yet.
	agents map[string]*agent
	early  []early
	// items are those that are open, and those closed by us of which Codex may
	// still say something; order is that of their first sight.
	items map[itemKey]*item
	order []itemKey
	// speech is the message being said.
	speech speech
	// asks are the requests without an answer, in order.
	asks []ask
	// waiting is true while Codex says that it waits for an approval.
	waiting bool
	// shown is the number of background tasks last told.
	shown int
	// spent is what each thread has cost and what of it was told; the gauge is the
	// last one told.
	spent map[string]*totals
	gauge *protocol.Number
}

// answered is what is to become of an answer to a request of ours.
type answered func(t *translator, m rpcline.Message)

func newTranslator(o Options, l harness.Launch) *translator {
	return &translator{
		opts: o, launch: l, framing: rpcline.Framing{Bare: true},
		agents: map[string]*agent{}, items: map[itemKey]*item{}, spent: map[string]*totals{},
	}
}

// Line takes one line of stdout.
func (t *translator) Line(line []byte) harness.Output {
	t.out = harness.Output{}
	m, err := rpcline.Parse(line)
	switch {
	case err != nil && len(bytes.TrimSpace(line)) == 0:
	case err != nil:
		t.note("line is no JSON object", strconv.Itoa(len(line))+" bytes")
	case m.Kind == rpcline.Answer:
		t.answer(m)
	case m.Kind == rpcline.Notification:
		t.notified(m)
	case m.Kind == rpcline.Request:
		t.requested(m)
	default:
		t.note("line is no message", strconv.Itoa(len(line))+" bytes")
	}
	return t.out
}

// answer takes an answer to a request of ours; they come in any order.
func (t *translator) answer(m rpcline.Message) {
	if then, ok := t.calls.Take(m.ID); ok {
		then(t, m)
		return
	}
	t.note("answer to no open request", "")
}

// Step takes one input.
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
		t.dropped(in.Bytes)
	case harness.Exited:
		// The machine knows how it ended, and says so better.
	}
	return t.out
}

// dropped notes that a line is missing: if it was an item's end, nobody will say
// how that went. If it was the turn's, Codex says that the thread is idle.
func (t *translator) dropped(size int64) {
	t.note("line over the budget was lost", strconv.FormatInt(size, 10)+" bytes")
	if t.turn != nil {
		t.turn.lossy = true
	}
}

// emit adds updates to the answer.
func (t *translator) emit(updates ...harness.Update) {
	t.out.Updates = append(t.out.Updates, updates...)
}

// note adds a diagnostic to the answer.
func (t *translator) note(message, detail string) {
	t.out.Diagnostics = append(t.out.Diagnostics, harness.Diagnostic{Message: message, Detail: detail})
}

// call writes a request. Codex wants params in each, if only {}.
func (t *translator) call(method string, params any, then answered) {
	t.out.Stdin = t.framing.AppendRequest(t.out.Stdin, t.calls.Add(then), method, params)
}

// result answers a request of Codex's.
func (t *translator) result(id jsontext.Value, result any) {
	t.out.Stdin = t.framing.AppendResult(t.out.Stdin, id, result)
}

// refuse answers a request that we have no answer for.
func (t *translator) refuse(id jsontext.Value) {
	t.out.Stdin = t.framing.AppendError(t.out.Stdin, id, rpcline.Error{
		Code: rpcline.CodeMethodNotFound, Message: "method not found",
	})
}

// threadRef are the params that say the thread and no more.
type threadRef struct {
	ThreadID string `json:"threadId"`
}
