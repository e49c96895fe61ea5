package gateway

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"go.uber.org/zap"

	"agent-server/harness/process"
	"agent-server/session"
)

// spawnBound is how long a start may take before the turn fails. A start takes some
// milliseconds; one in a directory that does not answer never comes back.
const spawnBound = 10 * time.Second

// errUnborn is why nothing is started behind a start that has not come back.
var errUnborn = errors.New("an earlier start of a harness for this session has not come back")

// pendingSpawn waits for the processes before it to be gone: a native session is
// never in two processes, and a restart takes as long as the stop ladder of the
// old one.
type pendingSpawn struct {
	spawn session.Spawn
	// stdin is what was to be written meanwhile; prompt: a prompt is in it.
	stdin  []byte
	prompt bool
}

// spawnIfFree begins to start the waiting process once no other of this session is
// left. What was written meanwhile it is given when it is there.
func (s *Session) spawnIfFree() {
	w := s.waiting
	if w == nil || len(s.children) > 0 && !s.children[0].late {
		return
	}
	s.waiting = nil
	fail, spec := session.SpawnFailed{Gen: w.spawn.Gen}, s.spec(w.spawn)
	c := &child{s: s, machine: s.machine, over: s.over, gen: w.spawn.Gen, harness: s.ranAs, once: w.spawn.Command.StdinOnce,
		ready: make(chan struct{}), gone: make(chan struct{})}
	switch {
	case len(s.children) > 0:
		fail.Message = errUnborn.Error()
	case w.spawn.Launch.Resume != "" && !s.gw.natives.claim(w.spawn.Launch.Resume, c):
		fail.Message, fail.InUse = "the native session is in use by another session of this gateway", true
	default:
		c.write(w.stdin, w.prompt)
		s.children = append(s.children, c)
		c.start(spec)
		return
	}
	s.queue = append(s.queue, fail)
}

// spec is what is started.
func (s *Session) spec(sp session.Spawn) process.Spec {
	info, o := s.reg.Harness.Info(), s.gw.o
	return process.Spec{Path: s.reg.command(), Args: slices.Concat(s.reg.Args, sp.Command.Args), Dir: sp.Launch.Config.Cwd,
		MaxLineBytes: o.MaxLineBytes, MaxQueuedStdin: s.gw.maxStdin, Log: s.gw.zap, Marker: s.gw.marker(),
		Env: environment(o.Environ, o.PassEnv, info, sp.Command.Env, sp.Launch.Config)}
}

// start begins to start a process, beside the session's lock: a file system that
// does not answer holds up nobody but the turn.
func (c *child) start(spec process.Spec) {
	g := c.s.gw
	giveUp := g.ring(g.spawnBound, func(*alarm) { c.giveUp() })
	go func() {
		proc, err := g.startProcess(spec, c)
		giveUp.stop(g)
		if err != nil {
			err = fmt.Errorf("starting harness %s: %w", c.harness, err)
		}
		c.born(proc, err)
	}()
}

// startProcess is the start itself; it takes as long as it takes. The executable is
// looked up again: it may have gone since the turn was admitted, and the error then
// says so. The directory is looked at first: a system call that hangs between fork
// and exec would hold up every other start of this program.
func (g *Gateway) startProcess(spec process.Spec, sink process.Sink) (running, error) {
	path, err := exec.LookPath(spec.Path)
	if err != nil {
		return nil, fmt.Errorf("finding its executable: %w", err)
	}
	if _, err := g.stat(spec.Dir); err != nil {
		return nil, fmt.Errorf("looking at its directory: %w", err)
	}
	spec.Path = path
	return g.run(spec, sink)
}

// runChild starts a child process: what a harness is, but in a simulation.
func runChild(spec process.Spec, sink process.Sink) (running, error) {
	proc, err := process.Start(spec, sink)
	if err != nil {
		return nil, err // not a nil *Process, which would be a running one
	}
	return proc, nil
}

// pid is a process's id; 0 of what is no child of the system's.
func pid(proc running) int {
	if child, is := proc.(interface{ PID() int }); is {
		return child.PID()
	}
	return 0
}

// born takes note of a start that has come back. The session's lock is held until
// the machine has heard of it: no line of the process comes before that.
func (c *child) born(proc running, err error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(c.ready)
	if err != nil {
		s.drop(c)
		close(c.gone)
		c.tell(session.SpawnFailed{Gen: c.gen, Message: err.Error()})
		s.succeed()
		s.drain()
		return
	}
	c.proc = proc
	s.gw.metrics.born(c.harness, c.gen)
	s.gw.zap.Info("harness started", s.about(zap.Int("pid", pid(proc)), zap.Int("gen", c.gen))...)
	if c.doomed || c.late || c.machine != s.machine {
		proc.Kill() // it has heard of nothing yet: there is nothing to end in order
	} else if len(c.held) > 0 {
		if err := proc.Write(c.held); err != nil {
			s.gw.zap.Warn("harness takes no input", s.about(zap.Int("gen", c.gen), zap.Error(err))...)
			proc.Stop()
		}
		c.written()
	}
	c.held = nil
	c.tell(session.Spawned{Gen: c.gen})
	s.drain()
}

// giveUp fails a start that has not come back in time. If it ever does, the process
// is ended at once; until then the session starts no other.
func (c *child) giveUp() {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.proc != nil || !slices.Contains(s.children, c) {
		return
	}
	s.gw.zap.Error("a harness cannot be started in time", s.about(zap.Int("gen", c.gen))...)
	c.late = true
	c.tell(session.SpawnFailed{Gen: c.gen, Message: fmt.Sprintf("starting harness %s: no answer within %v", c.harness, s.gw.spawnBound)})
	s.succeed()
	s.drain()
}

// tell queues an input for the machine that the process was started for, unless that
// is gone, or has heard that the start was given up.
func (c *child) tell(in session.Input) {
	_, failed := in.(session.SpawnFailed)
	if c.machine == c.s.machine && (!c.late || failed) {
		c.s.queue = append(c.s.queue, in)
	}
}
