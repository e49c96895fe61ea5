package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
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

// serveFlags are what serve was called with.
type serveFlags struct {
	setup
	// stdio is all there is to serve on yet; false is refused.
	stdio bool
	// drain is how long running turns may go on; 0: not at all.
	drain time.Duration
}

// newServeCommand is the gateway as a subprocess of its client.
func newServeCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the protocol on stdin and stdout",
		Long: `Serve protocol 2: JSON-RPC 2.0, one object a line. stdout carries the wire and
nothing else; the log goes to stderr.

It ends when stdin ends (what runs is cancelled), when a client calls shutdown, and
on SIGTERM, SIGINT or SIGHUP: running turns may then go on for --drain-timeout and
are cancelled after it. In each case every request that was read is answered, every
event is written, and no harness is left. A second signal kills what is left.

Exit codes: 0 ended in order; 2 usage; 3 something was left unsaid or would not end;
130 killed by a second signal.`,
		Example: `  agent-server serve --stdio
  agent-server serve --acp-agent gemini="gemini --experimental-acp"
  printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":2}}' | agent-server serve --stdio`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve() },
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.stdio, "stdio", true, "serve on stdin and stdout")
	cmd.Flags().DurationVar(&f.drain, "drain-timeout", gateway.DefaultDrainTimeout, "how long running turns may go on after a signal or shutdown")
	return cmd
}

// serve joins gateway, stream and signals, and waits for the end.
func (f *serveFlags) serve() error {
	switch {
	case !f.stdio:
		return usage("--stdio=false leaves nothing to serve on")
	case f.drain < 0:
		return usage("--drain-timeout %s: want a time that is not negative", f.drain)
	}
	o, err := f.options()
	if err != nil {
		return usage("%w", err)
	}
	o.DrainTimeout = f.drain
	if f.drain == 0 {
		o.DrainTimeout = -1 // its zero is the default
	}
	signals, usual := stopSignals()
	defer usual()
	adoptOrphans()
	gw, err := gateway.New(o)
	if err != nil {
		return usage("%w", err)
	}
	sub := gw.Connect(gateway.ConnectOptions{Pause: true, Name: "stdio"})
	framing := transport.NDJSON(os.Stdin, os.Stdout, 0, 0, closeStdio)
	s := &serving{gw: gw, stream: transport.Open(framing, sub, sub, transport.Options{Logger: o.Logger}),
		signals: signals, drain: f.drain, log: o.Logger}
	return s.exit(s.untilEnd())
}

// serving is a gateway on stdio. One goroutine has it.
type serving struct {
	gw     *gateway.Gateway
	stream *transport.Stream
	// signals are those that ask us to end.
	signals <-chan os.Signal
	// drain is what a signal leaves to running turns.
	drain time.Duration
	log   *zap.Logger
	// heard counts signals; killed is set by the second.
	heard  int
	killed bool
}

// untilEnd waits for what ends the gateway, and lets it end in order.
//
//	a signal          running turns may go on for the drain; a second one kills
//	a client's call   the gateway drains by itself, and is done when we hear of it
//	stdin's end       running turns are cancelled
//	stdout's end      the same: nobody hears what they say
//
// Events that become visible on the way, the ends of turns and sessions, are
// written after that, and then answers that are still owed.
func (s *serving) untilEnd() error {
	drain := time.Duration(0)
	input := s.stream.InputEnded() // from here on: closed once all of it was handed on
	select {
	case <-s.signals:
		s.heard, drain = 1, s.drain
	case <-s.gw.Done(): // a client has asked for it
	case <-input:
		input = nil
	case <-s.stream.Closed():
		input = nil
	}
	s.log.Info("the gateway ends", zap.Duration("drain", drain))
	err := s.shutdown(drain, input)
	bound := flushBound
	if s.killed {
		bound = killedBound
	}
	flush, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	return errors.Join(err, s.stream.Finish(flush))
}

// shutdown ends every session. Nobody is left to drain for once stdin has ended.
// The first signal may come after that: a group of processes is told at once.
func (s *serving) shutdown(drain time.Duration, input <-chan struct{}) error {
	ctx, kill := context.WithCancel(context.Background())
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

// closeStdio ends both directions: the peer sees EOF, and a read that waits is
// let go where the system allows it. Where it does not, as with a terminal or a
// pipe that was handed to us, that read ends with the process.
func closeStdio() error { return errors.Join(os.Stdout.Close(), os.Stdin.Close()) }
