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
type local struct {
	*client.Client
	gw     *gateway.Gateway
	stream *transport.Stream
}

func openLocal(ctx context.Context, o gateway.Options) (*local, error) {
	gw, err := gateway.New(o)
	if err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	sub := gw.Connect(gateway.ConnectOptions{Pause: true, Name: "run"})
	l := &local{gw: gw}
	l.stream = transport.Open(transport.NDJSON(there, there, 0, 0, there.Close), sub, sub, transport.Options{Logger: o.Logger})
	l.Client, err = client.Attach(ctx, transport.NDJSON(here, here, client.DefaultMaxLineBytes, 0, here.Close),
		client.Options{Name: "agent-server run", Version: o.Version, OpenHarnesses: true})
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// shutdown asks for the end of what runs and waits for it, as long as ctx allows.
func (l *local) shutdown(ctx context.Context) error { return l.gw.Shutdown(ctx, 0) }

// close kills what is left and waits for everything. Nobody reads the stream any
// more: it is not flushed.
func (l *local) close() error {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.stream.Finish(now)
	var err error
	if l.Client != nil {
		err = l.Client.Close()
	}
	l.stream.Wait()
	return errors.Join(err, l.gw.Close())
}
