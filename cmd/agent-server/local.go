package main

import (
	"context"
	"errors"
	"net"
	"time"

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
	stream := transport.Open(transport.NDJSON(there, there, 0, 0, there.Close), sub, sub, transport.Options{Logger: o.Logger})
	c, err := client.Attach(ctx, transport.NDJSON(here, here, client.DefaultMaxLineBytes, 0, here.Close),
		client.Options{Name: "agent-server run", Version: version, OpenHarnesses: true})
	l := &local{Client: c, gw: gw, stream: stream}
	if err != nil {
		return nil, errors.Join(err, l.end(0))
	}
	return l, nil
}

// end stops what runs and waits for it, for bound at most before it is killed.
func (l *local) end(bound time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	err := l.gw.Shutdown(ctx, 0)
	if bound == 0 {
		err = nil
	}
	// The stream is closed in any case; what was not flushed nobody wants.
	_ = l.stream.Finish(ctx)
	if l.Client != nil {
		err = errors.Join(err, l.Client.Close())
	}
	l.stream.Wait()
	return errors.Join(err, l.gw.Close())
}
