package harnesstest

import (
	"bytes"
	"encoding/json"
	"slices"

	"agent-server/reducer"
	"agent-server/session"
)

// sessionID names every session that is judged.
const sessionID = "session"

// judge holds an output to what must be so after every step.
func (s *stage) judge(out session.Output) {
	for _, e := range out.Events {
		s.event(e, sessionID)
	}
	for _, a := range slices.Concat(out.Acks, out.Replies) {
		if _, ok := s.owed[a.Token]; !ok || (a.Result == nil) == (a.Err == nil) {
			s.fault("token %d is answered again, or by nothing: %+v", a.Token, a)
		}
		delete(s.owed, a.Token)
	}
	s.judgeProcesses(out)
	s.judgeStdin(out)
	if _, open := s.m.Active(); open && s.m.Generation() == 0 {
		s.fault("a turn is open that no process runs")
	}
	if len(s.m.PendingPermissions()) > 0 && s.m.Phase() != session.PhaseRunning {
		s.fault("something is asked and no turn is open")
	}
}

// judgeProcesses: one lives at a time, and only it is stopped.
func (s *stage) judgeProcesses(out session.Output) {
	if out.Stop != nil && !s.gens[out.Stop.Gen] {
		s.fault("generation %d is stopped and does not run", out.Stop.Gen)
	}
	if out.Spawn == nil {
		return
	}
	for gen, runs := range s.gens {
		if gen >= out.Spawn.Gen || runs && (out.Stop == nil || out.Stop.Gen != gen) {
			s.fault("generation %d is started beside %d", out.Spawn.Gen, gen)
		}
	}
}

// judgeStdin: what is written are whole lines for a process that lives and still
// reads; each is one JSON object, but for a prompt that is all that is ever read.
func (s *stage) judgeStdin(out session.Output) {
	if len(out.Stdin) == 0 {
		return
	}
	gen := out.StdinGen
	spawned := out.Spawn != nil && out.Spawn.Gen == gen
	if !s.gens[gen] && !spawned || s.closed[gen] || out.Stop != nil && out.Stop.Gen == gen {
		s.fault("generation %d is written to and does not read: %.200q", gen, out.Stdin)
	}
	if !bytes.HasSuffix(out.Stdin, []byte("\n")) {
		s.fault("half a line is written: %.200q", out.Stdin)
	}
	if s.once[gen] || spawned && out.Spawn.Command.StdinOnce {
		return
	}
	for line := range bytes.Lines(out.Stdin) {
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' || !json.Valid(line) {
			s.fault("what is written is no object: %.200q", line)
		}
	}
}

// finish brings everything to its end: what the machine waits for expires, what is
// still open is cancelled, the session is closed. Then nothing may be left.
func (s *stage) finish() {
	s.free = true
	for range 4 {
		s.settle()
		if _, open := s.m.Active(); open {
			s.step(session.CancelTurn{Token: s.owe("the last cancel")})
		}
		s.pass(s.now + 75_000)
	}
	if !s.ended {
		s.step(session.Close{Token: s.owe("the last close")})
	}
	for len(s.gens) > 0 && len(s.faults) == 0 {
		s.settle()
	}
	if len(s.faults) == 0 {
		s.judgeEnd()
	}
}

// judgeEnd: nothing is left.
func (s *stage) judgeEnd() {
	if turn, open := s.m.Active(); open || !s.ended || s.m.Phase() != session.PhaseClosed {
		s.fault("turn %q is open, session ended %v, phase %v", turn, s.ended, s.m.Phase())
	}
	if len(s.owed)+len(s.timers)+s.m.QueuedTurns() > 0 {
		s.fault("left: answers %v, timers %v, %d turns that wait", s.owed, s.timers, s.m.QueuedTurns())
	}
	for _, v := range s.verifier.Finish() {
		s.fault("verify: %s at event %d: %s", v.Rule, v.Index, v.Message)
	}
	if !json.Valid(s.conv.AppendJSON(nil)) {
		s.fault("the fold is no JSON")
	}
	for _, turn := range s.conv.Turns() {
		if turn.StopReason == "" || turn.EndedAt == nil {
			s.fault("turn %s has no end in the fold", turn.TurnID)
		}
	}
	if open := reducer.PendingPermissions(s.conv); len(open) > 0 {
		s.fault("the fold still asks %+v", open)
	}
}
