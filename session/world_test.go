package session_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agent-server/broker"
	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
	"agent-server/verify"
)

// world performs what one machine wants done, as an owner would, and holds the
// laws while it does. What is given to the machine is drawn elsewhere.
type world struct {
	m   *session.Machine
	h   *chaosHarness
	now int64
	// log is everything that came out, for the comparison of two runs.
	log bytes.Buffer
	// broken is the first breach of a law; nil: none.
	broken error

	next   int64
	verify *verify.Verifier
	tokens session.Token
	// owed are the tokens without an answer, and what they asked for.
	owed map[session.Token]string
	// admitted are the turns, by id, as they were asked for.
	admitted map[string]session.StartTurn
	// open is the turn that was started and has not ended, by its events; own
	// whether the harness opened it.
	open string
	own  bool
	// queue are the turns that wait, by their events, in order; unqueued those that
	// never run.
	queue    []string
	unqueued map[string]bool
	// closing is true once a close was taken.
	closing bool
	// cancelAt is when a cancel of a turn was first accepted.
	cancelAt map[string]int64
	// asking are the open requests, in order; known all that ever were.
	asking, known []string
	// gens are the processes: true while they run, false once they are stopped.
	gens   map[int]bool
	timers map[session.TimerID]int64
	ended  bool
	// loose is the seq and the time of each part's first delta without a snapshot.
	loose map[string]looseDelta
	// restateAfter is the machine's option.
	restateAfter int64
	reached      reached
	// prompt is the generation that was last given a prompt; refused are the turns
	// whose prompt was refused.
	prompt  int
	refused map[string]bool
}

// reached counts what a run has met.
type reached struct{ queued, unqueued, steered, own, takeovers, forced int }

func (r *reached) add(o reached) {
	r.queued, r.unqueued, r.steered = r.queued+o.queued, r.unqueued+o.unqueued, r.steered+o.steered
	r.own, r.takeovers, r.forced = r.own+o.own, r.takeovers+o.takeovers, r.forced+o.forced
}

func (r *reached) least() int {
	return min(r.queued, r.unqueued, r.steered, r.own, r.takeovers, r.forced)
}

// looseDelta is a delta that stands alone.
type looseDelta struct{ seq, at int64 }

func newWorld(seed uint64) *world {
	w := &world{
		now: epoch, next: 1, verify: verify.New(verify.Options{}), owed: map[session.Token]string{}, admitted: map[string]session.StartTurn{},
		cancelAt: map[string]int64{}, gens: map[int]bool{}, timers: map[session.TimerID]int64{},
		loose: map[string]looseDelta{}, unqueued: map[string]bool{}, refused: map[string]bool{}, restateAfter: int64(seed%2) * 5_000,
	}
	w.h = &chaosHarness{seed: seed, fault: w.fault, written: map[string]bool{}}
	var entropy [32]byte
	entropy[0], entropy[1] = byte(seed), byte(seed>>8)
	w.m = session.New(session.Options{
		SessionID: "s", Harness: w.h, Seed: entropy, HashKey: []byte("k"), RestateAfter: w.restateAfter,
		NativeID:          []string{"", "", "n1"}[seed%3],
		PermissionTimeout: int64(seed%4/2) * 30_000, DenyWithoutClient: seed%5 == 0, Policy: policyOf(seed),
	})
	return w
}

// policyOf is the policy of a run; every third has one.
func policyOf(seed uint64) broker.Policy {
	if seed%3 > 0 {
		return nil
	}
	return broker.ToolPolicy{Rules: []broker.ToolRule{
		{Tool: "Edit", Ruling: broker.PolicyDeny}, {Kind: protocol.KindRead, Ruling: broker.PolicyAllow},
	}}
}

// fault notes a breach; the first one counts.
func (w *world) fault(format string, args ...any) {
	if w.broken == nil {
		w.broken = fmt.Errorf(format, args...)
	}
}

// owe is a fresh token that is owed an answer.
func (w *world) owe(what string) session.Token {
	w.tokens++
	w.owed[w.tokens] = what
	return w.tokens
}

// step gives an input, and judges and performs what comes of it.
func (w *world) step(in session.Input) session.Output {
	stale := w.stale(in)
	out := w.m.Step(w.now, in)
	w.record(in, out)
	if stale {
		w.judgeStale(out)
	}
	w.judgeAnswers(in, out)
	w.judgeAdmission(in, out)
	for _, e := range out.Events {
		w.takeEvent(e)
	}
	w.judgeProcesses(out)
	for _, t := range out.Timers {
		if w.timers[t.ID] = t.At; t.At == 0 {
			delete(w.timers, t.ID)
		}
	}
	w.judgeState(out)
	return out
}

// record writes down input and output, whole.
func (w *world) record(in session.Input, out session.Output) {
	fmt.Fprintf(&w.log, "%d %T\n", w.now, in)
	for _, e := range out.Events {
		w.log.Write(protocol.AppendEvent(fmt.Appendf(nil, "%d ", e.Seq), e.Event))
		w.log.WriteByte('\n')
	}
	out.Events = nil
	rest, err := json.Marshal(out)
	if err != nil {
		w.fault("output does not encode: %v", err)
	}
	w.log.Write(append(rest, '\n'))
}

// stale says whether an input is of a generation that does not live.
func (w *world) stale(in session.Input) bool {
	live := w.m.Generation()
	switch in := in.(type) {
	case session.Spawned:
		return in.Gen != live
	case session.SpawnFailed:
		return in.Gen != live
	case session.WriteRefused:
		return in.Gen != live
	case session.NativeLine:
		return in.Gen != live
	case session.LineDropped:
		return in.Gen != live
	case session.Exited:
		return in.Gen != live
	case session.Deadline:
		return in.Timer.Gen != 0 && in.Timer.Gen != live
	}
	return false
}

func (w *world) judgeStale(out session.Output) {
	quiet := len(out.Events) == 0 && len(out.Acks) == 0 && len(out.Replies) == 0 && out.Admit == nil && out.Spawn == nil &&
		out.Stop == nil && out.Stdin == nil && len(out.Timers) == 0 && !out.Ended
	if !quiet || len(out.Diagnostics) != 1 {
		w.fault("law 29: an input of an older generation gives %+v", out)
	}
}

// judgeAnswers: each token is answered at most once, by what is true.
func (w *world) judgeAnswers(in session.Input, out session.Output) {
	for _, a := range slices.Concat(out.Acks, out.Replies) {
		if _, ok := w.owed[a.Token]; !ok {
			w.fault("law 20: token %d is answered twice, or was never given", a.Token)
		}
		if (a.Result == nil) == (a.Err == nil) {
			w.fault("law 20: token %d has result %v and error %v", a.Token, a.Result, a.Err)
		}
		delete(w.owed, a.Token)
		if c, ok := a.Result.(protocol.TurnCancelResult); ok && c.Outcome == protocol.CancelCancelled && !endsCancelled(out, *c.TurnID) && !takesOut(out, *c.TurnID) {
			w.fault("law 27: %s is answered as cancelled and has not ended so", *c.TurnID)
		}
	}
	if c, ok := in.(session.CancelTurn); ok && w.open != "" && (c.TurnID == "" || c.TurnID == w.open) {
		w.accepted()
	}
	if s, ok := in.(session.Shutdown); ok && w.open != "" && s.Drain <= 0 {
		w.accepted()
	}
	if c, ok := in.(session.Close); ok && w.open != "" && (c.Force || w.own && len(w.queue) == 0) && !w.closing {
		w.closing = true
		w.reached.forced++
		w.accepted()
	}
}

// accepted notes that a cancel of the open turn was accepted.
func (w *world) accepted() {
	if _, known := w.cancelAt[w.open]; !known {
		w.cancelAt[w.open] = w.now
	}
	w.verify.Cancelled(w.open)
}

// endsCancelled says whether an output ends that turn as cancelled.
func endsCancelled(out session.Output, turn string) bool {
	return slices.ContainsFunc(out.Events, func(e session.Stamped) bool {
		end, ok := e.Event.(*protocol.TurnEnded)
		return ok && end.TurnID == turn && end.StopReason == protocol.StopCancelled
	})
}

// takesOut says whether an output unqueues that turn by a cancel.
func takesOut(out session.Output, turn string) bool {
	return slices.ContainsFunc(out.Events, func(e session.Stamped) bool {
		u, ok := protocol.ReadTurnUnqueued(e.Event)
		return ok && u.TurnID == turn && u.Reason == protocol.UnqueuedCancelled
	})
}

// judgeAdmission: a turn is admitted once, behind its ack. It begins with its echo
// where none is open or a harness turn makes room, else it waits or is steered.
func (w *world) judgeAdmission(in session.Input, out session.Output) {
	start, ok := in.(session.StartTurn)
	if !ok || out.Admit == nil {
		w.judgeRefusal(start, ok, out)
		return
	}
	_, known := w.admitted[start.TurnID]
	switch {
	case known || out.Admit.TurnID != start.TurnID:
		w.fault("law 24: turn %s is admitted again, or as %s", start.TurnID, out.Admit.TurnID)
	case len(out.Acks) == 0 || out.Acks[0].Token != start.Token || out.Acks[0].Barrier != 0:
		w.fault("turn %s is not acknowledged before its events", out.Admit.TurnID)
	default:
		w.judgeWay(start, out)
	}
	w.admitted[start.TurnID] = start
}

// judgeWay: what becomes of an admitted turn is what its answer says.
func (w *world) judgeWay(start session.StartTurn, out session.Output) {
	res := out.Acks[0].Result.(protocol.TurnStartResult)
	if w.open != "" && w.own && beginsOver(out.Events, w.open, start.TurnID) {
		w.reached.takeovers++
	}
	queued, waits := protocol.ReadTurnQueued(out.Events[0].Event)
	switch {
	case start.IfBusy == "" && res.Disposition != "":
		w.fault("turn %s is answered %s and asked nothing", start.TurnID, res.Disposition)
	case w.open == "" || w.own && beginsOver(out.Events, w.open, start.TurnID):
		if w.open == "" && !beginsWithEcho(out.Events, start.TurnID) {
			w.fault("law 21: turn %s does not begin with its echo", start.TurnID)
		}
		if res.Disposition != "" && res.Disposition != protocol.Started {
			w.fault("turn %s is started and answered %s", start.TurnID, res.Disposition)
		}
	case start.IfBusy == "" || start.IfBusy == protocol.BusyReject:
		w.fault("turn %s is admitted while %s is open", out.Admit.TurnID, w.open)
	case waits:
		if queued.TurnID != start.TurnID || int(queued.Position) != len(w.queue)+1 || res.Disposition != protocol.Queued {
			w.fault("law 143: turn %s is queued as %+v behind %v, answered %s", start.TurnID, queued, w.queue, res.Disposition)
		}
	case res.Disposition != protocol.Steered || start.IfBusy != protocol.BusySteer:
		w.fault("law 145: turn %s is answered %s", start.TurnID, res.Disposition)
	default:
		w.judgeSteered(start, out)
	}
}

// judgeSteered: a steered input is shown as a message of the open turn.
func (w *world) judgeSteered(start session.StartTurn, out session.Output) {
	w.reached.steered++
	for _, e := range out.Events {
		if m, ok := e.Event.(*protocol.MessageStarted); ok && m.MessageID == "echo-"+start.TurnID {
			if m.TurnID != w.open || m.Role != protocol.RoleUser {
				w.fault("law 145: the echo of %s stands in %s", start.TurnID, m.TurnID)
			}
			return
		}
	}
	w.fault("law 145: the input of %s is not shown", start.TurnID)
}

// beginsOver says whether events end a harness turn and start a client's.
func beginsOver(events []session.Stamped, own, turn string) bool {
	for i, e := range events {
		if end, ok := e.Event.(*protocol.TurnEnded); ok && end.TurnID == own {
			return beginsWithEcho(events[i+1:], turn)
		}
	}
	return false
}

// judgeRefusal: a start that is not admitted changes nothing, and a session
// without a turn is never busy.
func (w *world) judgeRefusal(start session.StartTurn, isStart bool, out session.Output) {
	if !isStart {
		return
	}
	if len(out.Events) > 0 || out.Spawn != nil || out.Stdin != nil {
		w.fault("turn %s is not admitted and does something", start.TurnID)
	}
	before, known := w.admitted[start.TurnID]
	same := known && bytes.Equal(protocol.TurnIdentity(start.Input, start.Config), protocol.TurnIdentity(before.Input, before.Config))
	for _, a := range slices.Concat(out.Acks, out.Replies) {
		if res, ok := a.Result.(protocol.TurnStartResult); ok && (!res.Deduplicated || !same) {
			w.fault("law 24: turn %s is answered %+v", start.TurnID, res)
		}
		if a.Err != nil && a.Err.Code == protocol.CodeTurnActive && w.open == "" {
			w.fault("law 25: the session is busy with no turn")
		}
	}
}

func beginsWithEcho(events []session.Stamped, turn string) bool {
	if len(events) < 4 {
		return false
	}
	started, ok := events[0].Event.(*protocol.TurnStarted)
	echo, isMessage := events[1].Event.(*protocol.MessageStarted)
	end, isEnd := events[3].Event.(*protocol.MessageEnded)
	return ok && isMessage && isEnd && started.TurnID == turn && echo.MessageID == "echo-"+turn && end.MessageID == echo.MessageID
}

// takeEvent judges one event and notes what it tells.
func (w *world) takeEvent(e session.Stamped) {
	if e.Seq != w.next {
		w.fault("law 22: seq %d follows %d", e.Seq, w.next-1)
	}
	w.next = e.Seq + 1
	if w.ended {
		w.fault("law 42: %s comes after session.ended", e.Event.Type())
	}
	switch ev := e.Event.(type) {
	case *protocol.UnknownEvent:
		w.takeAdded(ev)
	case *protocol.TurnStarted:
		w.turnStarted(ev)
	case *protocol.TurnEnded:
		w.open = ""
	case *protocol.PermissionRequested:
		w.asking, w.known = append(w.asking, ev.RequestID), append(w.known, ev.RequestID)
	case *protocol.PermissionResolved:
		w.asking = slices.DeleteFunc(w.asking, func(id string) bool { return id == ev.RequestID })
	case *protocol.MessagePart:
		delete(w.loose, ev.Part.Head().ID)
	case *protocol.MessagePartDelta:
		if _, known := w.loose[ev.PartID]; !known {
			w.loose[ev.PartID] = looseDelta{e.Seq, ev.Timestamp}
		}
	case *protocol.SessionEnded:
		w.ended = true
	}
	for _, v := range w.verify.Add(protocol.Envelope{SessionID: "s", Seq: e.Seq, Event: e.Event}) {
		w.fault("law 32: %s at %d: %s", v.Rule, v.Index, v.Message)
	}
}

// turnStarted: a turn starts alone, once, and not over the heads of those that
// wait; one that the harness opened says so.
func (w *world) turnStarted(ev *protocol.TurnStarted) {
	if w.open != "" {
		w.fault("turn %s starts while %s is open", ev.TurnID, w.open)
	}
	if w.unqueued[ev.TurnID] {
		w.fault("law 143: turn %s starts and was unqueued", ev.TurnID)
	}
	w.open, w.own = ev.TurnID, ev.Meta != nil
	w.h.own = w.own
	if w.own {
		w.reached.own++
		return
	}
	if len(w.queue) > 0 {
		if w.queue[0] != ev.TurnID {
			w.fault("law 143: turn %s starts, %v wait", ev.TurnID, w.queue)
		}
		w.queue = w.queue[1:]
	}
}

// takeAdded notes what joins the queue, and what leaves it unstarted.
func (w *world) takeAdded(ev *protocol.UnknownEvent) {
	if q, ok := protocol.ReadTurnQueued(ev); ok {
		w.queue = append(w.queue, q.TurnID)
		w.reached.queued++
	}
	if u, ok := protocol.ReadTurnUnqueued(ev); ok {
		i := slices.Index(w.queue, u.TurnID)
		if i < 0 {
			w.fault("law 143: turn %s is unqueued and does not wait", u.TurnID)
			return
		}
		w.queue = slices.Delete(w.queue, i, i+1)
		w.unqueued[u.TurnID] = true
		w.reached.unqueued++
	}
}

// judgeProcesses: one lives at a time, and only it is stopped and written to.
func (w *world) judgeProcesses(out session.Output) {
	if out.Stop != nil {
		if !w.gens[out.Stop.Gen] {
			w.fault("law 30: generation %d is stopped and does not run", out.Stop.Gen)
		}
		w.gens[out.Stop.Gen] = false
	}
	if out.Spawn != nil {
		for gen, runs := range w.gens {
			if gen >= out.Spawn.Gen || runs {
				w.fault("law 30: generation %d is started beside %d, which runs: %v", out.Spawn.Gen, gen, runs)
			}
		}
		w.gens[out.Spawn.Gen] = true
	}
	if out.Prompt {
		w.prompt = out.StdinGen
	}
	if len(out.Stdin) > 0 {
		if !w.gens[out.StdinGen] {
			w.fault("law 30: generation %d is written to and does not run", out.StdinGen)
		}
		if !bytes.HasSuffix(out.Stdin, []byte("\n")) {
			w.fault("half a line is written: %q", out.Stdin)
		}
	}
}

// judgeState compares what the machine says of itself with what it told.
func (w *world) judgeState(out session.Output) {
	if turn, _ := w.m.Active(); turn != w.open {
		w.fault("the machine has turn %q open, its events %q", turn, w.open)
	}
	if !slices.Equal(w.m.PendingPermissions(), w.asking) {
		w.fault("law 33: the machine has %v open, its events %v", w.m.PendingPermissions(), w.asking)
	}
	if w.open == "" && len(w.queue) > 0 || w.m.QueuedTurns() != len(w.queue) {
		w.fault("law 144: turn %q is open, %v wait, the machine has %d", w.open, w.queue, w.m.QueuedTurns())
	}
	if w.open == "" && len(w.asking) > 0 {
		w.fault("law 23: requests are open without a turn")
	}
	if out.Ended != (len(out.Events) > 0 && out.Events[len(out.Events)-1].Event.Type() == protocol.TypeSessionEnded) {
		w.fault("law 42: ended %v does not go with the last event", out.Ended)
	}
	if at, ok := w.cancelAt[w.open]; ok && w.now > at+70_000 {
		w.fault("law 28: turn %s is open %d ms after its cancel", w.open, w.now-at)
	}
	w.judgeWaits()
	w.judgeRestated()
}

// judgeRestated: the machine knows which deltas stand alone; none does once no
// turn is open, nor for long where the owner asked so.
func (w *world) judgeRestated() {
	want := w.next - 1
	for part, d := range w.loose {
		want = min(want, d.seq-1)
		switch {
		case w.open == "":
			w.fault("law 140: part %s stands on deltas alone and no turn is open", part)
		case w.restateAfter > 0 && w.now > d.at+w.restateAfter:
			w.fault("law 141: part %s stands on deltas alone for %d ms", part, w.now-d.at)
		}
	}
	if got := w.m.Restated(); got != want {
		w.fault("law 140: every delta up to %d is restated, it says %d", want, got)
	}
}

// judgeWaits: what a live translator has asked and nobody has answered is open
// for somebody to answer.
func (w *world) judgeWaits() {
	gen := w.m.Generation()
	if gen == 0 || len(w.h.made) == 0 {
		return
	}
	tr := w.h.made[len(w.h.made)-1]
	if _, cancelled := w.cancelAt[w.open]; w.open != "" && !cancelled && tr.waits() > len(w.asking) && (tr.turn == w.open || w.own) {
		w.fault("law 39: %d requests wait in generation %d, %d are open", tr.waits(), gen, len(w.asking))
	}
}

// pass lets time go by, and due timers expire in their order.
func (w *world) pass(ms int64) {
	until := w.now + ms
	for {
		id, at, ok := w.due(until)
		if !ok {
			break
		}
		delete(w.timers, id)
		w.now = max(w.now, at)
		if id.Name == "drain" && w.open != "" {
			w.accepted()
		}
		w.step(session.Deadline{Timer: id})
	}
	w.now = until
}

// due is the earliest timer up to a time.
func (w *world) due(until int64) (first session.TimerID, at int64, ok bool) {
	for id, t := range w.timers {
		earlier := !ok || t < at || t == at && (id.Gen < first.Gen || id.Gen == first.Gen && id.Name < first.Name)
		if t <= until && earlier {
			first, at, ok = id, t, true
		}
	}
	return first, at, ok
}

// exitStopped reports the exit of every process that was stopped.
func (w *world) exitStopped() {
	for _, gen := range keysOf(w.gens) {
		if !w.gens[gen] {
			delete(w.gens, gen)
			w.step(session.Exited{Gen: gen, Status: harness.ExitStatus{Asked: true}})
		}
	}
}

// finish brings everything to its end: turns, session, processes. Nothing may be
// owed or open after that.
func (w *world) finish() {
	for range 20 {
		w.exitStopped()
		if w.open != "" {
			w.step(session.CancelTurn{Token: w.owe("cancel")})
			w.pass(75_000)
		}
	}
	if !w.ended {
		w.step(session.Close{Token: w.owe("close")})
	}
	w.exitStopped()
	switch {
	case w.broken != nil:
	case w.open != "" || !w.ended:
		w.fault("law 23: turn %q is open, session ended %v", w.open, w.ended)
	case len(w.owed) > 0:
		w.fault("law 20: never answered: %v", w.owed)
	case len(w.timers) > 0:
		w.fault("timers are left: %v", w.timers)
	case w.m.Phase() != session.PhaseClosed || len(w.gens) > 0:
		w.fault("law 42: phase %v with processes %v", w.m.Phase(), w.gens)
	}
	for _, v := range w.verify.Finish() {
		w.fault("law 32: %s at %d: %s", v.Rule, v.Index, v.Message)
	}
}

// tail is the end of the record, for a report.
func (w *world) tail() string {
	lines := strings.Split(w.log.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}
