package main

import (
	"context"
	"errors"
	"net"

	"agent-server/client"
	"agent-server/gateway"
	"agent-server/transport"
)

// local is a gateway in this process and a client on it, over a pipe in memory:
// the same wire as everywhere else.
//
// Both are of one life: what one closes, the other need not outlive.
type local struct {
	// client is nil only while openLocal has yet to attach.
	client *client.Client
	gw     *gateway.Gateway
	stream *transport.Stream
}

// openLocal starts both and initializes. It asks for open harness ids: what is
// printed and recorded names the harness that ran.
func openLocal(ctx context.Context, o gateway.Options) (*host, error) {
	gw, err := gateway.New(o)
	if err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	// Pause: a terminal is slow, and may lose nothing.
	sub := gw.Connect(gateway.ConnectOptions{Pause: true, Name: "run"})
	l := &local{gw: gw}
	l.stream = transport.Open(transport.NDJSON(there, there, 0, 0, there.Close), sub, sub, transport.Options{Logger: o.Logger})
	l.client, err = client.Attach(ctx, transport.NDJSON(here, here, client.DefaultMaxLineBytes, 0, here.Close),
		client.Options{Name: "agent-server run", Version: o.Version, OpenHarnesses: true})
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return &host{Client: l.client, shutdown: l.shutdown, close: l.close}, nil
}

// shutdown asks for the end of what runs and waits for it, as long as ctx allows.
// Nothing drains: the turn is over, or was given up.
func (l *local) shutdown(ctx context.Context) error { return l.gw.Shutdown(ctx, 0) }

// close kills what is left and waits for everything. Nobody reads the stream any
// more: it is not flushed. The order matters: the connection goes first, so
// that no request of ours is being handled while sessions are torn down.
func (l *local) close() error {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.stream.Finish(now)
	var err error
	if l.client != nil {
		err = l.client.Close()
	}
	l.stream.Wait()
	return errors.Join(err, l.gw.Close())
}
