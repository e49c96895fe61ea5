package transport_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"

	"agent-server/transport"
)

// TestOversizeLine: a line over the limit is answered, with the limit, and the
// next one is served.
func TestOversizeLine(t *testing.T) {
	t.Parallel()
	long := `{"jsonrpc":"2.0","id":1,"method":"m","params":"` + strings.Repeat("x", 300_000) + `"}`
	got := say(t, long+"\n"+`{"jsonrpc":"2.0","id":2,"method":"m"}`, echo, 200_000)
	want := []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"line of %d bytes is over the limit of 200000","data":{"limitBytes":200000}}}`, len(long)),
		`{"jsonrpc":"2.0","id":2,"result":"m absent"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// TestInFlightBound: so many requests may be unanswered, and not one more is
// read before one of them is.
func TestInFlightBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound = 3
		var served atomic.Int32
		late := make(chan func(), 100)
		w := dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
			served.Add(1)
			late <- func() { send(c, r, "1") }
		}, transport.Options{MaxInFlight: bound})
		go func() {
			for i := range 10 {
				_, _ = fmt.Fprintf(w.peer, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"m\"}\n", i)
			}
		}()
		go func() { _, _ = io.Copy(io.Discard, w.peer) }()
		for want := int32(bound); want <= 10; want++ {
			synctest.Wait()
			if got := served.Load(); got != want {
				t.Fatalf("%d requests were read, want %d", got, want)
			}
			(<-late)()
		}
		for range bound {
			synctest.Wait()
			select {
			case answer := <-late:
				answer()
			default:
			}
		}
		w.hangUp()
	})
}

// TestInFlightBoundOverASocket: the same bound holds for what one message brings.
func TestInFlightBoundOverASocket(t *testing.T) {
	t.Parallel()
	const bound, all = 3, 20
	var open, most atomic.Int32
	late := make(chan func(), all)
	h := handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		n := open.Add(1)
		most.Store(max(most.Load(), n)) // the read loop is alone in here
		late <- func() { open.Add(-1); send(c, r, "1") }
	})
	p := meet(t, listen(t, h, transport.ListenOptions{Stream: transport.Options{MaxInFlight: bound}}).URL(), nil)
	var lines []string
	for i := range all {
		lines = append(lines, request(fmt.Sprint(i)))
	}
	p.tell(strings.Join(lines, "\n"))
	for range all {
		(<-late)()
		p.hear()
	}
	if got := most.Load(); got > bound {
		t.Errorf("%d requests were in flight, the bound is %d", got, bound)
	}
}

// TestAnswersBound: a peer that asks and does not read is not asked for more
// than the bound holds; once it reads, everything comes.
func TestAnswersBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, bound, requests = 1 << 10, 8 << 10, 100
		var served atomic.Int32
		result := `"` + strings.Repeat("x", size) + `"`
		w := dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
			served.Add(1)
			send(c, r, result)
		}, transport.Options{MaxAnswerBytes: bound})
		go func() {
			for i := range requests {
				_, _ = fmt.Fprintf(w.peer, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"m\"}\n", i)
			}
		}()
		synctest.Wait()
		// One bound is being written, one is queued, and the line that went over.
		if got := served.Load(); got > 2*(bound/size+1) || got < bound/size {
			t.Errorf("%d answers of %d bytes are held, the bound is %d", got, size, bound)
		}
		for i := range requests {
			if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, i, result); w.hear() != want {
				t.Fatalf("answer %d is another", i)
			}
		}
		w.hangUp()
	})
}

// TestBatchAnswerBound: what gathers for one batch is bounded: the member that goes over
// is the last that is answered with its result.
func TestBatchAnswerBound(t *testing.T) {
	t.Parallel()
	const bound, members = 100, 4
	result := `"` + strings.Repeat("x", 80) + `"`
	w := dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) { send(c, r, result) }, transport.Options{MaxAnswerBytes: bound})
	var asked, want []string
	for i := range members {
		asked = append(asked, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`, i))
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, i, result)
		if i > 0 {
			answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"batch answer too large"}}`, i)
		}
		want = append(want, answer)
	}
	// Twice: the count must come back to nothing, or the second is never read.
	for range 2 {
		w.tell("[" + strings.Join(asked, ",") + "]")
		if diff := cmp.Diff("["+strings.Join(want, ",")+"]", w.hear()); diff != "" {
			t.Errorf("the batch's answer (-want +got):\n%s", diff)
		}
	}
	w.hangUp()
}

// TestGatheringBatchCounts: answers that gather for a batch are held, and count as
// queued: while they are over the bound nothing further is read.
func TestGatheringBatchCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int32
		late := make(chan func(), 1)
		w := dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
			served.Add(1)
			if r.Method == "late" {
				late <- func() { send(c, r, "1") }
				return
			}
			send(c, r, `"`+strings.Repeat("x", 200)+`"`)
		}, transport.Options{MaxAnswerBytes: 100})
		go func() { _, _ = io.Copy(io.Discard, w.peer) }()
		go func() {
			_, _ = io.WriteString(w.peer, `[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":2,"method":"late"}]`+"\n"+`{"jsonrpc":"2.0","id":3,"method":"m"}`+"\n")
		}()
		synctest.Wait()
		if got := served.Load(); got != 2 {
			t.Errorf("%d requests were served while the batch is over the bound, want 2", got)
		}
		(<-late)()
		synctest.Wait()
		if got := served.Load(); got != 3 {
			t.Errorf("%d requests were served after the batch, want 3", got)
		}
		w.hangUp()
	})
}

// TestWritesAreCoalesced: what is due at once leaves in writes of about the
// budget, one event alone at once.
func TestWritesAreCoalesced(t *testing.T) {
	t.Parallel()
	const budget = 1 << 10
	src := newSource()
	out := &recorder{src: src, last: event("s", 501)}
	r, hold := io.Pipe()
	s := transport.Open(transport.NDJSON(r, out, 0, 0, hold.Close), handler(echo), src, transport.Options{WriteBudget: budget})
	src.log("s", 1)
	src.show("s")
	src.log("s", 500)
	src.show("s")
	_ = s.Finish(t.Context())
	s.Wait()
	out.mu.Lock()
	defer out.mu.Unlock()
	total := 0
	for i, w := range out.writes {
		total += strings.Count(w, "\n")
		if !strings.HasSuffix(w, "\n") || len(w) > budget+16 {
			t.Errorf("write %d holds %d bytes and ends %q", i, len(w), w[max(0, len(w)-5):])
		}
	}
	if total != 501 || len(out.writes) > 500*len(event("s", 100))/budget+5 {
		t.Errorf("%d events in %d writes", total, len(out.writes))
	}
}

// recorder keeps each write.
type recorder struct {
	src    *source
	last   string
	mu     sync.Mutex
	writes []string
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = append(r.writes, string(p))
	return len(p), nil
}
