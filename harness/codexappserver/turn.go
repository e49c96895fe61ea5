package codexappserver

import (
	"regexp"
	"strings"
	"time"

	"agent-server/harness"
	"agent-server/harness/rpcline"
	"agent-server/protocol"

	"github.com/go-json-experiment/json/jsontext"
)

// A turn of ours is one native turn, but for two cases: prompts that came too late to
// join it make it go on in another, and Codex may begin one by itself, which a prompt
// then joins. The native id is learnt from the answer to turn/start or from
// turn/started, whichever comes first; now and then the end is the first to name it.
//
// The end is turn/completed and nothing else: an answer to an interrupt says that it
// was heard, an idle thread that its turn cannot last, an error that one will follow.
// For each of these that is not followed by the end there is a clock.

// turn is one prompt on its way through Codex.
type turn struct {
	in harness.Begin
	// id is the native id; "" before Codex has named it.
	id string
	// own is true where Codex began by itself, and nobody has prompted since.
	own bool
	// written is true once the prompt was; cancelled, once it was interrupted.
	written, cancelled bool
	// tries counts how often the prompt was written.
	tries int
	// failure is the error that Codex will not go on from; nil: none yet.
	failure *protocol.TurnError
	// lost is why we gave the turn up ourselves; nil: we did not.
	lost *protocol.TurnError
	// complaints counts how often Codex has said that it cannot reach its provider,
	// since it last did.
	complaints int
	// lossy is true where a line was lost.
	lossy bool
	// steers are prompts that Codex has yet to take; held is the turn's end, kept
	// until it has.
	steers int
	again  []harness.Steer
	held   *turnEnd
}

// The translator's timers.
const (
	handshakeTimer   = "handshake"   // from a turn's begin to its prompt
	retryTimer       = "retry"       // until a prompt that was not accepted is written again
	unreachableTimer = "unreachable" // while the provider cannot be reached
	interruptTimer   = "interrupt"   // from our own interrupt to the turn's end
	idleTimer        = "idle"        // from the thread being idle to the turn's end
)

// What a turn may wait for once Codex has said that nothing more is to come, and
// how often and how soon a prompt that Codex had no room for is written again.
const (
	interruptLimit = 10 * time.Second
	idleLimit      = 10 * time.Second
	maxTries       = 4
	retryAfter     = 500 * time.Millisecond
)

// codeOverloaded is Codex's own: the request was not accepted, and can be made
// again.
const codeOverloaded = -32001

func (t *translator) setTimer(name string, after time.Duration) {
	t.out.Timers = append(t.out.Timers, harness.Timer{Name: name, After: after})
}

func (t *translator) stopTimer(name string) { t.setTimer(name, 0) }

// turnParams are those of turn/start.
type turnParams struct {
	// ThreadID is ours.
	ThreadID string `json:"threadId"`
	// Input may be empty, never null.
	Input []inputItem `json:"input"`
	// Cwd, ApprovalPolicy and SandboxPolicy are said with each turn: an old thread
	// keeps its own otherwise.
	Cwd            string        `json:"cwd"`
	ApprovalPolicy string        `json:"approvalPolicy"`
	SandboxPolicy  sandboxPolicy `json:"sandboxPolicy"`
	// Model and Effort are absent where they stay as they are.
	Model  string `json:"model,omitzero"`
	Effort string `json:"effort,omitzero"`
}

// prompt writes the turn's prompt.
func (t *translator) prompt() {
	turn := t.turn
	if turn == nil {
		return // cancelled meanwhile
	}
	items, err := inputItems(turn.in.Input)
	if err != nil {
		t.reject(protocol.TurnError{Category: protocol.CategoryInvalidRequest, Message: err.Error()})
		return
	}
	turn.written = true
	turn.tries++
	t.startTurn(turn.in.Config, items)
	t.stopTimer(handshakeTimer)
	t.emit(harness.PromptWritten{})
}

// startTurn writes turn/start.
func (t *translator) startTurn(cfg protocol.RunConfig, items []inputItem) {
	p := policyOf(cfg)
	t.call("turn/start", turnParams{
		ThreadID: t.thread, Input: items, Cwd: cfg.Cwd, ApprovalPolicy: p.approval, SandboxPolicy: p.policy(cfg),
		Model: t.defaults.turnModel(cfg), Effort: t.defaults.turnEffort(cfg),
	}, (*translator).turnAnswered)
}

// turnRef is a turn, as far as every message of it says.
type turnRef struct {
	ID     rpcline.Text   `json:"id"`
	Status rpcline.Text   `json:"status"`
	Error  jsontext.Value `json:"error"`
}

// turnAnswered takes the answer to turn/start, which names the turn.
func (t *translator) turnAnswered(m rpcline.Message) {
	switch {
	case t.turn == nil:
		return // its end came first
	case m.Error == nil:
		t.name(string(rpcline.Read[struct {
			Turn turnRef `json:"turn"`
		}](m.Result).Turn.ID))
	case m.Error.Code == codeOverloaded && t.turn.tries < maxTries:
		t.setTimer(retryTimer, retryAfter<<(t.turn.tries-1))
	default:
		t.turn.failure = new(failed(m.Error, "Codex did not take the prompt"))
		t.endTurn(turnEnd{status: "failed"})
	}
}

// name takes the turn's native id: from now on an interrupt lands.
func (t *translator) name(id string) {
	if id != "" && t.turn.id == "" {
		t.turn.id = id
		t.emit(harness.Registered{})
	}
}

// named is name by a notification, which may still be of the turn before.
func (t *translator) named(id string) {
	if t.turn != nil && t.turn.written && id != t.last {
		t.name(id)
	}
}

// turnStarted takes the news that a turn runs. One that nobody has asked for is
// Codex's own: it goes on with a goal, for instance.
func (t *translator) turnStarted(p params) {
	id := string(rpcline.Read[turnRef](p.Turn).ID)
	if a := t.agents[string(p.ThreadID)]; a != nil {
		a.turn = id
		t.tellBackground()
		return
	}
	if t.turn == nil && id != "" && id != t.last {
		t.turn = &turn{own: true, written: true}
		t.turn.in.Config = t.launch.Config
		t.emit(harness.Woken{Trigger: "Codex goes on by itself"})
	}
	t.named(id)
}

// interruptParams are those of turn/interrupt.
type interruptParams struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
}

// cancel interrupts the turn, and with it the sub-agents that it has running.
// Requests that are open end with it; nothing is answered.
func (t *translator) cancel() {
	if t.turn == nil || t.turn.cancelled {
		return
	}
	t.turn.cancelled = true
	t.interrupt(t.turn.id)
	for _, id := range t.runningAgents() {
		t.call("turn/interrupt", interruptParams{id, t.agents[id].turn}, ignoreAnswer)
	}
}

func ignoreAnswer(*translator, rpcline.Message) {}

// interrupt asks for the end of our turn. Codex takes "" for the one that runs.
func (t *translator) interrupt(id string) {
	t.call("turn/interrupt", interruptParams{t.thread, id}, func(t *translator, m rpcline.Message) {
		if m.Error == nil || t.turn == nil {
			return // only turn/completed ends it
		}
		if found := runningID.FindStringSubmatch(m.Error.Message); found != nil && found[1] != id {
			t.interrupt(found[1])
			return
		}
		t.note("interrupt was refused", "")
	})
}

// runningID finds the turn that runs in an error about one that does not.
var runningID = regexp.MustCompile("but found `([^`]+)`")

// turnEnd is how a turn ended.
type turnEnd struct {
	// status is completed, interrupted or failed; anything else is a failure.
	status string
	// why is the error that came with it; nil: none.
	why *protocol.TurnError
}

// turnCompleted takes a turn's end, the only one there is: of our thread and our
// turn, whatever else ends in the same process.
func (t *translator) turnCompleted(p params) {
	r := rpcline.Read[turnRef](p.Turn)
	if a := t.agents[string(p.ThreadID)]; a != nil {
		t.agentEnded(string(p.ThreadID), a, r)
		return
	}
	t.named(string(r.ID)) // it may come without having started
	if t.turn == nil || !t.turn.written || string(r.ID) != t.turn.id {
		t.note("end of another turn", "")
		return
	}
	e := turnEnd{status: string(r.Status)}
	if r.Error.Kind() == '{' {
		e.why = new(readFailure(r.Error).turnError())
	}
	if t.turn.steers > 0 && e.status == "completed" {
		t.turn.held = &e
		t.setTimer(idleTimer, idleLimit)
		return
	}
	t.endTurn(e)
}

// endTurn ends the turn, and all that is open in it.
func (t *translator) endTurn(e turnEnd) {
	turn := t.turn
	if len(turn.again) > 0 && e.status == "completed" && !turn.cancelled {
		t.goOn()
		return
	}
	end := t.ending(e)
	t.endItems(t.thread, e.status)
	end.Tokens = t.spend()
	t.last, t.turn = turn.id, nil
	t.speech, t.waiting = speech{n: t.speech.n}, false
	for _, timer := range []string{handshakeTimer, retryTimer, unreachableTimer, interruptTimer, idleTimer} {
		t.stopTimer(timer)
	}
	t.emit(end)
	t.tellBackground()
	t.reconcile(t.thread, e.status == "interrupted" || turn.cancelled)
}

// ending says how a turn ended.
func (t *translator) ending(e turnEnd) harness.Finished {
	turn := t.turn
	why := e.why
	if why == nil {
		why = turn.failure
	}
	switch {
	case turn.lost != nil:
		return harness.Finished{Reason: protocol.StopError, Raw: e.status, Error: turn.lost}
	case e.status == "completed":
		return harness.Finished{Reason: protocol.StopEndTurn, Raw: e.status}
	case e.status == "interrupted":
		return harness.Finished{Reason: protocol.StopCancelled, Raw: e.status}
	case why == nil:
		why = &protocol.TurnError{Category: protocol.CategoryInternal, Message: "Codex ended the turn and gave no reason"}
	}
	if strings.Contains(why.Message, "reason: max_output_tokens") {
		return harness.Finished{Reason: protocol.StopMaxTokens, Raw: "max_output_tokens"}
	}
	return harness.Finished{Reason: protocol.StopError, Raw: e.status, Error: why}
}

// expired is a timer's end.
func (t *translator) expired(timer string) {
	turn := t.turn
	switch {
	case turn == nil:
	case timer == handshakeTimer && !turn.written:
		t.giveUp(protocol.TurnError{
			Category: protocol.CategoryInternal,
			Message:  "Codex was not ready for a prompt within " + t.opts.HandshakeTimeout.String(),
		})
	case timer == retryTimer && turn.id == "" && !turn.cancelled:
		t.prompt()
	case timer == unreachableTimer && turn.complaints > 0:
		t.loseTouch()
	case timer == interruptTimer && turn.lost != nil:
		t.abandonProcess(*turn.lost)
	case timer == idleTimer && turn.held != nil:
		t.releaseHeld()
	case timer == idleTimer:
		t.abandonProcess(protocol.TurnError{
			Category: protocol.CategoryInternal, Message: "Codex became idle without ending the turn",
		})
	}
}

// abandonProcess ends a turn of a process that answers no more.
func (t *translator) abandonProcess(why protocol.TurnError) {
	t.refused, t.turn.lost = &why, &why
	t.endTurn(turnEnd{status: "failed"})
	t.out.Process = harness.Stop
}
