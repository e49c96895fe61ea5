package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"agent-server/gateway"
	"agent-server/harness/acp"
	"agent-server/protocol"
	"agent-server/transport"
)

// BenchmarkIdleSession is what a session holds after one hello turn, when its
// process is evicted and nobody is connected. Aim: at most 64 KiB.
func BenchmarkIdleSession(b *testing.B) {
	const sessions = 24
	for b.Loop() {
		g, err := gateway.New(gateway.Options{IdleTimeout: time.Millisecond, Harnesses: []gateway.Registration{
			{Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo}), Path: os.Args[0], Args: []string{"demo-agent"}}}})
		if err != nil {
			b.Fatal(err)
		}
		hello(b, g, "warm")
		before := settled()
		for i := range sessions {
			hello(b, g, fmt.Sprint("session-", i))
		}
		after := settled()
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/sessions, "heap-B/session")
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/sessions, "stack-B/session")
		if err := g.Shutdown(context.Background(), 0); err != nil {
			b.Error(err)
		}
		if err := g.Close(); err != nil {
			b.Error(err)
		}
	}
}

// hello runs one turn over a connection of its own.
func hello(b *testing.B, g *gateway.Gateway, session string) {
	b.Helper()
	in, ask := io.Pipe()
	out := &until{phrase: []byte(`"type":"turn.ended"`)}
	sub := g.Connect(gateway.ConnectOptions{})
	s := transport.Open(transport.NDJSON(in, out, 0, 0, in.Close), sub, sub, transport.Options{})
	if !out.await(func() {
		_, _ = fmt.Fprintf(ask, `{"jsonrpc":"2.0","id":1,"method":"turn/start","params":{"sessionId":%q,"turnId":"t","input":"hello","config":{"harness":"demo","cwd":%q}}}`+"\n",
			session, os.TempDir())
	}) {
		b.Fatal("the turn did not end")
	}
	_ = s.Finish(context.Background())
	s.Wait()
}

// until is a writer that tells when a phrase was written.
type until struct {
	phrase []byte
	mu     sync.Mutex
	seen   chan struct{}
}

// await does something and waits for the phrase.
func (u *until) await(do func()) bool {
	seen := make(chan struct{})
	u.mu.Lock()
	u.seen = seen
	u.mu.Unlock()
	do()
	select {
	case <-seen:
		return true
	case <-time.After(patience):
		return false
	}
}

func (u *until) Write(p []byte) (int, error) {
	if bytes.Contains(p, u.phrase) {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.seen != nil {
			close(u.seen)
			u.seen = nil
		}
	}
	return len(p), nil
}

// settled is what is held once no more goroutine ends: evicted processes take a
// while to go.
func settled() (m runtime.MemStats) {
	last, since := -1, time.Now()
	for time.Since(since) < 500*time.Millisecond {
		if n := runtime.NumGoroutine(); n != last {
			last, since = n, time.Now()
		}
		time.Sleep(5 * time.Millisecond)
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// BenchmarkFlood is the way of a text delta from the demo agent's process to one
// connection: child, pipe, reader, translator, machine, log, writer.
func BenchmarkFlood(b *testing.B) {
	const deltas = 20_000
	g := open(b)
	in, ask := io.Pipe()
	out := &until{phrase: []byte(`"type":"turn.ended"`)}
	sub := g.Connect(gateway.ConnectOptions{Pause: true})
	s := transport.Open(transport.NDJSON(in, out, 0, 0, in.Close), sub, sub, transport.Options{})
	defer func() {
		_ = s.Finish(context.Background())
		s.Wait()
	}()
	flood := func(id int, prompt string) {
		out.await(func() {
			_, _ = fmt.Fprintf(ask, `{"jsonrpc":"2.0","id":%d,"method":"turn/start","params":{"sessionId":"s%d","turnId":"t%d","input":%q,"config":{"harness":"demo","cwd":%q}}}`+"\n",
				id, id/4, id, prompt, os.TempDir()) // four turns a session, so that no log grows without end
		})
	}
	flood(0, "hello")
	n := 0
	for b.Loop() {
		n++
		flood(n, fmt.Sprint("flood ", deltas))
	}
	b.ReportMetric(float64(deltas*n)/b.Elapsed().Seconds(), "deltas/s")
}
