package gateway_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"agent-server/eventlog"
	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/transport"
	"context"
)

// heap is what lives on it.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// stuck connects n peers of each kind that take in little or nothing from now on: one
// that stops reading, one that reads a byte a second, one whose network vanishes.
func stuck(t testing.TB, l *transport.Listener, n int) {
	t.Helper()
	slow, over, tick := new(atomic.Bool), make(chan struct{}), time.NewTicker(time.Second)
	pit := overChasm(t, l.Addr().String())
	var wg sync.WaitGroup
	t.Cleanup(func() { tick.Stop(); close(over); wg.Wait() })
	for range n {
		raw(t, l.URL(), small)
		dripping := raw(t, l.URL(), func(c net.Conn) net.Conn { return &drip{Conn: small(c), slow: slow, tick: tick, over: over} })
		wg.Go(func() {
			for {
				if _, _, err := dripping.ReadMessage(); err != nil {
					return
				}
			}
		})
		raw(t, "ws://"+pit.addr+"/", small)
	}
	slow.Store(true)
	close(pit.silent)
}

// TestStuckConnections: of peers that take nothing in, the log, the harness and the
// others notice nothing, memory neither, as long as they are there. Not in parallel
// with others: it looks at the heap.
func TestStuckConnections(t *testing.T) {
	const each, turns, deltas, size = 4, 20, 1_000, 1 << 10
	g := open(t, func(o *gateway.Options) {
		o.Log = eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: 24 << 20})
		o.MaxLagBytes = 2 << 20
	})
	l := listening(t, g, transport.SocketOptions{WriteTimeout: time.Hour, CloseTimeout: time.Second / 2})
	live := dialed(t, l.URL())
	live.run(turn("s", "warm", fmt.Sprintf("flood %d %d", deltas, size), puppetID))
	stuck(t, l, each)
	waitUntil(t, "all are there", func() bool { return l.Connections() == 1+3*each })
	before := heap()
	for i := range turns {
		id := fmt.Sprint("t", i)
		if end := live.run(turn("s", id, fmt.Sprintf("flood %d %d", deltas, size), puppetID)); end.StopReason != protocol.StopEndTurn {
			t.Fatalf("ended %s", end.StopReason)
		}
		if text := live.text("s", id); len(text) != deltas*size {
			t.Fatalf("%d bytes of text, want %d", len(text), deltas*size)
		}
		live.forget()
	}
	// What each of them has yet to read is 20 MiB, not counting snapshots: held for each, that
	// would be 240, held once more than 60.
	if grown := int64(heap()) - int64(before); grown > 40<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	if n := l.Connections(); n != 1+3*each {
		t.Errorf("%d connections are left", n)
	}
}

// TestStuckAreRidOf: nobody keeps a connection that takes nothing in.
func TestStuckAreRidOf(t *testing.T) {
	t.Parallel()
	l := listening(t, open(t), transport.SocketOptions{WriteTimeout: time.Second, CloseTimeout: time.Second / 2})
	live := dialed(t, l.URL())
	stuck(t, l, 2)
	for i := 0; l.Connections() > 1; i++ {
		if i == 200 {
			t.Fatalf("%d connections are left", l.Connections())
		}
		live.run(turn("s", fmt.Sprint("t", i), "flood 1000 1024", puppetID))
		live.forget()
	}
}

// forget lets go what a peer has heard, which verify has judged.
func (p *peer) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = nil
}

// TestStoppedReaderIsToldToComeAgain: one that has fallen behind what the log may
// spare, so that it would miss more than deltas, is closed with 1013; connected anew, a
// replay brings what is held, without a hole.
func TestStoppedReaderIsToldToComeAgain(t *testing.T) {
	t.Parallel()
	g := open(t, func(o *gateway.Options) {
		o.Log = eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: 27 << 20})
		o.MaxLagBytes = 256 << 10
	})
	l := listening(t, g, transport.SocketOptions{WriteTimeout: time.Hour})
	ws := raw(t, l.URL(), nil)
	live := dialed(t, l.URL())
	for i := range 24 {
		live.run(turn("s", fmt.Sprint("t", i), "flood 1000 1024", puppetID))
	}
	var err error
	for err == nil {
		_, _, err = ws.ReadMessage()
	}
	var closed *websocket.CloseError
	if !errors.As(err, &closed) || closed.Code != websocket.CloseTryAgainLater {
		t.Fatalf("it ended with %v", err)
	}
	again := dialed(t, l.URL()).unjudged() // a front is missing, and that is said
	envs, r := again.replayed("s", 1)
	if *r.FirstAvailableSeq == 1 || int64(len(envs)) != *r.LatestSeq-*r.FirstAvailableSeq+1 {
		t.Errorf("%d events from %d to %d", len(envs), *r.FirstAvailableSeq, *r.LatestSeq)
	}
}

// TestThousandConnections: all of them are sent the same bytes, in the same order.
func TestThousandConnections(t *testing.T) {
	t.Parallel()
	n := 1_000
	if testing.Short() {
		n = 100
	}
	l := listening(t, open(t), transport.SocketOptions{})
	live := dialed(t, l.URL())
	sums := make([]uint64, n)
	var wg sync.WaitGroup
	for i := range n {
		f, err := transport.DialClient(context.Background(), l.URL(), transport.ClientOptions{Socket: transport.SocketOptions{CloseTimeout: time.Second / 2}})
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		wg.Go(func() {
			defer func() { _ = f.Close() }()
			sum := fnv.New64a()
			for {
				line, err := f.Next()
				if err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
				_, _ = sum.Write(line)
				if strings.Contains(string(line), `"type":"turn.ended"`) {
					sums[i] = sum.Sum64()
					return
				}
			}
		})
	}
	waitUntil(t, "all are there", func() bool { return l.Connections() == n+1 })
	live.run(turn("s", "t", "say hi;flood 60 64;say bye", puppetID))
	wg.Wait()
	want := fnv.New64a()
	for _, e := range live.envelopes("s") {
		_, _ = want.Write([]byte(eventlog.Prefix + e + "}"))
	}
	for i, sum := range sums {
		if sum != want.Sum64() {
			t.Fatalf("connection %d was sent other bytes", i)
		}
	}
}

// TestReconnectStorm: clients that come, ask for everything and are cut off, over and
// over, cost those who stay nothing, and leave nothing.
func TestReconnectStorm(t *testing.T) {
	t.Parallel()
	const clients, rounds = 24, 12
	l := listening(t, open(t), transport.SocketOptions{CloseTimeout: time.Second / 2})
	live := dialed(t, l.URL())
	live.run(turn("s", "first", "flood 200 64", puppetID))
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for round := range rounds {
				ws := raw(t, l.URL(), nil)
				ask := `{"jsonrpc":"2.0","id":1,"method":"events/replay","params":{"sessionId":"s","fromSeq":1}}`
				err := ws.WriteMessage(websocket.TextMessage, []byte(ask))
				// Half of them do not wait for the answer.
				for seen := (i+round)%2 == 0; err == nil && !seen; {
					var m []byte
					_, m, err = ws.ReadMessage()
					seen = strings.Contains(string(m), `"id":1`)
				}
				if err != nil {
					t.Errorf("client %d, round %d: %v", i, round, err)
				}
				_ = ws.NetConn().Close()
			}
		})
	}
	for i := range 6 {
		live.run(turn("s", fmt.Sprint("t", i), "flood 200 64", puppetID))
	}
	wg.Wait()
	waitUntil(t, "they are gone", func() bool { return l.Connections() == 1 })
	live.run(turn("s", "last", "say hi", puppetID))
}
