package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"agent-server/gateway"
	"agent-server/transport"
)

// flushBound is what the last events may take to leave.
const flushBound = 10 * time.Second

type serveFlags struct {
	setup
	stdio bool
	drain time.Duration
}

func newServeCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the protocol on stdin and stdout",
		Long: `Serve protocol 2: JSON-RPC 2.0, one object a line. stdout carries the wire and
nothing else; the log goes to stderr. End of input cancels what runs and ends the
gateway; SIGTERM and SIGINT let running turns finish within --drain-timeout first.`,
		Example: `  agent-server serve --stdio
  printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":2}}' | agent-server serve --stdio`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd.Context()) },
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.stdio, "stdio", true, "serve on stdin and stdout")
	cmd.Flags().DurationVar(&f.drain, "drain-timeout", gateway.DefaultDrainTimeout, "how long running turns may go on after SIGTERM")
	return cmd
}

func (f *serveFlags) serve(ctx context.Context) error {
	if !f.stdio {
		return &exitError{exitUsage, errors.New("--stdio=false leaves nothing to serve on")}
	}
	o, err := f.options()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	o.DrainTimeout = f.drain
	if f.drain == 0 {
		o.DrainTimeout = -1
	}
	gw, err := gateway.New(o)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	sub := gw.Connect(gateway.ConnectOptions{Pause: true, Name: "stdio"})
	framing := transport.NDJSON(os.Stdin, os.Stdout, 0, 0, closeStdio)
	stream := transport.Open(framing, sub, sub, transport.Options{Logger: o.Logger})
	return errors.Join(f.untilEnd(ctx, gw, stream), gw.Close())
}

// untilEnd waits for what ends the gateway: a signal, a client's shutdown, or
// the end of input; then lets it end in order.
func (f *serveFlags) untilEnd(ctx context.Context, gw *gateway.Gateway, stream *transport.Stream) error {
	drain := time.Duration(0)
	select {
	case <-ctx.Done():
		drain = f.drain
	case <-gw.Done():
	case <-stream.InputEnded():
	case <-stream.Closed():
	}
	err := gw.Shutdown(context.Background(), drain)
	flush, cancel := context.WithTimeout(context.Background(), flushBound)
	defer cancel()
	if ferr := stream.Finish(flush); ferr != nil {
		err = errors.Join(err, ferr)
	}
	if err != nil {
		return &exitError{exitTurnFailed, fmt.Errorf("ending: %w", err)}
	}
	return nil
}

// closeStdio ends both directions: the peer sees EOF, and a read that waits is
// let go where the system allows it.
func closeStdio() error { return errors.Join(os.Stdout.Close(), os.Stdin.Close()) }
