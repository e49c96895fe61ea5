package gateway

import (
	"errors"

	"go.uber.org/zap"

	"agent-server/harness"
	"agent-server/harness/process"
	"agent-server/protocol"
	"agent-server/session"
)

// running is a process that was started; a *process.Process is one.
type running interface {
	// Write queues lines for its stdin, and CloseStdin closes that behind them.
	Write(lines []byte) error
	CloseStdin()
	// Stop ends it in order, Kill at once; neither waits.
	Stop()
	Kill()
	// Dying: its end has begun.
	Dying() bool
}

// child is one process of a session, from the moment that its start begins, and the
// sink of its lines. It knows the machine it was started for: what it says after
// that machine's end goes nowhere, though its generation may be the next machine's
// too. The session's lock guards it.
type child struct {
	s       *Session
	machine *session.Machine
	// over is closed when that machine has ended.
	over <-chan struct{}
	gen  int
	// harness is what it runs.
	harness protocol.HarnessID
	// proc is the process; nil until its start has come back. ready is closed then,
	// or when it has failed: the sink waits for it.
	proc  running
	ready chan struct{}
	// held is what was to be written before that; doomed is set where it was to be
	// stopped, late where it was given up.
	held         []byte
	doomed, late bool
	// once is true where stdin is closed behind what is first written.
	once bool
	// prompts counts those that it was given; owed are the bytes it was given since
	// the last one, itself included; refused those of them that it took no more.
	prompts       int
	owed, refused int64
	// native is the native session that it was last said to be in.
	native string
	// gone is closed when its exit has been taken note of.
	gone chan struct{}
}

// drive stops, spawns and writes; called under the session's lock. What comes of
// it (a spawn that fails, for instance) is queued for the machine, never fed from
// here: the step that is being performed must be over first.
func (s *Session) drive(out session.Output) {
	if out.Stop != nil {
		s.stopChild(*out.Stop)
	}
	if out.Spawn != nil {
		s.waiting = &pendingSpawn{spawn: *out.Spawn}
	}
	if len(out.Stdin) > 0 {
		s.write(out)
	}
	s.spawnIfFree()
}

// stopChild ends a process; one that is still waiting to be started is not
// started, and has ended so.
func (s *Session) stopChild(stop session.Stop) {
	if s.waiting != nil && s.waiting.spawn.Gen == stop.Gen {
		s.waiting = nil
		s.queue = append(s.queue, session.Exited{Gen: stop.Gen, Status: harness.ExitStatus{Asked: true}})
		return
	}
	if c := s.childOf(stop.Gen); c != nil {
		c.bid(stop)
		c.stop(stop.Kill)
	}
}

// bid says farewell. One that is gone, or takes nothing, ends all the same.
func (c *child) bid(stop session.Stop) {
	if c.proc != nil && len(stop.Stdin) > 0 && !stop.Kill {
		_ = c.proc.Write(stop.Stdin)
	}
}

// childOf is the process of a generation; nil: there is none.
func (s *Session) childOf(gen int) *child {
	for _, c := range s.children {
		if c.gen == gen && c.machine == s.machine {
			return c
		}
	}
	return nil
}

// write queues lines for a process, or keeps them for one that has yet to start.
func (s *Session) write(out session.Output) {
	if s.waiting != nil && s.waiting.spawn.Gen == out.StdinGen {
		s.waiting.stdin = append(s.waiting.stdin, out.Stdin...)
		s.waiting.prompt = s.waiting.prompt || out.Prompt
		return
	}
	if c := s.childOf(out.StdinGen); c != nil {
		c.write(out.Stdin, out.Prompt)
	}
}

// write gives a process lines. One that takes none is on its way out, or is stopped
// for it: its exit is what the machine goes by, but for a prompt. That one was
// refused is known here and now: it has been nowhere.
func (c *child) write(lines []byte, prompt bool) {
	if prompt {
		c.prompts++
		c.owed, c.refused = 0, 0
	}
	c.owed += int64(len(lines))
	if c.proc == nil {
		c.held = append(c.held, lines...)
		return
	}
	err := process.ErrClosed // what one takes that dies is lost
	if !prompt || c.prompts == 1 || !c.proc.Dying() {
		err = c.proc.Write(lines)
	}
	if err == nil {
		c.written()
		return
	}
	c.refused += int64(len(lines))
	c.s.gw.zap.Warn("harness takes no input", c.s.about(zap.Int("gen", c.gen), zap.Error(err))...)
	switch {
	case errors.Is(err, process.ErrStdinFull):
		c.stop(false) // the line is lost to it: what it did without would be another's wish
	case prompt && c.prompts > 1:
		c.s.queue = append(c.s.queue, session.WriteRefused{Gen: c.gen})
	}
}

// written closes the stdin of a process that reads it to its end before it begins.
func (c *child) written() {
	if c.once {
		c.proc.CloseStdin()
	}
}

// nowhere says whether the last prompt, and all that followed it, was read by nobody:
// it was refused, or lay unread when the process had died. Of a process's first
// prompt that is not asked: one that dies of its own start would only do it again.
func (c *child) nowhere(st process.Status) bool {
	return c.prompts > 1 && st.Unread+c.refused >= c.owed
}

// stop asks for the end; it does not wait. One that has yet to come is ended as soon
// as it is there.
func (c *child) stop(kill bool) {
	switch {
	case c.proc == nil:
		c.doomed = true
	case kill:
		c.proc.Kill()
	default:
		c.proc.Stop()
	}
}

// feed steps the machine the process belongs to, if it is still the session's.
// Lines come one after the other, from one goroutine: their order is the stream's.
func (c *child) feed(in session.Input) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.machine == c.s.machine {
		c.s.run(in)
	}
}

// Line implements process.Sink. While it waits its process is not read, and soon
// writes no more: that is the only brake there is. It waits while a connection that may not lose
// anything is too far behind; with its machine nobody waits for it any more.
func (c *child) Line(line []byte) {
	<-c.ready
	if limit := c.s.gw.o.MaxLagBytes; c.s.cursors.behind(limit) != nil {
		log := c.s.logger(c.gen)
		log.Info("harness held: a connection is too far behind", zap.Int64("maxLagBytes", limit))
		c.s.cursors.throttle(limit, c.over)
		log.Info("harness goes on")
	}
	c.feed(session.NativeLine{Gen: c.gen, Line: line})
}

// Dropped implements process.Sink: a line was too long to be held.
func (c *child) Dropped(bytes int64) {
	<-c.ready
	c.feed(session.LineDropped{Gen: c.gen, Bytes: bytes})
}

// Exited implements process.Sink: the process and all its descendants are gone.
// Whoever waited for that to start the next one is served here.
func (c *child) Exited(st process.Status) {
	<-c.ready
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(c.gone)
	s.gw.zap.Info("harness ended", s.about(zap.Int("gen", c.gen), zap.Stringer("status", st))...)
	if st.Err != nil {
		s.gw.zap.Warn("harness ended with a fault beside its exit", s.about(zap.Int("gen", c.gen), zap.Error(st.Err))...)
	}
	s.drop(c)
	s.gw.metrics.processes(-1, string(c.harness))
	if c.machine == s.machine {
		if c.nowhere(st) {
			s.queue = append(s.queue, session.WriteRefused{Gen: c.gen})
		}
		s.queue = append(s.queue, session.Exited{Gen: c.gen, Status: exitStatus(st)})
	}
	s.succeed()
	s.drain()
}

// exitStatus is a process's end as a machine is told it.
func exitStatus(st process.Status) harness.ExitStatus {
	out := harness.ExitStatus{Code: st.Code, Signal: st.Signal, Stderr: st.StderrTail, Asked: st.Stopped}
	if st.Err != nil {
		out.Fault = st.Err.Error()
	}
	return out
}

// succeed starts who waited for a process to be gone. It runs on that process's
// goroutine: a fault in it costs this session its machine, as one in a step does.
func (s *Session) succeed() {
	defer s.caught()
	s.spawnIfFree()
}

// drop takes a process off the list: it is gone, and no longer in anyone's way, nor
// is its native session in use.
func (s *Session) drop(c *child) {
	s.gw.natives.release(c)
	for i, other := range s.children {
		if other == c {
			s.children = append(s.children[:i], s.children[i+1:]...)
			return
		}
	}
}
