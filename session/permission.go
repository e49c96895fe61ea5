package session

import (
	"slices"

	"agent-server/broker"
	"agent-server/harness"
	"agent-server/protocol"
)

// A request passes once through here on its way up and once on its way down. Up:
// the tool's part, then the request; or an answer at once, by a standing rule, or
// because nobody is to be asked. Down: the first answer, the harness's own
// withdrawal, or the turn's end. Whatever comes first takes the request out of
// the broker, so nothing can come second.

// asked takes a request for consent: a standing rule answers it unseen, else it
// is registered and shown, and decided at once where nobody is to be asked. What
// a policy denies no standing rule allows, what a user has rejected for good no
// policy does.
func (m *Machine) asked(u harness.Asked) {
	switch {
	case m.turn.cancel.accepted:
		m.refuseAsked(u, "the turn is being cancelled")
		return
	case m.answering(u.Request):
		m.note("permission asked for twice", "")
		return
	}
	m.sightTool(u)
	r := m.request(u)
	ruling := m.ruling(r)
	if v, ok := m.broker.Standing(r); ok && ruling != broker.PolicyDeny {
		m.answerAsked(u.Request, v, "a standing answer of the user")
		return
	}
	if !m.broker.Open(r) {
		m.note("permission asked for twice", "")
		return
	}
	m.sayRequested(u, r)
	m.rule(r, ruling)
}

// sayRequested shows a request.
func (m *Machine) sayRequested(u harness.Asked, r broker.Request) {
	m.emit(&protocol.PermissionRequested{
		SessionID: m.o.SessionID, TurnID: m.turn.id, RequestID: r.ID, Title: titleOf(u, r),
		ToolCall: toolCallOf(u, r), Options: r.Options, Timestamp: m.now,
	})
}

// request is what the broker is to know of it.
func (m *Machine) request(u harness.Asked) broker.Request {
	r := broker.Request{
		ID: m.newID(), Key: u.Request, Tool: u.Name, RawInput: object(u.RawInput),
		Options: worded(u.Options), Own: u.Options != nil, Always: u.Always, InputSlot: u.InputSlot,
	}
	if t := m.tools[u.Call]; t != nil && r.Tool == "" {
		r.Tool = t.name
	}
	if !r.Own {
		r.Options = broker.DefaultOptions()
	}
	r.Call = m.callOf(u, r.Tool)
	return r
}

// titleOf is the request's title for people.
func titleOf(u harness.Asked, r broker.Request) string {
	switch {
	case u.Title != "":
		return u.Title
	case r.Tool != "":
		return "Allow tool: " + r.Tool
	}
	return "Allow what the harness asks for"
}

// toolCallOf describes the tool call; nil where the harness names no tool.
func toolCallOf(u harness.Asked, r broker.Request) *protocol.PermissionToolCall {
	if r.Tool == "" && u.Call == "" {
		return nil
	}
	c := &protocol.PermissionToolCall{
		ToolCallID: optional(u.Call), ToolName: toolName(r.Tool), Title: optional(u.Title),
		Locations: u.Locations, RawInput: r.RawInput,
	}
	if kind := orWord(u.Kind, ""); kind != "" {
		c.Kind = &kind
	}
	return c
}

// Who took a single request back. Without such a word a cancelled request tells
// every reader that a cancel of the turn was accepted: no later one may open.
const (
	byClient  = "client"
	byHarness = "harness"
)

// Who decided a request that nobody answered.
const (
	byPolicy   = "policy"
	byTimeout  = "timeout"
	byNoClient = "no-client"
)

// resolvePermission takes an answer. The first one wins; any other finds nothing
// to answer. One that makes of the call what the policy denies is a denial.
func (m *Machine) resolvePermission(in ResolvePermission) {
	if m.forbidden(in) {
		m.reply(in.Token, protocol.PermissionRespondResult{Accepted: true})
		m.decide(in.RequestID, false, byPolicy)
		m.pump()
		return
	}
	res, ok := m.broker.Resolve(in.RequestID, in.Outcome)
	m.reply(in.Token, protocol.PermissionRespondResult{Accepted: ok})
	if !ok {
		return
	}
	why := ""
	if res.By == broker.ByUpdatedInput {
		why = "The input was edited, and this tool cannot be given an edited input."
	}
	by := string(res.By)
	if by == "" && res.Shown.Outcome == protocol.OutcomeCancelled {
		by = byClient
	}
	m.sayResolved(res, by)
	m.answerAsked(res.Request.Key, res.Verdict, why)
	m.pump()
}

// sayResolved shows how a request was answered. by says who decided, where it
// was not the one who answered; else "". An answer of which a standing rule has come is
// marked: who takes the session over from the log makes the rule of it again.
func (m *Machine) sayResolved(res broker.Resolution, by string) {
	ev := &protocol.PermissionResolved{
		SessionID: m.o.SessionID, TurnID: m.turn.id, RequestID: res.Request.ID, Outcome: res.Shown, Timestamp: m.now,
	}
	m.disarm(timerOf(res.Request.ID))
	if by != "" {
		ev.Meta = withMember(nil, protocol.MetaBy, protocol.Encode(by))
	}
	if res.Kept {
		ev.Meta = withMember(ev.Meta, protocol.MetaStanding, protocol.Object("true"))
	}
	m.emit(ev)
}

// takenBack is what an open request comes to that nobody answers any more.
func takenBack(r broker.Request) broker.Resolution {
	return broker.Resolution{Request: r, Shown: protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}}
}

// drainPermissions takes back all that is open, for everyone who sees it. by is ""
// where the turn ends or is cancelled, else who took it back in a turn that goes
// on. The harness is told nothing here: on a cancel its translator does that, in
// its own way.
func (m *Machine) drainPermissions(by string) {
	for _, r := range m.broker.Drain() {
		m.sayResolved(takenBack(r), by)
		m.turn.unanswered = append(m.turn.unanswered, r.Key)
	}
}

// answerDrained tells a harness that ended its turn and goes on: what it asked in
// it is not going to be answered by anybody.
func (m *Machine) answerDrained() {
	if m.proc != nil {
		for _, key := range slices.Clone(m.turn.unanswered) {
			m.answerAsked(key, broker.Verdict{Decision: broker.Cancel}, "the turn is over")
		}
	}
}

// withdrawn takes back one request. One that was answered unseen just now is not
// answered any more.
func (m *Machine) withdrawn(u harness.Withdrawn) {
	m.proc.feed = slices.DeleteFunc(m.proc.feed, resolves(u.Request))
	m.answered(u.Request)
	if r, ok := m.broker.Withdraw(u.Request); ok {
		m.sayResolved(takenBack(r), byHarness)
	}
}

// resolves says of an input whether it answers that request.
func resolves(request string) func(harness.Input) bool {
	return func(in harness.Input) bool {
		r, ok := in.(harness.Resolve)
		return ok && r.Request == request
	}
}

// answering says whether an answer to that request is on its way.
func (m *Machine) answering(request string) bool {
	return slices.ContainsFunc(m.proc.feed, resolves(request))
}

// answered forgets that the harness is to be told about a request.
func (m *Machine) answered(request string) {
	if t := m.turn; t != nil {
		t.unanswered = slices.DeleteFunc(t.unanswered, func(key string) bool { return key == request })
	}
}

// refuseAsked answers a request that nobody is to see: the harness must not wait
// for an answer that can never come. One that was asked before the translator
// heard of a cancel which is on its way is answered by that.
func (m *Machine) refuseAsked(u harness.Asked, why string) {
	m.note("permission refused: "+why, "")
	if slices.ContainsFunc(m.proc.feed, isCancel) && m.turn != nil {
		m.turn.unanswered = append(m.turn.unanswered, u.Request)
		return
	}
	m.answerAsked(u.Request, broker.Verdict{Decision: broker.Cancel}, why)
}

// answerAsked tells the harness, once.
func (m *Machine) answerAsked(request string, v broker.Verdict, why string) {
	if m.answering(request) {
		m.note("permission asked for twice", "")
		return
	}
	m.answered(request)
	out := harness.Verdict{OptionID: v.OptionID, UpdatedInput: v.UpdatedInput}
	switch v.Decision {
	case broker.Allow:
		out.Decision = harness.Allow
	case broker.AllowAlways:
		out.Decision = harness.AllowAlways
	case broker.Cancel:
		out.Decision, out.Message = harness.CancelRequest, why
	default:
		out.Decision, out.Message = harness.Deny, why
	}
	m.tell(harness.Resolve{Request: request, Verdict: out})
}
