package transport_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// hole is a TCP proxy that can swallow everything from one moment on, without
// closing anything: a network that vanished.
type hole struct {
	addr      string
	swallowed atomic.Bool
}

// blackhole proxies to an address until the test's end.
func blackhole(t *testing.T, to string) *hole {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hole{addr: ln.Addr().String()}
	var wg sync.WaitGroup
	var mu sync.Mutex
	conns := []io.Closer{ln}
	wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			mu.Lock()
			conns = append(conns, in, out)
			mu.Unlock()
			wg.Go(func() { h.copy(out, in) })
			wg.Go(func() { h.copy(in, out) })
		}
	})
	t.Cleanup(func() {
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return h
}

// copy hands on until all is swallowed; from then on it only reads.
func (h *hole) copy(to, from net.Conn) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if h.swallowed.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (h *hole) swallow() { h.swallowed.Store(true) }
