package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"agent-server/gateway"
	"agent-server/transport"
)

// Bounds of the end, beyond what the gateway itself takes.
const (
	// flushBound is what the last events may take to leave.
	flushBound = 10 * time.Second
	// killedBound is the same where we are told to end at once.
	killedBound = time.Second
)

// background is the life of a transport: it ends when it is told to, and by no
// context, since the last events leave after everything else has ended.
var background = context.Background()

// serving is a gateway on its transports. One goroutine has it.
type serving struct {
	gw *gateway.Gateway
	// stream is stdio; nil: it is not served on.
	stream *transport.Stream
	// listener is nil where nothing is listened on.
	listener *transport.Listener
	dialers  []*transport.Dialer
	// signals are those that ask us to end.
	signals <-chan os.Signal
	// drain is what a signal leaves to running turns.
	drain  time.Duration
	log    *zap.Logger
	notice notices
	// metrics answers /metrics.
	metrics http.Handler
	// heard counts signals; killed is set by the second.
	heard  int
	killed bool
}

// untilEnd waits for what ends the gateway, and lets it end in order.
//
//	a signal             running turns may go on for the drain; a second one kills
//	a client's call      the gateway drains by itself, and is done when we hear of it
//	accepting has failed the same as a signal: who is there may finish
//	stdin's end          running turns are cancelled: who has started us is gone
//	stdout's end         the same: nobody hears what they say
//
// Events that become visible on the way, the ends of turns and sessions, are
// written after that, and then answers that are still owed; then every transport
// is closed, sockets with 1001.
func (s *serving) untilEnd() error {
	drain := time.Duration(0)
	input, output := s.stdio()
	select {
	case <-s.signals:
		s.heard, drain = 1, s.drain
	case <-s.gw.Done(): // a client has asked for it
	case <-s.deaf():
		drain = s.drain
	case <-input:
		input = nil
	case <-output:
		input = nil
	}
	s.log.Info("the gateway ends", zap.Duration("drain", drain))
	fault := s.fault()
	err := s.shutdown(drain, input)
	bound := flushBound
	if s.killed {
		bound = killedBound
	}
	flush, cancel := context.WithTimeout(background, bound)
	defer cancel()
	return errors.Join(fault, err, s.flush(flush))
}

// stdio gives what tells of the end of stdin, once all of it was handed on, and of
// stdout; channels that never tell where stdio is not served.
func (s *serving) stdio() (input, output <-chan struct{}) {
	if s.stream == nil {
		return nil, nil
	}
	return s.stream.InputEnded(), s.stream.Closed()
}

// deaf is closed when nobody is accepted any more.
func (s *serving) deaf() <-chan struct{} {
	if s.listener == nil {
		return nil
	}
	return s.listener.Done()
}

// fault is why nobody is accepted any more; nil while somebody is.
func (s *serving) fault() error {
	select {
	case <-s.deaf():
		return s.listener.Err()
	default:
		return nil
	}
}

// shutdown ends every session. Nobody is left to drain for once stdin has ended.
// The first signal may come after that: a group of processes is told at once.
func (s *serving) shutdown(drain time.Duration, input <-chan struct{}) error {
	ctx, kill := context.WithCancel(background)
	defer kill()
	ended := make(chan error, 2)
	begin := func(drain time.Duration) { go func() { ended <- s.gw.Shutdown(ctx, drain) }() }
	begin(drain)
	begun := 1
	// Both calls end with the gateway: the later one makes the end sooner, and
	// waits for it like the first.
	var errs []error
	for begun > len(errs) {
		select {
		case err := <-ended:
			errs = append(errs, err)
		case <-input:
			input = nil
			begin(0)
			begun++
		case <-s.signals:
			if s.heard++; s.heard > 1 {
				s.killed = true
				kill()
			}
		}
	}
	return errs[0]
}

// flush writes to everyone what is due, and closes: to all of them at once, since
// one that takes nothing must not cost the others their time.
func (s *serving) flush(ctx context.Context) error {
	var ends []func(context.Context) error
	if s.stream != nil {
		ends = append(ends, s.stream.Finish)
	}
	if s.listener != nil {
		ends = append(ends, s.listener.Shutdown)
	}
	for _, d := range s.dialers {
		ends = append(ends, d.Shutdown)
	}
	errs := make([]error, len(ends))
	var wg sync.WaitGroup
	for i, end := range ends {
		wg.Go(func() { errs[i] = end(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// exit closes the gateway, which kills what is left, and gives the exit code. The
// stream is not waited for: its read of stdin, and a write that nobody takes, end
// with the process.
func (s *serving) exit(err error) error {
	closing := s.gw.Close()
	switch err = errors.Join(err, closing); {
	case s.killed:
		return &exitError{exitInterrupted, errors.New("killed by a second signal")}
	case err != nil:
		return &exitError{exitFailed, fmt.Errorf("ending: %w", err)}
	}
	return nil
}

// abandon ends what was opened before something could not be: nobody has been
// served yet.
func (s *serving) abandon() error {
	now, cancel := context.WithCancel(background)
	cancel()
	_ = s.flush(now) // nothing was due
	return s.gw.Close()
}

// closeStdio ends both directions: the peer sees EOF, and a read that waits is
// let go where the system allows it. Where it does not, as with a terminal or a
// pipe that was handed to us, that read ends with the process.
func closeStdio() error { return errors.Join(os.Stdout.Close(), os.Stdin.Close()) }
