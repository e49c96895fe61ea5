package transport_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"

	"agent-server/transport"
)

// answerOf is the line of an answer in these tests.
func answerOf(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":1}` }

// TestAckPrecedesItsEvents: an answer queued before the head moves is written
// before the events, though they were stored before it.
func TestAckPrecedesItsEvents(t *testing.T) {
	t.Parallel()
	var w *wire
	w = dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		w.src.log("s", 3)
		send(c, r, "1")
		w.src.show("s")
	}, transport.Options{})
	defer w.hangUp()
	w.tell(`{"jsonrpc":"2.0","id":1,"method":"turn/start"}`)
	hearAll(w, answerOf("1"), "s:1", "s:2", "s:3")
}

// TestReplyFollowsItsEvents: an answer behind a barrier is written after that
// session's events up to it, and other sessions' are no hindrance.
func TestReplyFollowsItsEvents(t *testing.T) {
	t.Parallel()
	var w *wire
	w = dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		seq := w.src.log("s", 2)
		w.src.show("s")
		sendAfter(c, r, "1", transport.Barrier{Session: "s", Seq: seq})
		w.src.log("s", 1)
		w.src.show("s")
	}, transport.Options{})
	defer w.hangUp()
	w.tell(`{"jsonrpc":"2.0","id":1,"method":"session/close"}`)
	hearAll(w, "s:1", "s:2", answerOf("1"), "s:3")
}

// TestBarrierBeyondTheMark: a confirmed cancel stands among its own step's
// events, of which none is visible yet when it is queued.
func TestBarrierBeyondTheMark(t *testing.T) {
	t.Parallel()
	var w *wire
	w = dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		w.src.log("s", 4)
		sendAfter(c, r, "1", transport.Barrier{Session: "s", Seq: 2})
		w.src.show("s")
	}, transport.Options{})
	defer w.hangUp()
	w.tell(`{"jsonrpc":"2.0","id":1,"method":"turn/cancel"}`)
	hearAll(w, "s:1", "s:2", answerOf("1"), "s:3", "s:4")
}

// TestBarrierOfNothing: a session that the connection is not sent, or that holds
// no more, holds up nothing; neither does a meta member that is none of ours.
func TestBarrierOfNothing(t *testing.T) {
	t.Parallel()
	w := dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		sendAfter(c, r, "1", transport.Barrier{Session: r.Method, Seq: 9})
	}, transport.Options{})
	defer w.hangUp()
	w.src.log("s", 1)
	w.src.show("s")
	w.tell(`{"jsonrpc":"2.0","id":1,"method":"other"}`)
	w.tell(`{"jsonrpc":"2.0","id":2,"method":"s"}`)
	got := []string{w.hear(), w.hear(), w.hear()}
	if !cmp.Equal([]string{"s:1", answerOf("1"), answerOf("2")}, sorted(got, "s:1")) {
		t.Errorf("lines: %q", got)
	}
}

// sorted puts a line that may stand anywhere first.
func sorted(lines []string, first string) []string {
	out := []string{first}
	for _, l := range lines {
		if l != first {
			out = append(out, l)
		}
	}
	return out
}

// TestBarrierBehindMuch: what an answer waits for may be longer than one write.
func TestBarrierBehindMuch(t *testing.T) {
	t.Parallel()
	const events = 20_000
	var w *wire
	w = dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		seq := w.src.log("s", events)
		w.src.show("s")
		sendAfter(c, r, "1", transport.Barrier{Session: "s", Seq: seq})
	}, transport.Options{WriteBudget: 1 << 10})
	defer w.hangUp()
	w.tell(`{"jsonrpc":"2.0","id":1,"method":"events"}`)
	for i := range events {
		if got := w.hear(); got != event("s", int64(i+1)) {
			t.Fatalf("line %d is %q", i, got)
		}
	}
	hearAll(w, answerOf("1"))
}

// TestBatchWaitsForEveryBarrier: the array stands behind the last of its members.
func TestBatchWaitsForEveryBarrier(t *testing.T) {
	t.Parallel()
	var w *wire
	w = dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		seq := w.src.log(r.Method, 2)
		w.src.show(r.Method)
		sendAfter(c, r, "1", transport.Barrier{Session: r.Method, Seq: seq})
	}, transport.Options{})
	defer w.hangUp()
	w.tell(`[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]`)
	before := map[string]bool{}
	for range 4 {
		before[w.hear()] = true
	}
	if want := map[string]bool{"a:1": true, "a:2": true, "b:1": true, "b:2": true}; !cmp.Equal(want, before) {
		t.Errorf("before the array came %v", before)
	}
	hearAll(w, "["+answerOf("1")+","+answerOf("2")+"]")
}

// TestAnswersOutOfOrder: a request that is answered late holds up none behind it.
func TestAnswersOutOfOrder(t *testing.T) {
	t.Parallel()
	late := make(chan func(), 1)
	w := dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		if r.Method == "slow" {
			late <- func() { send(c, r, "1") }
			return
		}
		send(c, r, "1")
	}, transport.Options{})
	defer w.hangUp()
	w.tell(`{"jsonrpc":"2.0","id":"slow","method":"slow"}`)
	w.tell(`{"jsonrpc":"2.0","id":"quick","method":"quick"}`)
	hearAll(w, answerOf(`"quick"`))
	await(t, late, "the slow request")()
	hearAll(w, answerOf(`"slow"`))
}

func hearAll(w *wire, want ...string) {
	w.t.Helper()
	var got []string
	for range want {
		got = append(got, w.hear())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestOrderUnderLoad: sessions step at once, each answering before, among and
// behind its events; on the wire every session is contiguous and every answer
// stands where it belongs.
func TestOrderUnderLoad(t *testing.T) {
	t.Parallel()
	const sessions, steps = 4, 150
	handed := make(chan func(result string, b transport.Barrier), sessions*steps)
	w := dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		handed <- func(result string, b transport.Barrier) { sendAfter(c, r, result, b) }
	}, transport.Options{WriteBudget: 256, MaxInFlight: sessions * steps})
	defer w.hangUp()
	go func() {
		for i := range sessions * steps {
			_, _ = fmt.Fprintf(w.peer, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"m\"}\n", i)
		}
	}()
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() { walk(t, w.src, "s"+strconv.Itoa(i), steps, rand.New(rand.NewPCG(1, uint64(i))), handed) })
	}
	checkOrder(t, w, sessions*steps)
	wg.Wait()
}

// walk steps one session; each answer says what has to be seen before it (after)
// and what must not (before), as "session after before".
func walk(t *testing.T, src *source, name string, steps int, r *rand.Rand, handed chan func(string, transport.Barrier)) {
	for range steps {
		answer := await(t, handed, "a request")
		from := src.log(name, 1+r.IntN(3))
		last := src.log(name, r.IntN(3))
		switch r.IntN(3) {
		case 0: // an ack
			first := src.first(name)
			answer(fmt.Sprintf(`"%s 0 %d"`, name, first), transport.Barrier{})
			src.show(name)
		case 1: // among its events
			answer(fmt.Sprintf(`"%s %d %d"`, name, from, from+1), transport.Barrier{Session: name, Seq: from})
			src.show(name)
		default: // a reply
			src.show(name)
			answer(fmt.Sprintf(`"%s %d 0"`, name, last), transport.Barrier{Session: name, Seq: last})
		}
	}
}

// first is the first seq that is not visible yet.
func (s *source) first(session string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head[session] + 1
}

func checkOrder(t *testing.T, w *wire, answers int) {
	t.Helper()
	seen := map[string]int64{}
	for n := 0; n < answers; {
		line := w.hear()
		if name, seq, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "{") {
			if got, _ := strconv.ParseInt(seq, 10, 64); got != seen[name]+1 {
				t.Fatalf("%s comes after %d", line, seen[name])
			}
			seen[name]++
			continue
		}
		n++
		var name string
		var after, before int64
		_, rest, _ := strings.Cut(line, `"result":"`)
		if _, err := fmt.Sscanf(strings.TrimSuffix(rest, `"}`), "%s %d %d", &name, &after, &before); err != nil {
			t.Fatalf("answer %s: %v", line, err)
		}
		if seen[name] < after {
			t.Errorf("answer %s stands at %d", line, seen[name])
		}
		if before > 0 && seen[name] >= before {
			t.Errorf("answer %s stands at %d", line, seen[name])
		}
	}
}
