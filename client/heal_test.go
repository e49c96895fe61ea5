package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/transport"
)

// TestHeals: whatever is lost, doubled or swapped on the way is delivered once,
// in order.
func TestHeals(t *testing.T) {
	t.Parallel()
	g := start(t)
	var lost atomic.Int32
	r := rand.New(rand.NewPCG(7, 7))
	var late []string
	for name, change := range map[string]func(line string) []string{
		"one lost": func(line string) []string {
			if isEvent(line) && seqOf(line) == 9 {
				lost.Add(1)
				return nil
			}
			return []string{line}
		},
		"the first one lost": func(line string) []string {
			if isEvent(line) && seqOf(line) == 1 {
				lost.Add(1)
				return nil
			}
			return []string{line}
		},
		"the first twenty lost": func(line string) []string {
			if isEvent(line) && seqOf(line) <= 20 {
				lost.Add(1)
				return nil
			}
			return []string{line}
		},
		"everything doubled": func(line string) []string { return []string{line, line} },
		"every second one lost": func(line string) []string {
			if isEvent(line) && seqOf(line)%2 == 0 && !strings.Contains(line, "turn.ended") {
				lost.Add(1)
				return nil
			}
			return []string{line}
		},
		"at random lost, doubled, late": func(line string) []string {
			if !isEvent(line) || strings.Contains(line, "turn.ended") {
				out := append(late, line)
				late = nil
				return out
			}
			switch r.IntN(8) {
			case 0:
				lost.Add(1)
				return nil
			case 1:
				return []string{line, line}
			case 2:
				late = append(late, line)
				return nil
			}
			return []string{line}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := spoil(t, g, change)
			s := tell(t, c, prompt(name, "t", "flood 200 10"))
			if fault := s.contiguous(1); fault != "" || len(s.gaps) != 0 || s.end == nil {
				t.Errorf("%d events, %d gaps: %s", len(s.seqs), len(s.gaps), fault)
			}
			if len(s.text) != 2000 {
				t.Errorf("%d bytes of text", len(s.text))
			}
		})
	}
	if lost.Load() < 40 {
		t.Errorf("only %d lines were lost: the test tried nothing", lost.Load())
	}
}

// scripted is a server whose answers are written by the test: to events/replay,
// and to turn/start.
func scripted(t *testing.T, replay func(from int64) string, started ...string) (*mute, *client.Client) {
	t.Helper()
	m := newMute(hello)
	c := over(t, m, client.Options{})
	go func() {
		for {
			select {
			case line := <-m.sent:
				var req struct {
					ID     json.RawMessage
					Method string
					Params struct{ FromSeq int64 }
				}
				_ = json.Unmarshal([]byte(line), &req)
				answer := replay(req.Params.FromSeq)
				if req.Method == "turn/start" {
					answer = started[0]
				}
				m.lines <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, req.ID, answer)
			case <-m.gone:
				return
			}
		}
	}()
	return m, c
}

// envelope is an event of a session, of which only the number counts.
func envelope(seq int64) string {
	return fmt.Sprintf(`{"sessionId":"s","seq":%d,"event":{"type":"turn.started","sessionId":"s","turnId":"t%d","timestamp":1}}`, seq, seq)
}

func notification(seq int64) string {
	return `{"jsonrpc":"2.0","method":"event","params":` + envelope(seq) + `}`
}

// held is an answer to events/replay.
func held(first, latest string, seqs ...int64) string {
	var events []string
	for _, s := range seqs {
		events = append(events, envelope(s))
	}
	return fmt.Sprintf(`"result":{"events":[%s],"firstAvailableSeq":%s,"latestSeq":%s}`, strings.Join(events, ","), first, latest)
}

// read takes n things from a feed, gaps as text.
func read(t *testing.T, f *client.Feed, n int) (got []string) {
	t.Helper()
	for range n {
		env, err := f.Next(within(t))
		var gap *client.GapError
		switch {
		case errors.As(err, &gap):
			got = append(got, fmt.Sprintf("gap after %d, first %d", gap.AfterSeq, gap.FirstAvailableSeq))
		case err != nil:
			t.Fatalf("after %v: %v", got, err)
		default:
			got = append(got, fmt.Sprint(env.Seq))
		}
	}
	return got
}

// TestGaps: what cannot be filled is said where it is missing, once, and what
// there is goes on behind it; a replay that overlaps, or comes late, changes
// nothing.
func TestGaps(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		replay func(from int64) string
		send   []int64
		want   []string
	}{
		"filled":           {func(int64) string { return held("1", "5", 3, 4, 5) }, []int64{1, 2, 5, 6}, []string{"1", "2", "3", "4", "5", "6"}},
		"overlapping":      {func(int64) string { return held("1", "7", 3, 4, 5, 6, 7) }, []int64{1, 2, 5, 6, 7, 8}, []string{"1", "2", "3", "4", "5", "6", "7", "8"}},
		"pruned":           {func(int64) string { return held("4", "5", 4, 5) }, []int64{1, 2, 5, 6}, []string{"1", "2", "gap after 2, first 4", "4", "5", "6"}},
		"nothing is held":  {func(int64) string { return held("null", "null") }, []int64{1, 2, 5, 6}, []string{"1", "2", "gap after 2, first 0", "5", "6"}},
		"beyond the head":  {func(int64) string { return held("1", "2") }, []int64{1, 2, 5, 6}, []string{"1", "2", "gap after 2, first 1", "5", "6"}},
		"refused":          {func(int64) string { return `"error":{"code":-32001,"message":"unknown session: s"}` }, []int64{1, 3, 4}, []string{"1", "gap after 1, first 0", "3", "4"}},
		"nonsense":         {func(int64) string { return `"result":{"events":[{"seq":2}]}` }, []int64{1, 3, 4}, []string{"1", "gap after 1, first 0", "3", "4"}},
		"two holes":        {func(from int64) string { return held("1", "9", from, from+1) }, []int64{1, 4, 7, 8}, []string{"1", "2", "3", "4", "5", "6", "7", "8"}},
		"a hole in a hole": {func(from int64) string { return holed(from) }, []int64{1, 9, 10}, []string{"1", "2", "3", "gap after 3, first 1", "6", "7", "8", "9", "10"}},
		"a reset":          {func(int64) string { return held("1", "3") }, []int64{1, 2, 1, 2, 2}, []string{"1", "2", "1", "2"}},
		"duplicates":       {func(int64) string { return held("1", "3") }, []int64{4, 4, 3, 5, 4}, []string{"4", "5"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, c := scripted(t, tc.replay)
			f, later := c.Follow("s"), c.Follow("")
			for _, seq := range tc.send {
				m.lines <- notification(seq)
			}
			for _, f := range []*client.Feed{f, later} {
				if diff := cmp.Diff(tc.want, read(t, f, len(tc.want))); diff != "" {
					t.Errorf("delivered (-want +got):\n%s", diff)
				}
				f.Close()
			}
		})
	}
}

// TestBeganWhileAsked: a session that begins while a new connection asks for what it
// missed of it is told whole: that the server did not know it is no loss.
func TestBeganWhileAsked(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"unknown": `"error":{"code":-32001,"message":"unknown session: s"}`,
		"failed":  `"error":{"code":-32603,"message":"disk on fire"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := newMute(hello), newMute(hello)
			conns := acceptor(make(chan transport.Framing, 2))
			conns <- first
			c, err := client.Keep(within(t), conns.next, quick())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			f := c.FollowNew("s")
			defer f.Close()
			_ = first.Close()
			conns <- second
			asked := <-second.sent
			second.lines <- notification(1)
			second.lines <- strings.Join(strings.SplitAfterN(asked, ",", 3)[:2], "") + answer + "}"
			second.lines <- notification(2)
			if diff := cmp.Diff([]string{"1", "2"}, read(t, f, 2)); diff != "" {
				t.Errorf("delivered (-want +got):\n%s", diff)
			}
		})
	}
}

// holed is a log that has lost 4 and 5 for good.
func holed(from int64) string {
	var seqs []int64
	for s := from; s <= 9; s++ {
		if s != 4 && s != 5 {
			seqs = append(seqs, s)
		}
	}
	return held("1", "9", seqs...)
}

// TestGapError: it says what is lost, and why that could not be learnt.
func TestGapError(t *testing.T) {
	t.Parallel()
	cause := &protocol.Error{Code: protocol.CodeInternalError, Message: "disk on fire"}
	for want, gap := range map[string]*client.GapError{
		"session s: events after seq 4 are lost, the server holds them from seq 9 on": {SessionID: "s", AfterSeq: 4, FirstAvailableSeq: 9},
		"session s: events after seq 4 are lost, the server holds none":               {SessionID: "s", AfterSeq: 4},
		"session s: events after seq 4 are lost: disk on fire (-32603)":               {SessionID: "s", AfterSeq: 4, Cause: cause},
	} {
		if gap.Error() != want {
			t.Errorf("%q, want %q", gap.Error(), want)
		}
		if gap.Cause != nil && !isCode(gap, protocol.CodeInternalError) {
			t.Error("the cause is not wrapped")
		}
	}
}

// TestTurnGoesOnBehindAGap: a turn's events are given on after what is lost.
func TestTurnGoesOnBehindAGap(t *testing.T) {
	t.Parallel()
	m, c := scripted(t, func(int64) string { return held("5", "6", 5, 6) }, `"result":{"sessionId":"s","turnId":"t1"}`)
	turn, err := c.StartTurn(within(t), prompt("s", "t1", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, seq := range []int64{1, 2, 6} {
		m.lines <- notification(seq)
	}
	m.lines <- `{"jsonrpc":"2.0","method":"event","params":{"sessionId":"s","seq":7,"event":{"type":"turn.ended","sessionId":"s","turnId":"t1","stopReason":"end_turn","timestamp":1}}}`
	var s story
	for env, err := range turn.Events(within(t)) {
		s.add(t, env, err)
	}
	if !cmp.Equal([]int64{1, 2, 5, 6, 7}, s.seqs) || len(s.gaps) != 1 || s.gaps[0].AfterSeq != 2 {
		t.Errorf("seqs %v, gaps %v", s.seqs, s.gaps)
	}
}

// TestPrunedRetry: of a retried turn whose beginning is gone the rest is given,
// behind the news.
func TestPrunedRetry(t *testing.T) {
	t.Parallel()
	_, c := scripted(t, func(int64) string { return held("5", "6", 5, 6) }, `"result":{"sessionId":"s","turnId":"x","deduplicated":true}`)
	turn, err := c.StartTurn(within(t), prompt("s", "x", ""))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(within(t))
	var s story
	for env, err := range turn.Events(ctx) {
		if errors.Is(err, context.Canceled) {
			break
		}
		s.add(t, env, err)
		if env.Seq == 6 {
			cancel()
		}
	}
	cancel()
	if !cmp.Equal([]int64{5, 6}, s.seqs) || len(s.gaps) != 1 || s.gaps[0].FirstAvailableSeq != 5 {
		t.Errorf("seqs %v, gaps %v", s.seqs, s.gaps)
	}
}

// TestUnknownEvents: an event that this version does not know is delivered, whole.
func TestUnknownEvents(t *testing.T) {
	t.Parallel()
	m, c := scripted(t, func(int64) string { return held("1", "1") })
	f := c.Follow("s")
	defer f.Close()
	raw := `{"type":"turn.queued","sessionId":"s","turnId":"t","position":1,"more":{"b":1,"a":[ ]}}`
	m.lines <- `{"jsonrpc":"2.0","method":"event","params":{"sessionId":"s","seq":1,"event":` + raw + `,"x":1}}`
	env, err := f.Next(within(t))
	ev, ok := env.Event.(*protocol.UnknownEvent)
	if err != nil || !ok || string(ev.Raw) != raw {
		t.Errorf("%+v %v", env.Event, err)
	}
	// A notification of a method that this version does not know is none of ours.
	m.lines <- `{"jsonrpc":"2.0","method":"events/lagged","params":{"sessionId":"s"}}`
	m.lines <- ``
	m.lines <- `{"jsonrpc":"2.0","id":"foreign","result":{}}`
	m.lines <- `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`
	m.lines <- `{"jsonrpc":"2.0","id":999,"result":{}}`
	m.lines <- strings.Replace(notification(2), `"t2"`, `"after"`, 1)
	if env, err := f.Next(within(t)); err != nil || env.Seq != 2 {
		t.Errorf("%+v %v", env, err)
	}
}

// TestRetryBehindPrunedTurns: that older turns are gone is no hole in a turn that
// is there.
func TestRetryBehindPrunedTurns(t *testing.T) {
	t.Parallel()
	_, c := scripted(t, func(int64) string { return held("5", "7", 5, 6, 7) }, `"result":{"sessionId":"s","turnId":"t6","deduplicated":true}`)
	turn, err := c.StartTurn(within(t), prompt("s", "t6", ""))
	if err != nil {
		t.Fatal(err)
	}
	for env, err := range turn.Events(within(t)) {
		if err != nil || env.Seq < 6 || env.Seq > 7 {
			t.Errorf("given %d: %v", env.Seq, err)
		}
		if env.Seq == 7 {
			break
		}
	}
}
