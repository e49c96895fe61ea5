package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Bounds of an end that was asked for. The gateway keeps its own, which are
// shorter; these are for what it cannot see, such as a stdout that is full.
const (
	// endBound is how long the end of a run may take once it was asked for: a
	// harness that ignores everything is killed well before.
	endBound = 45 * time.Second
	// quitBound is how long the follower may take to notice that we quit. Beyond
	// it, it is stuck in a write that nobody reads.
	quitBound = 2 * time.Second
)

// watcher decides when a turn is cancelled and when a run ends early. It does
// nothing that may block: what it says and asks for it sets off beside itself.
//
//	heard                     before the turn's end            after it
//	a signal                  cancel; once more: quit          quit
//	--timeout                 cancel                           –
//	stdout takes no more      cancel                           –
//	endBound since the first  quit                             quit
//	quitBound since quitting  the follower is left behind      the same
//
// A cancel that comes before the turn is admitted waits for that: the gateway
// would answer that there is no such turn, and the turn would run.
type watcher struct {
	*turn
	// ctx is the follower's; quit ends it.
	ctx  context.Context
	quit context.CancelFunc

	signals <-chan os.Signal
	// timeout is what the flag says; timeUp fires then, once. nil: never.
	timeout time.Duration
	timeUp  <-chan time.Time
	// overdue fires when the end has taken too long.
	overdue <-chan time.Time

	// running: the turn can be cancelled. ended: it is over, its gateway ends.
	running, ended bool
	// wanted: a cancel was asked for. quitted: so was our own end.
	wanted, quitted, interrupted, timedOut bool
}

// play runs the turn to its end, or to ours, and closes the gateway. When it
// returns, no process is left, and no goroutine but a stuck follower and the
// asker's reader.
func (t *turn) play(ctx context.Context, signals <-chan os.Signal, timeout time.Duration) verdict {
	w := &watcher{turn: t, signals: signals, timeout: timeout}
	w.ctx, w.quit = context.WithCancel(ctx)
	defer w.quit()
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		w.timeUp = timer.C
	}
	told := make(chan story, 1)
	go func() { told <- t.follow(w.ctx) }()
	s, joined := w.watch(told)
	if w.quitted && joined && !w.interrupted {
		s.err = fmt.Errorf("the run did not end within %s; what was left of it was killed", endBound)
	}
	v := verdict{story: s, interrupted: w.interrupted, timedOut: w.timedOut, stuck: !joined, closing: t.l.close()}
	if joined {
		t.ask.close()
		t.beside.Wait()
		t.show.end()
		v.output = t.show.out.fault()
	}
	return v
}

// watch waits for the follower's story; joined is false where it was left behind.
// A channel is set to nil once it has fired: each is news one time only.
func (w *watcher) watch(told <-chan story) (s story, joined bool) {
	admitted, over, failed := w.admitted, w.over, w.show.out.failed
	for {
		select {
		case s := <-told:
			return s, true
		case <-admitted:
			admitted, w.running = nil, true
			if w.wanted {
				w.sendCancel()
			}
		case <-over:
			over, w.running, w.ended = nil, false, true
			w.boundEnd()
		case <-w.timeUp:
			w.timeUp = nil
			w.timeIsUp()
		case <-failed:
			failed = nil
			w.unread()
		case <-w.signals:
			w.signalled()
		case <-w.overdue:
			if w.quitted {
				return story{err: errStuck}, false
			}
			w.leave()
		}
	}
}

// errStuck: the follower hangs in a write.
var errStuck = errors.New("stdout is not being read")

// signalled cancels the turn; where that was tried, or there is none any more, it
// quits. A third signal finds nothing left to do: the end is bounded by then.
func (w *watcher) signalled() {
	if w.interrupted || w.ended {
		w.interrupted = true
		w.leave()
		return
	}
	w.interrupted = true
	w.want("cancelling the turn; Ctrl-C again quits")
}

// timeIsUp cancels the turn, unless it has just ended. A turn that then ends in its
// own way has still taken too long.
func (w *watcher) timeIsUp() {
	if !w.ended {
		w.timedOut = true
		w.want(fmt.Sprintf("timed out after %s, cancelling the turn", w.timeout))
	}
}

// unread cancels a turn that can no longer be shown.
func (w *watcher) unread() {
	if !w.ended {
		w.want("stdout takes no more; cancelling the turn")
	}
}

// want cancels the turn now, or once it is admitted.
func (w *watcher) want(why string) {
	w.aside(why)
	if w.running && !w.wanted {
		w.sendCancel()
	}
	w.wanted = true
	w.boundEnd()
}

// sendCancel does not wait: a cancel may be answered late, and a signal may come
// meanwhile.
func (w *watcher) sendCancel() { w.beside.Go(func() { w.cancel(w.ctx) }) }

// boundEnd starts the clock of the end, once: asking again gains no time.
func (w *watcher) boundEnd() {
	if w.overdue == nil {
		w.overdue = time.After(endBound)
	}
}

// leave lets the follower go where it is. What runs is killed when the gateway is
// closed, which comes next.
func (w *watcher) leave() {
	if !w.quitted {
		w.quitted = true
		w.quit()
		w.overdue = time.After(quitBound)
	}
}
