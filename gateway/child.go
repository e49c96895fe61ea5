package gateway

import (
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"agent-server/harness"
	"agent-server/harness/process"
	"agent-server/protocol"
	"agent-server/session"
)

// child is one process of a session, and the sink of its lines. It knows the
// machine it was started for: what it says after that machine's end goes nowhere,
// though its generation may be the next machine's too.
type child struct {
	s       *Session
	machine *session.Machine
	// over is closed when that machine has ended.
	over <-chan struct{}
	gen  int
	// harness is what it runs.
	harness protocol.HarnessID
	proc    *process.Process
	// once is true where stdin is closed behind what is first written.
	once bool
	// gone is closed when its exit has been taken note of.
	gone chan struct{}
}

// pendingSpawn waits for the processes before it to be gone: a native session is
// never in two processes, and a restart takes as long as the stop ladder of the
// old one.
type pendingSpawn struct {
	spawn session.Spawn
	// stdin is what was to be written meanwhile.
	stdin []byte
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
		s.write(out.StdinGen, out.Stdin)
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
		c.stop(stop.Kill)
	}
}

// childOf is the live process of a generation; nil: there is none.
func (s *Session) childOf(gen int) *child {
	for _, c := range s.children {
		if c.gen == gen && c.machine == s.machine {
			return c
		}
	}
	return nil
}

// write queues lines for a process, or keeps them for one that has yet to start.
// One that takes none is on its way out, or is stopped for it: its exit is what
// the machine goes by.
func (s *Session) write(gen int, lines []byte) {
	if s.waiting != nil && s.waiting.spawn.Gen == gen {
		s.waiting.stdin = append(s.waiting.stdin, lines...)
		return
	}
	c := s.childOf(gen)
	if c == nil {
		return
	}
	if err := c.proc.Write(lines); err != nil {
		s.gw.zap.Warn("harness takes no input", zap.String("session", s.id), zap.Error(err))
		if errors.Is(err, process.ErrStdinFull) {
			c.stop(false) // the line is lost to it: what it did without would be another's wish
		}
		return
	}
	if c.once && len(lines) > 0 {
		c.proc.CloseStdin()
	}
}

// spawnIfFree starts the waiting process once no other of this session is left,
// and gives it what was written meanwhile.
func (s *Session) spawnIfFree() {
	w := s.waiting
	if w == nil || len(s.children) > 0 {
		return
	}
	s.waiting = nil
	c, err := s.spawn(w.spawn)
	if err != nil {
		s.queue = append(s.queue, session.SpawnFailed{Gen: w.spawn.Gen, Message: err.Error()})
		return
	}
	s.children = append(s.children, c)
	if len(w.stdin) > 0 {
		s.write(c.gen, w.stdin)
	}
	s.queue = append(s.queue, session.Spawned{Gen: c.gen})
}

// spawn starts one process. The session's lock is held, so that no line of it is
// taken before the machine has heard of it. The executable is looked up again: it
// may have gone since the turn was admitted, and the error then says so.
func (s *Session) spawn(sp session.Spawn) (*child, error) {
	path, err := s.reg.resolve()
	if err != nil {
		return nil, err
	}
	o := s.gw.o
	c := &child{s: s, machine: s.machine, over: s.over, gen: sp.Gen, harness: s.ranAs, once: sp.Command.StdinOnce, gone: make(chan struct{})}
	c.proc, err = process.Start(process.Spec{
		Path: path, Args: slices.Concat(s.reg.Args, sp.Command.Args), Dir: sp.Launch.Config.Cwd, MaxLineBytes: o.MaxLineBytes,
		MaxQueuedStdin: s.gw.maxStdin, Log: s.gw.zap,
		Env: environment(o.Environ, o.PassEnv, s.reg.Harness.Info(), sp.Command.Env, sp.Launch.Config),
	}, c)
	if err != nil {
		return nil, fmt.Errorf("starting harness %s: %w", s.reg.Harness.Info().ID, err)
	}
	s.gw.metrics.born(s.ranAs, sp.Gen)
	s.gw.zap.Info("harness started", zap.String("session", s.id), zap.Int("pid", c.proc.PID()), zap.Int("gen", c.gen))
	return c, nil
}

// stop asks for the end; it does not wait.
func (c *child) stop(kill bool) {
	if kill {
		c.proc.Kill()
		return
	}
	c.proc.Stop()
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
	if limit := c.s.gw.o.MaxLagBytes; c.s.cursors.behind(limit) != nil {
		log := c.s.gw.zap.With(zap.String("session", c.s.id), zap.Int("gen", c.gen))
		log.Info("harness held: a connection is too far behind", zap.Int64("maxLagBytes", limit))
		c.s.cursors.throttle(limit, c.over)
		log.Info("harness goes on")
	}
	c.feed(session.NativeLine{Gen: c.gen, Line: line})
}

// Dropped implements process.Sink: a line was too long to be held.
func (c *child) Dropped(bytes int64) { c.feed(session.LineDropped{Gen: c.gen, Bytes: bytes}) }

// Exited implements process.Sink: the process and all its descendants are gone.
// Whoever waited for that to start the next one is served here.
func (c *child) Exited(st process.Status) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(c.gone)
	s.gw.zap.Info("harness ended", zap.String("session", s.id), zap.Int("gen", c.gen), zap.Stringer("status", st))
	if st.Err != nil {
		s.gw.zap.Warn("harness ended with a fault beside its exit", zap.String("session", s.id), zap.Int("gen", c.gen), zap.Error(st.Err))
	}
	s.drop(c)
	s.gw.metrics.processes(-1, string(c.harness))
	if c.machine == s.machine {
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

// drop takes a process off the list: it is gone, and no longer in anyone's way.
func (s *Session) drop(c *child) {
	for i, other := range s.children {
		if other == c {
			s.children = append(s.children[:i], s.children[i+1:]...)
			return
		}
	}
}
