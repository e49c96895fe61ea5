package harnesstest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"

	"agent-server/fixtures"
	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/session"
	"agent-server/verify"
)

// stage performs what one machine wants done, as an owner would, and judges it.
type stage struct {
	m     *session.Machine
	h     *watched
	now   int64
	names *names
	rng   *rand.Rand
	// free: what the machine wants of processes is done here. Before, the recording
	// says what became of them.
	free bool
	// inbox is what follows from what was done, and has not been said yet.
	inbox []session.Input

	verifier *verify.Verifier
	conv     *reducer.Conversation
	next     int64
	events   []byte
	// gens are the processes: true while they run, false once they are stopped.
	gens map[int]bool
	// closed are the generations whose stdin takes no more.
	closed map[int]bool
	once   map[int]bool
	timers map[session.TimerID]int64
	tokens session.Token
	// owed are the requests without an answer, and what they asked for.
	owed     map[session.Token]string
	admitted []session.Admission
	ended    bool
	// cfg is the config of further turns.
	cfg protocol.RunConfig
	// own: the open turn is one that the harness opened.
	own bool
	// mad: each further line may be another than it was.
	mad bool
	// cut: the harness writes no more.
	cut bool

	log    strings.Builder
	faults []string
}

// newStage is a stage for a recording's machine; prior is what was closed before,
// nil: nothing was.
func newStage(h harness.Harness, r *recording, seed uint64, prior *stage) *stage {
	s := &stage{
		now: r.open.At, names: newNames(r.wrote), rng: rand.New(rand.NewPCG(seed, 190)), verifier: verify.New(verify.Options{}),
		next: max(r.open.NextSeq, 1), gens: map[int]bool{}, closed: map[int]bool{}, once: map[int]bool{},
		timers: map[session.TimerID]int64{}, owed: map[session.Token]string{},
	}
	s.h = &watched{Harness: h, fault: s.fault}
	if prior == nil {
		m, err := r.open.Machine(s.h)
		if err != nil {
			s.fault("%v", err)
		}
		s.m = m
		return s
	}
	s.now, s.next = prior.now, prior.m.NextSeq()
	s.m = session.New(session.Options{
		SessionID: r.open.Session, Harness: s.h, HashKey: []byte("a recording admits each turn once"), Seed: [32]byte{1},
		NextSeq: s.next, NativeID: prior.m.NativeID(), Admissions: prior.admitted,
	})
	return s
}

// fault notes a breach.
func (s *stage) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// owe is a fresh token that is owed an answer.
func (s *stage) owe(what string) session.Token {
	s.tokens++
	s.owed[s.tokens] = what
	return s.tokens
}

// step gives an input, and performs and judges what comes of it. After the first
// breach nothing happens any more: what follows would be its echo.
func (s *stage) step(in session.Input) {
	if len(s.faults) > 0 {
		return
	}
	fmt.Fprintf(&s.log, "%d %s\n", s.now, describe(in))
	s.accept(in)
	stale := s.stale(in)
	out, ok := s.guarded(in)
	if !ok {
		return
	}
	if stale && (len(out.Events) > 0 || out.Spawn != nil || out.Stop != nil || out.Stdin != nil) {
		s.fault("an input of an older generation does something")
	}
	s.judge(out)
	s.perform(out)
	for s.free && len(s.inbox) > 0 {
		next := s.inbox[0]
		s.inbox = s.inbox[1:]
		s.step(next)
	}
}

// guarded is Step; false where it panicked.
func (s *stage) guarded(in session.Input) (out session.Output, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			s.fault("panic: %v\n%s", r, debug.Stack())
		}
	}()
	out = s.m.Step(s.now, in)
	if line, is := in.(session.NativeLine); is {
		for i := range line.Line { // the bytes are the reader's
			line.Line[i] = 'X'
		}
	}
	return out, true
}

// accept tells the judge of what no event says: that a cancel was taken.
func (s *stage) accept(in session.Input) {
	open, _ := s.m.Active()
	switch in := in.(type) {
	case session.CancelTurn:
		if open != "" && (in.TurnID == "" || in.TurnID == open) {
			s.verifier.Cancelled(open)
		}
	case session.Close:
		if open != "" && (in.Force || s.own) {
			s.verifier.Cancelled(open)
		}
	case session.Shutdown:
		if open != "" && in.Drain <= 0 {
			s.verifier.Cancelled(open)
		}
	case session.Deadline:
		if in.Timer.Name == "drain" && open != "" {
			s.verifier.Cancelled(open)
		}
	}
}

// stale says whether an input is of a process that is not the live one.
func (s *stage) stale(in session.Input) bool {
	line, ok := in.(session.NativeLine)
	return ok && line.Gen != s.m.Generation()
}

// perform notes what is to be done; where the stage is free it is done.
func (s *stage) perform(out session.Output) {
	if out.Stop != nil {
		s.gens[out.Stop.Gen] = false
	}
	if out.Spawn != nil {
		s.gens[out.Spawn.Gen], s.once[out.Spawn.Gen] = true, out.Spawn.Command.StdinOnce
		s.inbox = append(s.inbox, session.Spawned{Gen: out.Spawn.Gen})
	}
	for line := range bytes.Lines(out.Stdin) {
		if answer := s.names.written(string(bytes.TrimSpace(line))); answer != "" && s.free && !s.cut {
			s.inbox = append(s.inbox, session.NativeLine{Gen: out.StdinGen, Line: []byte(answer)})
		}
	}
	if len(out.Stdin) > 0 && s.once[out.StdinGen] {
		s.closed[out.StdinGen] = true
	}
	for _, t := range out.Timers {
		if s.timers[t.ID] = t.At; t.At == 0 {
			delete(s.timers, t.ID)
		}
	}
	if out.Admit != nil {
		s.admitted = append(s.admitted, *out.Admit)
	}
	if !s.free {
		s.inbox = nil
	} else if s.rng.IntN(2) == 0 {
		s.inbox = append(s.inbox, s.exits()...)
	}
}

// exits are the ends of the processes that were stopped.
func (s *stage) exits() []session.Input {
	var all []session.Input
	for _, gen := range slices.Sorted(maps.Keys(s.gens)) {
		if !s.gens[gen] {
			delete(s.gens, gen)
			all = append(all, session.Exited{Gen: gen, Status: harness.ExitStatus{Asked: true}})
		}
	}
	return all
}

// kill is the end of the live process, of its own accord.
func (s *stage) kill(status harness.ExitStatus) {
	if gen := s.m.Generation(); gen != 0 {
		delete(s.gens, gen)
		s.step(session.Exited{Gen: gen, Status: status})
	}
}

// pass lets time go by; due timers expire in their order.
func (s *stage) pass(until int64) {
	for range 1000 {
		id, ok := s.due(until)
		if !ok || len(s.faults) > 0 {
			break
		}
		s.now = max(s.now, s.timers[id])
		delete(s.timers, id)
		s.step(session.Deadline{Timer: id})
	}
	s.now = max(s.now, until)
}

// due is the earliest timer up to a time.
func (s *stage) due(until int64) (session.TimerID, bool) {
	ids := slices.SortedFunc(maps.Keys(s.timers), func(a, b session.TimerID) int {
		if s.timers[a] != s.timers[b] {
			return int(s.timers[a] - s.timers[b])
		}
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	if len(ids) == 0 || s.timers[ids[0]] > until {
		return session.TimerID{}, false
	}
	return ids[0], true
}

// settle exits what was stopped.
func (s *stage) settle() {
	for _, in := range s.exits() {
		s.step(in)
	}
}

// describe is an input for a report.
func describe(in session.Input) string {
	if line, ok := in.(session.NativeLine); ok {
		return fmt.Sprintf("line of %d: %.200s", line.Gen, line.Line)
	}
	return fmt.Sprintf("%T %.200s", in, fmt.Sprintf("%+v", in))
}

// tail is the end of the record, for a report.
func (s *stage) tail() string {
	lines := strings.Split(s.log.String(), "\n")
	lines = lines[max(0, len(lines)-25):]
	for i := range lines {
		lines[i] = fmt.Sprintf("%.300s", lines[i])
	}
	return strings.Join(lines, "\n")
}

// feed gives one step of the recording, as far as it still makes sense.
func (s *stage) feed(r *recording, at fixtures.Step) {
	if !s.free {
		s.now = at.At
		s.step(s.exact(at.Input))
		return
	}
	s.pass(at.At)
	if in := s.fitted(r, at.Input); in != nil {
		s.step(in)
	}
}

// exact is an input of the recording with a token that is known to be owed.
func (s *stage) exact(in session.Input) session.Input {
	switch in := in.(type) {
	case session.NativeLine:
		in.Line = bytes.Clone(in.Line)
		return in
	case session.Exited:
		delete(s.gens, in.Gen)
		return in
	case session.Deadline:
		delete(s.timers, in.Timer)
		return in
	}
	return s.owed1(in)
}

// owed1 gives a request its token.
func (s *stage) owed1(in session.Input) session.Input {
	switch in := in.(type) {
	case session.StartTurn:
		in.Token = s.owe("start " + in.TurnID)
		return in
	case session.CancelTurn:
		in.Token = s.owe("cancel")
		return in
	case session.ResolvePermission:
		in.Token = s.owe("resolve")
		return in
	case session.Close:
		in.Token = s.owe("close")
		return in
	}
	return in
}

// fitted is an input of the recording as it fits what has become of the session;
// nil where it has no place in it.
func (s *stage) fitted(r *recording, in session.Input) session.Input {
	live := s.m.Generation()
	switch in := in.(type) {
	case session.NativeLine:
		if live == 0 || s.cut {
			return nil
		}
		return session.NativeLine{Gen: live, Line: s.maddened([]byte(s.names.line(string(in.Line))))}
	case session.Exited:
		if live != 0 {
			s.kill(in.Status)
		}
		return nil
	case session.ResolvePermission:
		return s.resolution(in)
	case session.StartTurn:
		harness := in.Config.Harness
		in.Config.Harness = s.h.Info().ID
		if harness == "" {
			in.Config = r.config(s.h.Info().ID)
		}
		return s.owed1(in)
	case session.CancelTurn:
		return s.owed1(in)
	}
	return nil
}

// resolution answers the request that is open, where it is another now.
func (s *stage) resolution(in session.ResolvePermission) session.Input {
	open := s.m.PendingPermissions()
	if len(open) == 0 {
		return nil
	}
	if !slices.Contains(open, in.RequestID) {
		in.RequestID = open[0]
	}
	return s.owed1(in)
}

// event takes one event in.
func (s *stage) event(e session.Stamped, id string) {
	if e.Seq != s.next || s.ended {
		s.fault("%s has seq %d, want %d; ended %v", e.Event.Type(), e.Seq, s.next, s.ended)
	}
	s.next = e.Seq + 1
	env := protocol.Envelope{SessionID: id, Seq: e.Seq, Event: e.Event}
	line := protocol.AppendEnvelope(nil, env)
	s.events = append(append(s.events, line...), '\n')
	s.log.Write(append(line, '\n'))
	s.conv = reducer.Reduce(s.conv, e.Event)
	for _, v := range s.verifier.AddRaw(line) {
		s.fault("verify: %s at event %d: %s", v.Rule, v.Index, v.Message)
	}
	switch ev := e.Event.(type) {
	case *protocol.TurnStarted:
		s.own = ev.Meta != nil
	case *protocol.SessionEnded:
		s.ended = true
	}
}
