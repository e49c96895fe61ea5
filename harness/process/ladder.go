package process

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// rung is how far down the ladder a process is. It only grows.
type rung int

const (
	running rung = iota // nobody asked for the end; a deadline is that of a child gone mute
	closed              // stdin is closed, the child may end by itself
	termed              // SIGTERM was sent
	killed              // SIGKILL was sent, and is sent again to whoever is found
	givenUp             // whoever is left is reported
)

const (
	// firstPause and lastPause bound the time between two looks for who is left: nobody tells
	// us when a process that is not our child ends.
	firstPause = 2 * time.Millisecond
	lastPause  = 50 * time.Millisecond
	// quietLooks is how many looks in a row must find nobody: one may miss a process that is
	// being born or is replacing its program at that very moment.
	quietLooks = 2
)

// errMute is the fault of a child that was stopped because it could not be heard any more.
var errMute = errors.New("it had closed its stdout and lived on")

// descent is the supervisor's state. One goroutine.
type descent struct {
	p        *Process
	rung     rung
	deadline time.Time // when the next rung is due; zero is never
	gone     bool      // the child itself has exited
	mute     bool      // it was stopped for having closed its stdout
	// signalled is whether the child itself lived until it was signalled.
	signalled bool
	left      []int // who was found at the last look, the child excluded
	quiet     int   // looks in a row that found nobody
	pause     time.Duration
	timer     *time.Timer
}

// supervise takes the child from its start to the report: it is the only goroutine that signals.
//
//	Stop → climb(closed) → tick … climb(termed) → tick … climb(killed) → tick … climb(givenUp)
//	exit → childGone → tick …                      the same rungs, for those who are left
//	end of stdout → stdoutEnded → tick → climb(closed) → … where no exit comes
//	Kill → climb(killed) → tick …
func (p *Process) supervise() {
	d := &descent{p: p, pause: firstPause, timer: time.NewTimer(time.Hour)}
	d.timer.Stop()
	defer d.timer.Stop()
	stop, kill, exited, mute := p.stop, p.kill, p.exited, p.mute
	for !d.settled() {
		select {
		case <-stop:
			stop = nil
			d.climb(closed)
		case <-kill:
			kill = nil
			d.climb(killed)
		case <-exited:
			exited = nil
			d.childGone()
		case <-mute:
			mute = nil
			d.stdoutEnded()
		case <-d.timer.C:
			d.tick()
		}
		d.schedule()
	}
	p.finish(d)
}

// settled is whether there is nothing more to do: all are gone, or given up.
func (d *descent) settled() bool {
	return d.rung == givenUp || d.gone && d.quiet >= quietLooks
}

// climb goes down to a rung and does what it says; a rung already reached is not done again.
func (d *descent) climb(to rung) {
	if to <= d.rung {
		return
	}
	d.rung = to
	waits := d.p.spec.Ladder
	switch to {
	case closed:
		d.p.family.look() // who loses its parent by this is known from now on
		d.p.stdin.hangup()
		d.deadline = time.Now().Add(waits.AfterClose)
	case termed:
		d.signalled = !d.gone
		d.p.family.term(d.gone)
		d.p.stdin.abort(false) // after: its end could take a parent away before the look
		d.deadline = time.Now().Add(waits.AfterTerm)
	case killed:
		d.signalled = d.signalled || !d.gone
		d.p.family.kill()
		d.p.stdin.abort(false)
		d.deadline = time.Now().Add(waits.AfterKill)
	}
	d.p.log.Debug("going down the stop ladder", zap.Int("rung", int(to)), zap.Ints("left", d.left))
}

// stdoutEnded gives a child that can say nothing more a while to end by itself; whoever waits
// for its answer would else wait for ever.
func (d *descent) stdoutEnded() {
	if d.rung == running && !d.gone {
		d.deadline = time.Now().Add(d.p.spec.Ladder.AfterEOF)
	}
}

// childGone begins with the rest of the family: it may end by itself for a while.
func (d *descent) childGone() {
	d.gone = true
	due := time.Now().Add(d.p.spec.Ladder.AfterExit)
	if d.rung == running {
		d.rung, d.deadline = closed, due
	}
	if d.rung == closed && due.Before(d.deadline) {
		d.deadline = due
	}
	if d.rung == termed {
		d.p.family.term(d.gone) // only the group was asked so far
	}
	d.tick()
	d.p.stdin.abort(len(d.left) == 0) // who is left may have its stdin, and read on
}

// tick looks who is left and goes on down when the time has come.
func (d *descent) tick() {
	if d.gone {
		d.lookAround()
	}
	switch due := !time.Now().Before(d.deadline); {
	case d.settled() || d.deadline.IsZero():
	case due:
		if d.rung == running {
			d.mute = true
			d.p.log.Warn("stopping a child that has closed its stdout")
		}
		d.climb(d.rung + 1)
	case d.rung == killed:
		d.p.family.kill() // some may have been born behind the last look
	}
}

// lookAround counts the looks that found nobody.
func (d *descent) lookAround() {
	d.left = d.p.family.left()
	d.quiet++
	if len(d.left) > 0 {
		d.quiet = 0
	}
}

// schedule sets the timer for the next tick: the deadline, or sooner where nobody would tell us.
func (d *descent) schedule() {
	if d.deadline.IsZero() {
		return
	}
	wait := time.Until(d.deadline)
	if d.gone || d.rung == killed {
		wait = min(wait, d.pause)
		d.pause = min(2*d.pause, lastPause)
	}
	d.timer.Reset(wait)
}

// fault names who could not be ended; nil is none.
func (d *descent) fault() error {
	switch {
	case d.rung != givenUp:
		return nil
	case !d.gone:
		return fmt.Errorf("process %d outlived SIGKILL for %v", d.p.PID(), d.p.spec.Ladder.AfterKill)
	}
	return fmt.Errorf("processes %v, left by %d, outlived SIGKILL for %v", d.left, d.p.PID(), d.p.spec.Ladder.AfterKill)
}
