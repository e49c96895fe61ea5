package client

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"agent-server/transport"
)

// closeBound is how long a spawned gateway may take to end after its stdin was
// closed: it cancels what runs and stops its harnesses.
const closeBound = 30 * time.Second

// Spawn starts a gateway as a subprocess that speaks on its stdin and stdout
// ("agent-server serve --stdio") and attaches to it. cmd's Stdin and Stdout must
// be unset; its Stderr is the caller's. Close ends the process: by the end of its
// input, and by force where that takes too long.
func Spawn(ctx context.Context, cmd *exec.Cmd, o Options) (*Client, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("spawning the gateway: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("spawning the gateway: %w", err)
	}
	// Its stderr may be held open by whom it has left behind: that ends no wait.
	cmd.WaitDelay = closeBound
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("spawning the gateway: %w", err)
	}
	// The end of stdout is what the read loop waits for; whoever else holds it
	// open must not keep us.
	force := time.AfterFunc(closeBound, func() { _, _ = cmd.Process.Kill(), stdout.Close() })
	force.Stop()
	hangUp := func() error {
		force.Reset(closeBound) // from now on it is to end
		return stdin.Close()
	}
	f := transport.NDJSON(stdout, stdin, DefaultMaxLineBytes, 0, hangUp)
	c, err := attach(ctx, f, o, func() error {
		defer force.Stop()
		return reap(cmd)
	})
	if err != nil {
		return nil, fmt.Errorf("attaching to %s: %w", cmd.Path, err)
	}
	return c, nil
}

// reap waits for the process, which ends by itself once its stdin is closed; the
// read loop has seen the end of its stdout before. That it ended badly is an
// error, though it was to end.
func reap(cmd *exec.Cmd) error {
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("the gateway ended with %s", exit.ProcessState)
	}
	return err
}
