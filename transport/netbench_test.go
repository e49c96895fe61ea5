package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/sourcegraph/jsonrpc2"

	"agent-server/transport"
)

// BenchmarkDeliveries sends b.N events of 320 bytes to each of so many peers on
// loopback, which read as fast as they can; peers and server share the machine.
func BenchmarkDeliveries(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","method":"event","params":"` + strings.Repeat("x", 320-47) + `"}` + "\n")
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			begin := make(chan struct{})
			l := benchListener(b, func() transport.Source {
				return &flood{line: line, left: b.N, wake: make(chan struct{}, 1)}
			}, begin)
			var wg sync.WaitGroup
			for range n {
				ws, _, err := (&websocket.Dialer{ReadBufferSize: 64 << 10}).Dial(l.URL(), nil)
				if err != nil {
					b.Fatal(err)
				}
				wg.Go(func() { defer func() { _ = ws.Close() }(); countLines(b, ws, b.N) })
			}
			b.SetBytes(int64(n * len(line)))
			b.ResetTimer()
			close(begin)
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
		})
	}
}

// gated is a Source that shows nothing before begin is closed.
type gated struct {
	transport.Source
	begin <-chan struct{}
}

func (g gated) Wake() <-chan struct{} { return g.begin }

// benchListener listens until the benchmark's end.
func benchListener(b *testing.B, source func() transport.Source, begin chan struct{}) *transport.Listener {
	b.Helper()
	l, err := transport.Listen(context.Background(), transport.ListenOptions{Address: "0", InsecureNoAuth: true, MaxConnections: 2000},
		func(transport.Peer) (jsonrpc2.Handler, transport.Source) {
			return handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) { send(c, r, "{}") }), gated{source(), begin}
		})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Shutdown(context.Background()) })
	return l
}

// countLines reads until so many lines were heard.
func countLines(b *testing.B, ws *websocket.Conn, n int) {
	buf := make([]byte, 64<<10)
	for n > 0 {
		_, r, err := ws.NextReader()
		if err != nil {
			b.Errorf("%d lines are missing: %v", n, err)
			return
		}
		n-- // the last line of a message has no newline
		for err == nil {
			var got int
			got, err = r.Read(buf)
			n -= bytes.Count(buf[:got], []byte("\n"))
		}
		if !errors.Is(err, io.EOF) {
			b.Errorf("%d lines are missing: %v", n, err)
			return
		}
	}
}

// BenchmarkSocketRequests is a request and its answer over a WebSocket, asked one
// after the other.
func BenchmarkSocketRequests(b *testing.B) {
	l := benchListener(b, func() transport.Source { return newSource() }, make(chan struct{}))
	f, err := transport.DialClient(b.Context(), l.URL(), transport.ClientOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	line := []byte(`{"jsonrpc":"2.0","id":12,"method":"turn/cancel","params":{"sessionId":"01a22df5-9f91-7878-bba1-6836555eba63"}}` + "\n")
	b.ReportAllocs()
	for b.Loop() {
		if err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if _, err := f.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkIdleConnection is what a connection costs that says nothing, the peer's
// end in this process included: the time to make it, and what it holds.
func BenchmarkIdleConnection(b *testing.B) {
	l := benchListener(b, func() transport.Source { return newSource() }, make(chan struct{}))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all []*websocket.Conn
	began := time.Now()
	for range 1000 {
		ws, _, err := (&websocket.Dialer{ReadBufferSize: 1, WriteBufferSize: 1}).Dial(l.URL(), nil)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, ws)
	}
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(took.Microseconds())/1000, "µs/dial")
	b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/1000/1024, "KiB/conn")
	for _, ws := range all {
		_ = ws.Close()
	}
}
