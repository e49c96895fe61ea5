package session_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
	"agent-server/verify"

	gocmp "github.com/google/go-cmp/cmp"
)

// rig drives one machine and holds what every test wants held: an answer a
// token, contiguous numbers, and a stream in which verify finds nothing.
type rig struct {
	t *testing.T
	h *scriptedHarness
	m *session.Machine

	now  int64
	next int64
	gen  int
	// last is the last step's output, lines what was told so far since look.
	last   session.Output
	lines  []string
	tokens session.Token
	// answers are those of each token.
	answers map[session.Token][]session.Answer
	verify  *verify.Verifier
	// outputs is outputIndex by message id.
	outputs map[string]protocol.Number
	// requests are the ids of permission requests, in order of asking.
	requests []string
}

// epoch is when every test begins, in epoch milliseconds.
const epoch = 1_800_000_000_000

func newRig(t *testing.T, change ...func(*session.Options)) *rig {
	t.Helper()
	h := &scriptedHarness{id: protocol.HarnessClaudeCode}
	o := session.Options{SessionID: "s", Harness: h, HashKey: []byte("key")}
	for _, c := range change {
		c(&o)
	}
	r := &rig{
		t: t, h: h, m: session.New(o), now: epoch, next: max(1, o.NextSeq),
		answers: map[session.Token][]session.Answer{}, verify: verify.New(verify.Options{}), outputs: map[string]protocol.Number{},
	}
	return r
}

// step gives an input to the machine and takes its output in.
func (r *rig) step(in session.Input) session.Output {
	r.t.Helper()
	out := r.m.Step(r.now, in)
	if out.Spawn != nil {
		r.gen = out.Spawn.Gen
	}
	for _, a := range append(append([]session.Answer(nil), out.Acks...), out.Replies...) {
		r.answers[a.Token] = append(r.answers[a.Token], a)
		if len(r.answers[a.Token]) > 1 {
			r.t.Errorf("token %d is answered twice", a.Token)
		}
	}
	for _, e := range out.Events {
		r.takeEvent(e)
	}
	r.last = out
	r.lines = append(r.lines, r.render(out)...)
	return out
}

func (r *rig) takeEvent(e session.Stamped) {
	r.t.Helper()
	if e.Seq != r.next {
		r.t.Errorf("event %s has seq %d, want %d", e.Event.Type(), e.Seq, r.next)
	}
	r.next = e.Seq + 1
	switch ev := e.Event.(type) {
	case *protocol.MessageStarted:
		r.outputs[ev.MessageID] = ev.OutputIndex
	case *protocol.PermissionRequested:
		r.requests = append(r.requests, ev.RequestID)
	}
	for _, v := range r.verify.Add(protocol.Envelope{SessionID: "s", Seq: e.Seq, Event: e.Event}) {
		r.t.Errorf("verify: %s at %d: %s", v.Rule, v.Index, v.Message)
	}
}

// done checks what only the end of a stream can show.
func (r *rig) done() {
	r.t.Helper()
	for _, v := range r.verify.Finish() {
		r.t.Errorf("verify: %s at %d: %s", v.Rule, v.Index, v.Message)
	}
}

// look compares what was told since the last look.
func (r *rig) look(what string, want ...string) {
	r.t.Helper()
	if diff := gocmp.Diff(want, r.lines); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	r.lines = nil
}

// forget leaves out of the next look what was told so far.
func (r *rig) forget() { r.lines = nil }

// token is a fresh token.
func (r *rig) token() session.Token {
	r.tokens++
	return r.tokens
}

// config is a plain config.
func config(change ...func(*protocol.RunConfig)) protocol.RunConfig {
	cfg := protocol.RunConfig{Harness: protocol.HarnessClaudeCode, Cwd: "/w"}
	for _, c := range change {
		c(&cfg)
	}
	return cfg
}

// start asks for a turn.
func (r *rig) start(turn string, change ...func(*protocol.RunConfig)) session.Token {
	r.t.Helper()
	token := r.token()
	r.step(session.StartTurn{Token: token, TurnID: turn, Input: protocol.TextInput("hi"), Config: config(change...)})
	return token
}

// running starts a turn that the harness has taken up, and forgets how.
func (r *rig) running(turn string, change ...func(*protocol.RunConfig)) {
	r.t.Helper()
	r.start(turn, change...)
	r.says(harness.Registered{})
	r.forget()
}

// says has the live translator say something on a line.
func (r *rig) says(updates ...harness.Update) session.Output {
	r.t.Helper()
	return r.line(harness.Output{Updates: updates})
}

// line has the live translator make something of a line.
func (r *rig) line(out harness.Output) session.Output {
	r.t.Helper()
	r.tr().next = out
	return r.step(session.NativeLine{Gen: r.gen, Line: []byte(`{"a":1}`)})
}

// tr is the youngest translator.
func (r *rig) tr() *scripted { return r.h.made[len(r.h.made)-1] }

// ends ends the turn.
func (r *rig) ends() session.Output { return r.says(harness.Finished{Reason: protocol.StopEndTurn}) }

// cancel asks for the end of the turn.
func (r *rig) cancel() session.Token {
	r.t.Helper()
	token := r.token()
	r.step(session.CancelTurn{Token: token})
	return token
}

// respond answers the n-th permission request.
func (r *rig) respond(n int, o protocol.PermissionOutcome) session.Token {
	r.t.Helper()
	token := r.token()
	r.step(session.ResolvePermission{Token: token, RequestID: r.requests[n], Outcome: o})
	return token
}

// choose answers the n-th permission request with an option.
func (r *rig) choose(n int, option string) session.Token {
	r.t.Helper()
	return r.respond(n, protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: option})
}

// exit has the live process end.
func (r *rig) exit(code int, stderr string) session.Output {
	r.t.Helper()
	return r.step(session.Exited{Gen: r.gen, Status: harness.ExitStatus{Code: code, Stderr: stderr}})
}

// after lets time pass and a timer expire.
func (r *rig) after(ms int64, name string) session.Output {
	r.t.Helper()
	r.now += ms
	return r.step(session.Deadline{Timer: session.TimerID{Name: name}})
}

// answer is the one answer of a token, as text; "" where none came.
func (r *rig) answer(t session.Token) string {
	r.t.Helper()
	if len(r.answers[t]) != 1 {
		return ""
	}
	return answerText(r.answers[t][0])
}

func answerText(a session.Answer) string {
	if a.Err != nil {
		return fmt.Sprintf("error %d", a.Err.Code)
	}
	switch res := a.Result.(type) {
	case protocol.TurnCancelResult:
		if res.ActiveTurnID != nil {
			return string(res.Outcome) + " active " + *res.ActiveTurnID
		}
		return string(res.Outcome)
	case protocol.PermissionRespondResult:
		return fmt.Sprint("accepted ", res.Accepted)
	case protocol.TurnStartResult:
		if res.Deduplicated {
			return strings.TrimSpace("deduplicated " + res.TurnID + " " + string(res.Disposition))
		}
		return cmp.Or(string(res.Disposition), "started") + " " + res.TurnID
	case protocol.SessionCloseResult:
		return fmt.Sprint("closed ", res.Closed)
	}
	return fmt.Sprintf("%T", a.Result)
}

// render is an output as lines, short and in the order of the performer.
func (r *rig) render(out session.Output) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if out.Admit != nil {
		add("admit %s", out.Admit.TurnID)
	}
	acks := map[int64][]string{}
	for _, a := range out.Acks {
		acks[a.Barrier] = append(acks[a.Barrier], "ack: "+answerText(a))
	}
	lines = append(lines, acks[0]...)
	for i, e := range out.Events {
		if i == 0 && e.Seq > 1 {
			lines = append(lines, acks[e.Seq-1]...)
		}
		add("%s", r.eventText(e.Event))
		lines = append(lines, acks[e.Seq]...)
	}
	for _, a := range out.Replies {
		add("reply: %s", answerText(a))
	}
	if out.Stop != nil {
		add("stop %d", out.Stop.Gen)
	}
	if out.Spawn != nil {
		add("spawn %d resume %q", out.Spawn.Gen, out.Spawn.Launch.Resume)
	}
	if len(out.Stdin) > 0 {
		add("stdin %d: %s", out.StdinGen, strings.TrimSpace(string(out.Stdin)))
	}
	return lines
}

// eventText is an event in a few words.
func (r *rig) eventText(ev protocol.Event) string {
	switch ev := ev.(type) {
	case *protocol.TurnEnded:
		return "turn.ended " + string(ev.StopReason)
	case *protocol.MessageStarted:
		return fmt.Sprintf("message %v %s%s", ev.OutputIndex, ev.Role, mark(" of ", ev.ParentToolCallID))
	case *protocol.MessageEnded:
		return fmt.Sprintf("message %v ended", r.outputs[ev.MessageID])
	case *protocol.MessagePart:
		return fmt.Sprintf("part %v.%v %s%s", ev.OutputIndex, ev.PartIndex, partText(ev.Part), mark(" meta ", metaOf(ev.Part.Head().Meta)))
	case *protocol.MessagePartDelta:
		return fmt.Sprintf("delta %v.%v %s", ev.OutputIndex, ev.PartIndex, deltaText(ev.Delta))
	case *protocol.SessionCreated:
		resumed := ""
		if ev.Resumed != nil {
			resumed = fmt.Sprint(" resumed ", *ev.Resumed)
		}
		return "session.created " + ev.NativeSessionID + resumed
	case *protocol.SessionEnded:
		return "session.ended " + ev.Reason
	case *protocol.PermissionRequested:
		return "ask " + ev.Title
	case *protocol.PermissionResolved:
		return "resolved " + string(ev.Outcome.Outcome) + mark(" ", metaOf([]byte(ev.Outcome.OptionID))) + mark(" meta ", metaOf(ev.Meta))
	case *protocol.ErrorEvent:
		return fmt.Sprintf("error %s %v: %s", ev.Category, ev.Recoverable, ev.Message)
	case *protocol.SessionCompaction:
		return "compaction " + ev.Status
	case *protocol.SessionUsage:
		return fmt.Sprint("usage ", ev.Used)
	}
	return addedText(ev)
}

// addedText is an event of an added type in a few words.
func addedText(ev protocol.Event) string {
	if q, ok := protocol.ReadTurnQueued(ev); ok {
		return fmt.Sprintf("queued %s at %d", q.TurnID, q.Position)
	}
	if u, ok := protocol.ReadTurnUnqueued(ev); ok {
		return fmt.Sprintf("unqueued %s: %s", u.TurnID, u.Reason)
	}
	if u, ok := protocol.ReadSessionUpdated(ev); ok && u.BackgroundTasks != nil {
		return fmt.Sprintf("tasks %d", *u.BackgroundTasks)
	}
	return string(ev.Type())
}

func partText(p protocol.Part) string {
	switch p := p.(type) {
	case *protocol.TextPart:
		return fmt.Sprintf("text %q %s", p.Text, p.State)
	case *protocol.ReasoningPart:
		return fmt.Sprintf("reasoning %q %s", p.Text, p.State)
	case *protocol.ToolPart:
		return fmt.Sprintf("%s %s", p.ToolName, p.State.Status())
	}
	return string(p.Type())
}

func deltaText(d protocol.Delta) string {
	switch d := d.(type) {
	case *protocol.TextDelta:
		return fmt.Sprintf("%q", d.Text)
	case *protocol.ReasoningDelta:
		return fmt.Sprintf("thought %q", d.Text)
	case *protocol.ToolInputDelta:
		return fmt.Sprintf("input %s", d.Input)
	}
	return fmt.Sprintf("%T", d)
}

// mark is prefix and s; "" where s is nil.
func mark(prefix string, s *string) string {
	if s == nil {
		return ""
	}
	return prefix + *s
}

func metaOf(o []byte) *string {
	if len(o) == 0 {
		return nil
	}
	return new(string(o))
}
