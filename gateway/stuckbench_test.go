package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"agent-server/transport"
)

// BenchmarkLiveBesideStuck is what 100 connections that have stopped reading cost one
// that reads: the 99th percentile of the time from a harness's write to the client's
// read of a delta, alone and beside them, in turns, and their ratio, each the median of
// five. Aim: a ratio of at most 1.25.
func BenchmarkLiveBesideStuck(b *testing.B) {
	const rounds, peers, ticks, every = 5, 100, 2_000, 500
	const flood = "flood 6000 1024" // more than the system takes in for one that does not read
	l := listening(b, open(b), transport.SocketOptions{WriteTimeout: time.Hour, PingInterval: time.Hour})
	f, err := transport.DialClient(context.Background(), l.URL(), transport.ClientOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	live := &stopwatch{b: b, f: f}
	live.run("flood 100 16")
	for b.Loop() {
		var alone, beside, ratio []float64
		for range rounds {
			script := fmt.Sprintf("tick %d %d", ticks, every)
			live.run(flood) // so that both begin behind the same
			live.run(flood)
			alone = append(alone, live.run(script))
			var stopped []*websocket.Conn
			for range peers {
				stopped = append(stopped, raw(b, l.URL(), small))
			}
			live.run(flood) // they are stuck at the end of it
			live.run(flood) // and this they take none of
			beside = append(beside, live.run(script))
			ratio = append(ratio, beside[len(beside)-1]/alone[len(alone)-1])
			for _, c := range stopped {
				_ = c.NetConn().Close()
			}
			waitUntil(b, "they are gone", func() bool { return l.Connections() == 1 })
		}
		b.ReportMetric(median(alone), "p99-alone-µs")
		b.ReportMetric(median(beside), "p99-beside-µs")
		b.ReportMetric(median(ratio), "ratio")
		b.ReportMetric(0, "ns/op")
	}
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

// stopwatch is a client that measures how old a delta is when it is read.
type stopwatch struct {
	b     *testing.B
	f     transport.Framing
	turns int
}

// run runs a turn, and gives the 99th percentile of its deltas' ages, in µs.
func (s *stopwatch) run(script string) float64 {
	s.b.Helper()
	s.turns++
	id := fmt.Sprint("t", s.turns)
	ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"turn/start","params":{"sessionId":"s","turnId":%q,"input":%q,"config":{"harness":"puppet","cwd":"/"}}}`+"\n", id, script)
	if err := s.f.Write([]byte(ask)); err != nil {
		s.b.Fatal(err)
	}
	var ages []float64
	for {
		line, err := s.f.Next()
		if err != nil {
			s.b.Fatal(err)
		}
		now := time.Now().UnixNano()
		text := string(line)
		if _, rest, ok := strings.Cut(text, `"delta":{"type":"text","text":"`); ok {
			stamp, _, _ := strings.Cut(rest, " ")
			if at, err := strconv.ParseInt(stamp, 10, 64); err == nil {
				ages = append(ages, float64(now-at)/1e3)
			}
		}
		if strings.Contains(text, `"type":"turn.ended","sessionId":"s","turnId":"`+id+`"`) {
			break
		}
	}
	slices.Sort(ages)
	return ages[len(ages)*99/100]
}
