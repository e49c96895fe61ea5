package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
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
	out := &until{phrase: []byte(`"type":"turn.ended"`), seen: make(chan struct{})}
	sub := g.Connect(gateway.ConnectOptions{})
	s := transport.Open(transport.NDJSON(in, out, 0, 0, in.Close), sub, sub, transport.Options{})
	_, _ = fmt.Fprintf(ask, `{"jsonrpc":"2.0","id":1,"method":"turn/start","params":{"sessionId":%q,"turnId":"t","input":"hello","config":{"harness":"demo","cwd":%q}}}`+"\n",
		session, os.TempDir())
	select {
	case <-out.seen:
	case <-time.After(patience):
		b.Fatal("the turn did not end")
	}
	_ = s.Finish(context.Background())
	s.Wait()
}

// until is a writer that tells when a phrase was written.
type until struct {
	phrase []byte
	seen   chan struct{}
	told   bool
}

func (u *until) Write(p []byte) (int, error) {
	if !u.told && bytes.Contains(p, u.phrase) {
		u.told = true
		close(u.seen)
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
