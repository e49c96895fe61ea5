package transport_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"

	"agent-server/transport"
)

// TestEndOfInput: what was read is answered, what is due is written, also long
// after the peer's last word; Finish is the end.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	late := make(chan func(), 1)
	var out bytes.Buffer
	src := newSource()
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"late"}`)
	s := transport.Open(transport.NDJSON(in, &out, 0, 0, nil), handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		late <- func() { send(c, r, "1") }
	}), src, transport.Options{})
	await(t, s.InputEnded(), "the end of input")
	select {
	case <-s.Closed():
		t.Error("the end of input closed the connection")
	default:
	}
	src.log("s", 2)
	src.show("s")
	(<-late)()
	if err := s.Finish(t.Context()); err != nil {
		t.Errorf("Finish: %v", err)
	}
	await(t, s.Closed(), "the end")
	s.Wait()
	got := sorted(lines(t, out.String()), answerOf("1"))
	if diff := cmp.Diff([]string{answerOf("1"), "s:1", "s:2"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestFinishOfADeafPeer: a peer that reads nothing delays the end by no more
// than the bound, and Finish says that something was left unsaid.
func TestFinishOfADeafPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, echo, transport.Options{FlushTimeout: 3 * time.Second})
		w.src.log("s", 1)
		w.src.show("s")
		synctest.Wait() // the writer writes, nobody reads
		start := time.Now()
		if err := w.stream.Finish(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Finish = %v, want the deadline", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("Finish took %v", took)
		}
		w.stream.Wait()
		if n := w.src.closes(); n != 1 {
			t.Errorf("the source was closed %d times", n)
		}
		_ = w.peer.Close()
	})
}

// TestFinishHeedsItsContext: whoever waits may wait less than the bound.
func TestFinishHeedsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, echo, transport.Options{})
		w.src.log("s", 1)
		w.src.show("s")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		if err := w.stream.Finish(ctx); err == nil || time.Since(start) != time.Second {
			t.Errorf("Finish = %v after %v", err, time.Since(start))
		}
		w.stream.Wait()
		_ = w.peer.Close()
	})
}

// TestFinishTwice: the second one finds nothing to do.
func TestFinishTwice(t *testing.T) {
	t.Parallel()
	w := dial(t, echo, transport.Options{})
	for range 2 {
		if err := w.stream.Finish(t.Context()); err != nil {
			t.Errorf("Finish: %v", err)
		}
	}
	w.stream.Wait()
	if err := w.stream.Close(); err != nil || w.src.closes() != 1 {
		t.Errorf("Close = %v, the source was closed %d times", err, w.src.closes())
	}
}

// TestPeerGoesAway: a write that fails ends the connection, though nobody reads
// the peer's end; answers that come later are told so.
func TestPeerGoesAway(t *testing.T) {
	t.Parallel()
	conns := make(chan *jsonrpc2.Conn, 1)
	requests := make(chan *jsonrpc2.Request, 1)
	here, there := net.Pipe()
	_ = here.Close()
	r, keepOpen := io.Pipe() // input stays open: only the write can tell
	src := newSource()
	s := transport.Open(transport.NDJSON(r, there, 0, 0, keepOpen.Close), handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		conns <- c
		requests <- r
	}), src, transport.Options{})
	_, _ = io.WriteString(keepOpen, `{"jsonrpc":"2.0","id":1,"method":"m"}`+"\n")
	conn, req := await(t, conns, "the request"), await(t, requests, "the request")
	src.log("s", 1)
	src.show("s")
	await(t, s.Closed(), "the end")
	await(t, s.InputEnded(), "the end of input")
	s.Wait()
	raw := []byte("1")
	err := conn.SendResponse(t.Context(), &jsonrpc2.Response{ID: req.ID, Result: (*json.RawMessage)(&raw)})
	if !errors.Is(err, jsonrpc2.ErrClosed) {
		t.Errorf("an answer after the end = %v, want ErrClosed", err)
	}
}

// TestSourceFails: what is due can no longer be served, so the connection ends;
// behind a barrier no less.
func TestSourceFails(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]transport.Barrier{"at rest": {}, "behind a barrier": {Session: "s", Seq: 9}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := dial(t, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) { sendAfter(c, r, "1", b) }, transport.Options{})
			w.src.mu.Lock()
			w.src.err = errors.New("gone")
			w.src.mu.Unlock()
			w.tell(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
			await(t, w.stream.Closed(), "the end")
			w.stream.Wait()
			_ = w.peer.Close()
		})
	}
}

// TestReadFails: a broken input is an end of input.
func TestReadFails(t *testing.T) {
	t.Parallel()
	r, cable := io.Pipe()
	src := newSource()
	s := transport.Open(transport.NDJSON(r, io.Discard, 0, 0, nil), handler(echo), src, transport.Options{})
	_ = cable.CloseWithError(errors.New("cable cut"))
	await(t, s.InputEnded(), "the end of input")
	if err := s.Finish(t.Context()); err != nil {
		t.Errorf("Finish: %v", err)
	}
	s.Wait()
}

// TestOneAnswer: a request is answered once, whoever tries again; requests of
// ours do not exist.
func TestOneAnswer(t *testing.T) {
	t.Parallel()
	faults := make(chan error, 3)
	got := say(t, `{"jsonrpc":"2.0","id":1,"method":"m"}`, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		send(c, r, "1")
		faults <- c.Reply(context.Background(), r.ID, 2)
		faults <- c.Reply(context.Background(), jsonrpc2.ID{Num: 99}, 3)
		faults <- c.Notify(context.Background(), "event", nil)
	}, 0)
	if diff := cmp.Diff([]string{answerOf("1")}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for range 3 {
		if err := <-faults; err == nil {
			t.Error("a second answer, an answer to nobody, or a notification was taken")
		}
	}
}

// TestEmptyAnswer: a response without result and error is a result all the same.
func TestEmptyAnswer(t *testing.T) {
	t.Parallel()
	got := say(t, `{"jsonrpc":"2.0","id":1,"method":"m"}`, func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		_ = c.SendResponse(context.Background(), &jsonrpc2.Response{ID: r.ID})
	}, 0)
	if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","id":1,"result":null}`}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestErrorAnswers: code, message and data as given, texts made fit for the wire.
func TestErrorAnswers(t *testing.T) {
	t.Parallel()
	data := json.RawMessage(`{"a":1}`)
	got := say(t, `{"jsonrpc":"2.0","id":1,"method":"m"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"n"}`,
		func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
			e := &jsonrpc2.Error{Code: -32006, Message: "a\u2028<b>\xff\n"}
			if r.Method == "m" {
				e.Data = &data
			}
			_ = c.ReplyWithError(context.Background(), r.ID, e)
		}, 0)
	want := []string{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32006,"message":"a\u2028<b>` + "\uFFFD" + `\n","data":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32006,"message":"a\u2028<b>` + "\uFFFD" + `\n"}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
