package acp

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
	agent  Agent
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
	// can is what the agent said it can do.
	can agentCapabilities
	// session is the native id; "" before it is known.
	session string
	// chunkHead is how the line of a text delta of this session begins; nil
	// before the session is open, so that the probe takes nothing.
	chunkHead []byte
	// early are the updates that came before a new session's id, at most
	// maxEarly, and their bytes, at most maxEarlyBytes.
	early      []jsontext.Value
	earlyBytes int
	// logins are the ways to log in that it offers.
	logins []login
	// keyed is true once KeyAuthMethod was tried.
	keyed bool
	// replay is what came while an old session was being opened.
	replay   collector
	settings settings

	// turn is the one running; nil between turns.
	turn *turn
	// speech is what is being said.
	speech speech
	// tools are the calls of the running turn, by id; order is theirs. left are those
	// of turns that are over which may yet end; over are the ids of the others.
	tools map[string]*tool
	order []string
	left  memory[*tool]
	over  memory[struct{}]
	// asks are the permission requests without an answer, in order.
	asks []ask
	// served is true once a prompt was answered; fenced keeps out what may be the tail
	// of a turn that was cancelled.
	served bool
	fenced fence
	// gauged and noticed wait for a turn to be shown in.
	gauged  *harness.Usage
	noticed []harness.Notice
	// compactions are the summaries so far, by id.
	compactions map[string][]byte
	// spent is what the session cost when the turn began, in US dollars; nil
	// while unknown.
	spent cost
}

// turn is one prompt on its way through the agent.
type turn struct {
	in harness.Begin
	// step is the next setting to look at before the prompt is written.
	step int
	// written is true once the prompt was; cancelled, once session/cancel was.
	written, cancelled bool
	// own: the agent has begun it by itself; it has no prompt, and no answer.
	own bool
	// loop: its end is told by the agent, see stateChanged.
	loop bool
	// moved is true once such an agent has said that it works.
	moved bool
	// silent counts the silences in a row that did not end a turn of its own.
	silent int
	// ids are those of the messages said in it, at most maxSaidIDs.
	ids []string
	// answered is how it ends, from the prompt's answer to the end of the grace.
	answered *harness.Finished
	// errorText is the last text chunk, where that was an error as Quirks.ErrorText
	// has it; "" otherwise.
	errorText string
}

// answered is what is to become of an answer to a request of ours.
type answered func(t *translator, m rpcline.Message)

// Line takes one line of stdout.
func (t *translator) Line(line []byte) harness.Output {
	t.out = harness.Output{}
	if d, ok := t.probe(line); ok {
		t.sayProbed(d)
		t.stillAwake()
		return t.out
	}
	t.plainLine(line)
	t.stillAwake()
	return t.out
}

// plainLine is Line without the probe.
func (t *translator) plainLine(line []byte) {
	m, err := rpcline.Parse(line)
	switch {
	case err != nil && len(bytes.TrimSpace(line)) == 0:
	case err != nil:
		t.note("line is no JSON object", strconv.Itoa(len(line))+" bytes")
	case m.Kind == rpcline.Notification:
		t.notified(m)
	case m.Kind == rpcline.Request:
		t.requested(m)
	case m.Kind == rpcline.Answer:
		t.answer(m)
	default:
		t.note("line is no message", strconv.Itoa(len(line))+" bytes")
	}
}

// notified takes a notification.
func (t *translator) notified(m rpcline.Message) {
	switch m.Method {
	case "session/update":
		t.updated(m.Params)
	case "$/cancel_request":
		t.withdraw(m.Params)
	default:
		t.note("unknown notification", word(m.Method))
	}
}

// requested takes a request. What is not known is refused at once: agents ask
// for a client's files and terminals though none was offered, and wait.
func (t *translator) requested(m rpcline.Message) {
	if m.Method == "session/request_permission" {
		t.ask(m)
		return
	}
	t.note("request refused: unknown method", word(m.Method))
	t.out.Stdin = t.framing.AppendError(t.out.Stdin, m.ID, rpcline.Error{
		Code: rpcline.CodeMethodNotFound, Message: "method not found",
	})
}

// answer takes an answer to a request of ours.
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
	case harness.Resolve:
		t.resolve(in)
	case harness.Expired:
		t.expired(in.Timer)
	case harness.Dropped:
		t.note("line over the budget was lost", strconv.FormatInt(in.Bytes, 10)+" bytes")
		// Which one it was nobody knows; if it was the prompt's answer, a cancel
		// and its clocks are what ends the turn.
	case harness.Exited:
		// The machine knows how it ended, and says so better; but a turn that was
		// answered has ended before.
		t.endGrace()
	}
	return t.out
}

// Leave implements harness.Leaver: a session that is open is closed, where the agent
// takes that. It is on its disk, if it is anywhere, and is opened again from there.
func (t *translator) Leave() []byte {
	if !t.can.Session.Close || t.stage != ready {
		return nil
	}
	id := t.calls.Add(func(*translator, rpcline.Message) {})
	return t.framing.AppendRequest(nil, id, "session/close", sessionRef{t.session})
}

// emit adds updates to the answer.
func (t *translator) emit(updates ...harness.Update) {
	t.out.Updates = append(t.out.Updates, updates...)
}

// note adds a diagnostic to the answer.
func (t *translator) note(message, detail string) {
	t.out.Diagnostics = append(t.out.Diagnostics, harness.Diagnostic{Message: message, Detail: detail})
}

// call writes a request.
func (t *translator) call(method string, params any, then answered) {
	t.out.Stdin = t.framing.AppendRequest(t.out.Stdin, t.calls.Add(then), method, params)
}

// tell writes a notification.
func (t *translator) tell(method string, params any) {
	t.out.Stdin = t.framing.AppendNotification(t.out.Stdin, method, params)
}

// sessionRef are the params that say the session and no more.
type sessionRef struct {
	SessionID string `json:"sessionId"`
}

// word is a name that another program wrote, fit for a log: short, and of
// characters that names are made of.
func word(name string) string {
	const most = 40
	clean := make([]byte, 0, most)
	for i := 0; i < len(name) && len(clean) < most; i++ {
		c := name[i]
		if c != '_' && c != '-' && c != '.' && c != '/' && c != '$' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			c = '?'
		}
		clean = append(clean, c)
	}
	return string(clean)
}
