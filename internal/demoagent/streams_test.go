package demoagent

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestFloodIsComplete: the numbers in the text are 1 to N, so nothing is lost,
// doubled or reordered on the way to the reader.
func TestFloodIsComplete(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const n = 5000
		c := startSession(t)
		c.prompt(firstSession, fmt.Sprintf("flood %d 24", n))
		lines := c.lines()
		if len(lines) != n+2 {
			t.Fatalf("%d lines", len(lines))
		}
		text := textOf(t, lines)
		if len(text) != n*24 {
			t.Errorf("%d bytes of text", len(text))
		}
		for i, field := range strings.Fields(text) {
			if want := fmt.Sprintf("%023d", i+1); field != want {
				t.Fatalf("delta %d is %q", i+1, field)
			}
		}
		c.finish()
	})
}

// TestFloodLine: the line made once and changed in place is what encoding each
// delta would have made.
func TestFloodLine(t *testing.T) {
	t.Parallel()
	a := newAgent(context.Background(), io.Discard, io.Discard, Options{Seed: testSeed})
	turn := &turn{agent: a, session: a.beginSession("", "/workspace")}
	line, digits := turn.floodLine(4)
	for i := 1; i < 1000; i++ {
		increment(digits)
		want := string(turn.line(turn.chunk(kindMessage, fmt.Sprintf("%03d ", i))))
		if string(line) != want {
			t.Fatalf("delta %d is %s, want %s", i, line, want)
		}
	}
}

// TestDeltasKeepTime: each delta has its own time after the start. The clock is
// the bubble's.
func TestDeltasKeepTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := startSession(t)
		c.prompt(firstSession, "deltas 4 250")
		for i := range 4 {
			if got, want := textOf(t, c.lines()), fmt.Sprintf("delta %d\n", i+1); got != want {
				t.Errorf("after %d × 250 µs came %q", i, got)
			}
			time.Sleep(249 * time.Microsecond)
			if got := c.lines(); i < 3 && len(got) != 0 {
				t.Errorf("early: %q", got)
			}
			time.Sleep(time.Microsecond)
		}
		c.finish()
	})
}

// slowWriter takes its time, and notes when each line came.
type slowWriter struct {
	start time.Time
	takes time.Duration
	at    []time.Duration
}

func (s *slowWriter) Write(p []byte) (int, error) {
	s.at = append(s.at, time.Since(s.start))
	time.Sleep(s.takes)
	return len(p), nil
}

// TestDeltasDoNotDrift: a slow reader delays a delta, but not those after it.
// The clock is the bubble's.
func TestDeltasDoNotDrift(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		out := &slowWriter{start: time.Now(), takes: 100 * time.Microsecond}
		a := newAgent(t.Context(), out, io.Discard, Options{Seed: testSeed})
		turn := &turn{agent: a, session: a.beginSession("", "/"), text: "deltas 4 250"}
		if err := deltas(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		for i, at := range out.at {
			if want := time.Duration(i) * 250 * time.Microsecond; at != want {
				t.Errorf("delta %d came after %v, not %v", i+1, at, want)
			}
		}
		if len(out.at) != 4 {
			t.Errorf("%d deltas", len(out.at))
		}
	})
}

// TestNoiseText: what a reader makes of the noise script if it strips escape
// sequences before an object and skips what is no message.
func TestNoiseText(t *testing.T) {
	t.Parallel()
	var text []string
	for _, line := range sabotage("noise", 0, "") {
		at := strings.Index(line, `{"jsonrpc":"2.0","method":"session/update"`)
		if at >= 0 && strings.Contains(line, kindMessage) {
			text = append(text, strings.TrimSpace(line[at:]))
		}
	}
	if got := textOf(t, text); got != "Five clean words survive noise." {
		t.Errorf("noise said %q", got)
	}
}

// BenchmarkFlood is a delta through the agent alone: the reader takes everything
// at once. Bytes are those on the wire.
func BenchmarkFlood(b *testing.B) {
	for _, size := range []int{16, 1024} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			a := newAgent(context.Background(), io.Discard, io.Discard, Options{Seed: testSeed})
			t := &turn{agent: a, session: a.beginSession("", "/workspace")}
			line, _ := t.floodLine(size)
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for n := b.N; n > 0; n -= maxDeltas {
				t.text = fmt.Sprintf("flood %d %d", min(n, maxDeltas), size)
				if err := flood(context.Background(), t); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDelta is a delta that is encoded and written by itself, as deltas,
// think and the others do.
func BenchmarkDelta(b *testing.B) {
	a := newAgent(context.Background(), io.Discard, io.Discard, Options{Seed: testSeed})
	t := &turn{agent: a, session: a.beginSession("", "/workspace")}
	b.ReportAllocs()
	for b.Loop() {
		if err := t.say(context.Background(), "sixteen bytes it"); err != nil {
			b.Fatal(err)
		}
	}
}
