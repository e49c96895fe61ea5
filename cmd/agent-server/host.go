package main

import (
	"context"
	"errors"
	"os"

	"agent-server/client"
)

// host is the gateway that a turn runs on, and our line to it: one of our own, in
// this process, or one that runs elsewhere.
type host struct {
	*client.Client
	// shutdown asks a gateway of our own for the end of what runs, and waits for it
	// as long as the context allows. Of one elsewhere it asks nothing.
	shutdown func(context.Context) error
	// close ends the line. A gateway of our own ends with it, and what is left
	// there is killed; one elsewhere goes on with whatever it runs.
	close func() error
}

// elsewhere is a host that is not ours to end.
func elsewhere(c *client.Client) *host {
	return &host{Client: c, shutdown: func(context.Context) error { return nil }, close: c.Close}
}

// errInterrupted is why something was not waited for.
var errInterrupted = errors.New("interrupted")

// unlessSignalled does something that a signal calls off: errInterrupted. It waits
// in any case until that has ended.
func unlessSignalled(ctx context.Context, signals <-chan os.Signal, do func(context.Context) error) error {
	ctx, callOff := context.WithCancel(ctx)
	defer callOff()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	select {
	case err := <-done:
		return err
	case <-signals:
		callOff()
		<-done
		return errInterrupted
	}
}
