package client_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"agent-server/client"
	"agent-server/gateway"
	"agent-server/transport"
)

// listen serves a gateway over WebSocket on loopback, until the test's end or stop.
func listen(t testing.TB, g *gateway.Gateway, o transport.ListenOptions) (addr string, stop func()) {
	t.Helper()
	if o.Address == "" {
		o.Address = "0"
	}
	o.InsecureNoAuth = o.TokenFile == ""
	o.Socket.CloseTimeout, o.Stream.FlushTimeout = 100*time.Millisecond, time.Second
	l, err := transport.Listen(context.Background(), o, func(transport.Peer) (jsonrpc2.Handler, transport.Source) {
		sub := g.Connect(gateway.ConnectOptions{})
		return sub, sub
	})
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = l.Shutdown(ctx) // a peer that was cut off is no fault here
	})
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// quick are options of a client that does not wait long between two tries.
func quick() client.Options {
	o := client.Options{MinBackoff: time.Millisecond, MaxBackoff: 8 * time.Millisecond}
	o.Connect.Socket.CloseTimeout = 100 * time.Millisecond
	return o
}

// dial is a client over WebSocket, closed at the test's end.
func dial(t testing.TB, addr string, o client.Options) *client.Client {
	t.Helper()
	c, err := client.Dial(within(t), "ws://"+addr+"/", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// proxy is a TCP proxy that cuts each connection after so many bytes, counted in
// both directions together. Where it leads can be changed.
type proxy struct {
	addr string
	ln   net.Listener
	// budget gives the next connection's bytes; below 0: it is not cut.
	budget func() int64
	cuts   atomic.Int64

	mu    sync.Mutex
	to    string
	conns map[net.Conn]struct{}
	wg    sync.WaitGroup
}

func newProxy(t testing.TB, to string, budget func() int64) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: ln.Addr().String(), ln: ln, to: to, budget: budget, conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = ln.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		in, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		to := p.to
		p.mu.Unlock()
		out, err := net.Dial("tcp", to)
		if err != nil {
			_ = in.Close()
			continue
		}
		var left atomic.Int64
		left.Store(p.budget())
		endless := left.Load() < 0
		p.mu.Lock()
		p.conns[in], p.conns[out] = struct{}{}, struct{}{}
		p.mu.Unlock()
		for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
			p.wg.Go(func() { p.copy(way[0], way[1], &left, endless) })
		}
	}
}

// copy passes bytes on until none are left, to the byte, or a side ends; then both
// sides are cut.
func (p *proxy) copy(from, to net.Conn, left *atomic.Int64, endless bool) {
	defer func() {
		p.mu.Lock()
		delete(p.conns, from)
		p.mu.Unlock()
		for _, c := range []net.Conn{from, to} {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}
	}()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if after := left.Add(int64(-n)); !endless && after < 0 {
			_, _ = to.Write(buf[:max(0, int64(n)+after)])
			p.cuts.Add(1)
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut ends every connection of this moment.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// lead changes where new connections go.
func (p *proxy) lead(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
}

// seeded gives cuts after between low and high bytes; every fifth connection may
// carry ten times as much, so that what must fit into one at all does at last.
func seeded(seed uint64, low, high int64) func() int64 {
	r := rand.New(rand.NewPCG(seed, 9))
	n := 0
	return func() int64 { // called by the accept loop alone
		if n++; n%5 == 0 {
			return 10 * high
		}
		return low + r.Int64N(high-low)
	}
}

// whole is a budget that cuts nothing.
func whole() int64 { return -1 }

// acceptor takes sockets of gateways that dial out, for Keep.
type acceptor chan transport.Framing

func (a acceptor) next(ctx context.Context) (transport.Framing, error) {
	select {
	case f := <-a:
		return f, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fellOver says whether an error is the end of a connection that had no farewell.
func fellOver(err error) bool { return err != nil && !errors.Is(err, io.EOF) }
