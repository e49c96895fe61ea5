package session

import (
	"agent-server/echo"
	"agent-server/harness"
	"agent-server/protocol"
)

// turn is the open turn.
type turn struct {
	id    string
	input protocol.Input
	// cfg is the turn's config, under the session's own harness id.
	cfg protocol.RunConfig

	// trace is the _meta of its first and last event; nil: none.
	trace protocol.Object
	// created is true once session.created was said in this turn.
	created bool
	// written is true once the harness has the prompt: from then on it is never
	// begun again.
	written bool
	// registered is true once an interrupt would land.
	registered bool
	// restarts counts the processes that were replaced for this turn.
	restarts int
	cancel   cancelling
	// own is true where the harness opened it; main then while its main loop
	// works, whose end ends it.
	own, main bool
	// spoken is true of a harness turn without a main loop that its translator ends.
	spoken bool
	// refused is true once its prompt was refused by a dead process.
	refused bool
	// unanswered are the requests that were taken back and that the harness has
	// not been told about, by native key.
	unanswered []string

	// outputs counts the turn's messages, the echo first.
	outputs int
	// model is what the harness last named for its main loop.
	model string
	// msg is the open message; nil where there is none.
	msg *message
	// parts are those but tools, by native key.
	parts map[string]*part
	// streaming are the text and reasoning parts that may still grow, in order of
	// opening.
	streaming   []*part
	compactions []*compaction
}

// run starts an admitted turn: turn.started and the echo, before anything else
// can be said, then the harness.
func (m *Machine) run(in StartTurn) {
	cfg := in.Config
	cfg.Harness = m.info.ID
	m.open(&turn{id: in.TurnID, input: in.Input, cfg: cfg, trace: in.Trace}, in.Input, in.Trace)
	m.provide()
}

// open makes t the open turn: turn.started and the echo of an input.
func (m *Machine) open(t *turn, input protocol.Input, meta protocol.Object) {
	t.parts, t.outputs = map[string]*part{}, 1
	m.turn = t
	m.emit(&protocol.TurnStarted{SessionID: m.o.SessionID, TurnID: t.id, Timestamp: m.now, Meta: meta})
	for _, ev := range echo.Events(echo.Spec{
		SessionID: m.o.SessionID, TurnID: t.id, Model: t.cfg.Model, Input: input, Timestamp: m.now,
	}) {
		m.emit(ev)
	}
	m.disarm(timerIdle)
}

// ending is how a turn ends. Who makes one keeps what honest guarantees.
type ending struct {
	reason protocol.StopReason
	// raw is the harness's own word; "" when it has none.
	raw    string
	tokens *protocol.TokenUsage
	cost   *protocol.Number
	// err is set exactly where reason is a failure.
	err *protocol.TurnError
}

// failure is the end of a turn that failed.
func failure(category protocol.ErrorCategory, message string) ending {
	return ending{reason: protocol.StopError, err: &protocol.TurnError{Category: category, Message: message}}
}

// endTurn ends the open turn, and with it all that is open in it, in the order
// that readers rely on: the error of a failing turn; closing snapshots; requests
// taken back; here stand the answers of cancels; the message's end; the turn's.
// Tools are left to the fold, which closes them in every reader alike.
//
// From the step in which this is said the session takes the next turn. If the
// process needs longer to go, that turn's process waits for it, not its client.
func (m *Machine) endTurn(e ending) {
	t := m.turn
	if e.err != nil {
		e.err = new(m.sayError(*e.err, false))
	}
	m.closeStreaming(nil)
	m.restateAll()
	m.closeCompactions(e.reason)
	m.drainPermissions("")
	m.answerDrained()
	m.answerCancels(e.reason)
	m.endMessage()
	m.emit(&protocol.TurnEnded{
		SessionID: m.o.SessionID, TurnID: t.id, StopReason: e.reason, FinishReason: optional(e.raw),
		Tokens: e.tokens, Cost: e.cost, Error: e.err, Timestamp: m.now, Meta: t.trace,
	})
	m.turn = nil
	t.input, t.parts = protocol.Input{}, nil // a tool left open holds its turn, not its text
	m.forgetClosedTools()
	for _, id := range []TimerID{timerAnswer, timerStop, timerStartup, timerDrain} {
		m.disarm(id)
	}
	if m.proc == nil {
		return
	}
	m.proc.served = true
	if m.proc.stopping {
		m.drop()
	}
}

// finished ends the turn by the harness's own word. A harness turn has no end but
// its main loop's.
func (m *Machine) finished(u harness.Finished) {
	if m.quiet() && !m.turn.spoken {
		m.note("end of a turn that nobody began", u.Raw)
		return
	}
	m.endTurn(honest(ending{reason: u.Reason, raw: u.Raw, tokens: u.Tokens, cost: u.Cost, err: u.Error}))
}

// rejected ends a turn that the harness refused before it ran.
func (m *Machine) rejected(u harness.Rejected) {
	if m.quiet() {
		m.note("refusal of a turn that nobody began", "")
		return
	}
	m.endTurn(honest(failure(u.Error.Category, u.Error.Message)))
}

// failTurn ends the open turn, if any, by a fault of its surroundings; as
// cancelled, where a cancel had been accepted.
func (m *Machine) failTurn(category protocol.ErrorCategory, message string) {
	switch {
	case m.turn == nil:
		m.note("fault while no turn is open", string(category))
	case m.turn.cancel.accepted:
		m.endTurn(ending{reason: protocol.StopCancelled})
	default:
		m.endTurn(failure(category, message))
	}
}

// honest makes an end keep what readers rely on: a failure says why, a clean end
// has no error, and neither word is blank.
func honest(e ending) ending {
	e.reason = orWord(e.reason, protocol.StopError)
	if e.reason.Clean() {
		e.err = nil
		return e
	}
	if e.err == nil {
		e.err = &protocol.TurnError{Message: "the harness ended the turn without saying why"}
	}
	said := *e.err
	said.Category = orWord(said.Category, protocol.CategoryInternal)
	e.err = &said
	return e
}

// sayError reports a fault of the open turn, and gives it as it was said: without
// the secrets of the turn's config. recoverable: the harness itself goes on from
// it.
func (m *Machine) sayError(e protocol.TurnError, recoverable bool) protocol.TurnError {
	e.Message = redact(e.Message, m.turn.cfg)
	m.emit(&protocol.ErrorEvent{
		SessionID: &m.o.SessionID, TurnID: &m.turn.id, Category: e.Category, Message: e.Message,
		Recoverable: recoverable, Timestamp: m.now,
	})
	return e
}

// notice reports a fault from which the harness goes on.
func (m *Machine) notice(u harness.Notice) {
	category := orWord(u.Category, protocol.CategoryInternal)
	m.sayError(protocol.TurnError{Category: category, Message: u.Message}, true)
}

// optional is s, or nil where it is "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
