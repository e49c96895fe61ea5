package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
)

// Process is one running child and whatever it started. Only Start makes one. Any goroutine.
//
//	Write → inlet → stdin │ child │ stdout → lines → Sink.Line
//	                      │       │ stderr → tail
//	Stop, Kill → supervise → family: signals … none left → finish → Sink.Exited
type Process struct {
	spec   Spec
	sink   Sink
	log    *zap.Logger
	child  *child  // the one we started and have to reap
	family *family // everybody else, and the signals for all

	stdin          *inlet
	stdout, stderr *outlet
	tail           tail           // the stderr reader's until io has been waited for
	io             sync.WaitGroup // both readers and the writer
	readErr        [2]error       // what ended stdout and stderr, valid as tail is

	stopOnce, killOnce sync.Once
	stop, kill         chan struct{} // closed to ask for that rung
	exited             chan struct{} // closed when the child itself is gone
	mute               chan struct{} // closed when its stdout has ended
	done               chan struct{}
	asked              atomic.Bool // Stop or Kill came before the exit
	cause              error       // why we stop a child unasked; the writer's until io is waited for
}

// Start runs the child that spec describes. It returns at once; its error names the path and the
// reason, and then the sink is never called.
func Start(spec Spec, sink Sink) (*Process, error) {
	spec = spec.withDefaults()
	files, err := openPipes()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", spec.Path, err)
	}
	cmd := spec.command(files)
	err = spawn(cmd)
	closeAll(files.child)
	if err != nil {
		closeAll(files.ours)
		return nil, spec.startError(err)
	}
	p := newProcess(spec, sink, files)
	p.child = &child{cmd: cmd}
	p.family = newFamily(cmd.Process.Pid, spec.Marker)
	p.log = spec.Log.With(zap.String("path", spec.Path), zap.Int("pid", cmd.Process.Pid))
	p.run()
	return p, nil
}

// newProcess puts the parts together that do not depend on the child.
func newProcess(spec Spec, sink Sink, files *pipes) *Process {
	p := &Process{
		spec:   spec,
		sink:   sink,
		stdout: newOutlet(files.ours[1]),
		stderr: newOutlet(files.ours[2]),
		stop:   make(chan struct{}),
		kill:   make(chan struct{}),
		exited: make(chan struct{}),
		mute:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	p.stdin = &inlet{
		f:      files.ours[0],
		max:    spec.MaxQueuedStdin,
		stall:  spec.Ladder.Stall,
		lost:   p.fail,
		writer: &p.io,
	}
	return p
}

// run starts the goroutines: readers, exit watcher, supervisor.
func (p *Process) run() {
	p.io.Go(func() {
		defer close(p.mute)
		reader := lines{max: p.spec.MaxLineBytes, line: p.sink.Line, dropped: p.sink.Dropped}
		p.readErr[0] = wrap("reading stdout", reader.read(p.stdout))
	})
	p.io.Go(func() {
		_, err := io.CopyBuffer(&p.tail, p.stderr, make([]byte, smallChunk))
		p.readErr[1] = wrap("reading stderr", err)
	})
	go func() {
		p.child.await()
		close(p.exited)
	}()
	go p.supervise()
}

// Write queues b, one or more whole lines, for stdin. It copies b and never blocks. It fails with
// ErrClosed after CloseStdin, Stop, Kill or the exit, and with ErrStdinFull, nothing queued, when
// the child leaves too much unread. That a line was queued does not say that it was read.
func (p *Process) Write(b []byte) error {
	return p.stdin.write(b)
}

// Dying says whether the child has ended, or is about to and runs no more of its program: who
// asks before a Write knows that nothing written would be acted on. Only on Linux is a death
// seen before its exit.
func (p *Process) Dying() bool {
	select {
	case <-p.exited:
		return true
	default:
		return p.child.dying()
	}
}

// CloseStdin closes stdin once everything queued has been written. The child goes on.
func (p *Process) CloseStdin() {
	p.stdin.hangup()
}

// Stop starts down the ladder (see [Ladder]): what is queued for stdin is still written if the
// child reads it in time, then the child has to end. It is idempotent and returns at once.
func (p *Process) Stop() {
	p.ask(p.climbStop)
}

// Kill goes straight to the SIGKILL rung. It is idempotent and returns at once.
func (p *Process) Kill() {
	p.ask(func() { p.killOnce.Do(func() { close(p.kill) }) })
}

// ask notes whether the child was still there to be asked, refuses further input and asks.
func (p *Process) ask(how func()) {
	select {
	case <-p.exited:
	default:
		p.asked.Store(true)
	}
	p.stdin.refuse()
	how()
}

// climbStop asks the supervisor for the first rung.
func (p *Process) climbStop() {
	p.stopOnce.Do(func() { close(p.stop) })
}

// fail stops a child that no longer takes its input: what it was told is lost, so whoever waits
// for its answer would wait for ever. Called by the writer, at most once.
func (p *Process) fail(err error) {
	p.cause = err
	p.log.Warn("stopping a child that does not take its input", zap.Error(err))
	p.climbStop()
}

// Done is closed after the sink's Exited has returned.
func (p *Process) Done() <-chan struct{} {
	return p.done
}

// Wait waits until Done is closed.
func (p *Process) Wait() {
	<-p.done
}

// PID returns the child's process id, which is also its group's and session's on Unix.
func (p *Process) PID() int {
	return p.child.cmd.Process.Pid
}

// finish reaps the child, joins the pipes and reports.
func (p *Process) finish(d *descent) {
	var state *os.ProcessState
	var waitErr error
	p.stdin.abort(false)
	p.family.close()
	if d.gone {
		state, waitErr = p.child.reap()
	} else {
		go p.reapLate()
	}
	p.stdout.drain()
	p.stderr.drain()
	p.io.Wait()
	p.stdout.f.Close()
	p.stderr.f.Close()
	status := statusOf(state)
	status.StderrTail = p.tail.String()
	status.Stopped = p.asked.Load()
	status.Unread = p.stdin.left()
	cause := p.cause
	if status.Stopped || !d.signalled {
		cause = nil // it had ended, or was to end, anyway: that its stdin broke is no news
	}
	if d.mute && !status.Stopped {
		cause = errors.Join(cause, errMute)
	}
	status.Err = errors.Join(cause, wrap("waiting", waitErr), p.readErr[0], p.readErr[1], d.fault())
	p.sink.Exited(status)
	close(p.done)
}

// reapLate waits for a child that could not be killed, so that it leaves no zombie if it ever
// ends. It is the only goroutine that may outlive Done.
func (p *Process) reapLate() {
	<-p.exited
	p.child.reap()
}

// wrap says what was being done; no error stays none.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
