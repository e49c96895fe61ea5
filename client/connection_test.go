package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/transport"
)

// TestBackPressure: a consumer that does not read holds up the connection after
// about QueueBytes; a call from within the loop is answered all the same, and
// nothing is lost.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	const events = 4000
	g := start(t)
	c := attach(t, g, client.Options{QueueBytes: 4 << 10})
	bystander := c.Follow("nobody")
	defer bystander.Close()
	turn, err := c.StartTurn(within(t), prompt("s", "t", fmt.Sprintf("flood %d 64", events)))
	if err != nil {
		t.Fatal(err)
	}
	var s story
	for env, err := range turn.Events(within(t)) {
		s.add(t, env, err)
		if len(s.seqs)%500 == 0 {
			if r, err := c.Cancel(within(t), "s", "another"); err != nil || r.Outcome != protocol.CancelNoActiveTurn {
				t.Fatalf("a call in the loop: %+v %v", r, err)
			}
		}
	}
	if fault := s.contiguous(1); fault != "" || len(s.text) != events*64 {
		t.Errorf("%d events, %d bytes of text: %s", len(s.seqs), len(s.text), fault)
	}
}

// TestQueueIsBounded: without a call that waits, no more than the bound is read.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound, events = 10, 100
		m := newMute(hello)
		m.lines = make(chan string)
		c := over(t, &unbuffered{mute: m}, client.Options{QueueBytes: bound * weight(t, events)})
		f := c.Follow("")
		var read atomic.Int64
		go func() {
			for seq := int64(1); seq <= events; seq++ {
				m.lines <- notification(seq)
				read.Store(seq)
			}
		}()
		for seq := int64(1); seq <= events; seq++ {
			synctest.Wait()
			if got, want := read.Load(), min(seq+bound, events); got != want {
				t.Fatalf("%d events were read while %d were consumed, want %d", got, seq-1, want)
			}
			if env, err := f.Next(t.Context()); err != nil || env.Seq != seq {
				t.Fatalf("%+v %v", env, err)
			}
		}
		f.Close()
		_ = c.Close()
	})
}

// weight is what an event holds: what it counted on the wire, and a little more.
func weight(t *testing.T, seq int64) int {
	t.Helper()
	var line struct{ Params json.RawMessage }
	if err := json.Unmarshal([]byte(notification(seq)), &line); err != nil {
		t.Fatal(err)
	}
	return 256 + len(line.Params)
}

// unbuffered is a mute whose lines wait until they are read.
type unbuffered struct{ *mute }

func (u *unbuffered) Write([]byte) error {
	go func() { u.lines <- u.greeting }()
	return nil
}

// TestCloseWhileFull: Close does not wait for a consumer.
func TestCloseWhileFull(t *testing.T) {
	t.Parallel()
	c := attach(t, start(t), client.Options{QueueBytes: 1})
	f := c.Follow("")
	turn, err := c.StartTurn(within(t), prompt("s", "t", "flood 2000 64"))
	if err != nil {
		t.Fatal(err)
	}
	if env, err := f.Next(within(t)); err != nil || env.Seq != 1 {
		t.Errorf("%+v %v", env, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	turn.Close()
	for err = nil; err == nil; {
		_, err = f.Next(within(t))
	}
	if !errors.Is(err, client.ErrClosed) || c.Err() != nil {
		t.Errorf("the feed ends with %v, the client with %v", err, c.Err())
	}
	select {
	case <-c.Done():
	default:
		t.Error("Done is open after Close")
	}
}

// TestCloseEndsCalls: whoever waits for an answer is told, whichever way the
// connection ends.
func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(m *mute, c *client.Client){
		"closed here": func(_ *mute, c *client.Client) { _ = c.Close() },
		"cut":         func(m *mute, _ *client.Client) { _ = m.Close() },
		"nonsense":    func(m *mute, _ *client.Client) { m.lines <- "}" },
		"a malformed event": func(m *mute, _ *client.Client) {
			m.lines <- `{"jsonrpc":"2.0","method":"event","params":{"sessionId":"s","seq":1,"event":{"type":"turn.started"}}}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMute(hello)
			c, err := client.Attach(within(t), m, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			faults := make(chan error, 4)
			for range 3 {
				wg.Go(func() {
					_, err := c.Cancel(within(t), "s", "")
					faults <- err
				})
				<-m.sent
			}
			f := c.Follow("s")
			wg.Go(func() {
				_, err := f.Next(within(t))
				faults <- err
			})
			end(m, c)
			wg.Wait()
			for range 4 {
				if err := <-faults; !errors.Is(err, client.ErrClosed) {
					t.Errorf("ended with %v", err)
				}
			}
			if _, err := c.Cancel(within(t), "s", ""); !errors.Is(err, client.ErrClosed) {
				t.Errorf("a call on an ended connection: %v", err)
			}
			if in := name == "closed here"; in != (c.Err() == nil) {
				t.Errorf("Err is %v", c.Err())
			}
			var malformed *protocol.MalformedError
			if name == "a malformed event" && !errors.As(c.Err(), &malformed) {
				t.Errorf("Err is %v, which says nothing of the event", c.Err())
			}
			_ = c.Close()
		})
	}
}

// TestServerEnds: a broken read is a fault, an end in order is none.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	g := start(t)
	conn := pipe(t, g)
	c := over(t, transport.NDJSON(conn, conn, 0, 0, conn.Close), client.Options{})
	_ = conn.SetReadDeadline(time.Now())
	<-c.Done()
	if c.Err() == nil || !strings.Contains(c.Err().Error(), "timeout") {
		t.Errorf("a broken read ends with %v", c.Err())
	}
	m := newMute(hello)
	quiet := over(t, &ending{mute: m}, client.Options{})
	_ = m.Close()
	<-quiet.Done()
	if quiet.Err() != nil {
		t.Errorf("an end in order is %v", quiet.Err())
	}
	if _, err := quiet.Cancel(within(t), "s", ""); !errors.Is(err, client.ErrClosed) || err.Error() != "calling turn/cancel: connection is closed" {
		t.Errorf("a call behind it: %v", err)
	}
}

// ending is a mute whose end is an end of input.
type ending struct{ *mute }

func (e *ending) Next() ([]byte, error) {
	line, err := e.mute.Next()
	if err != nil {
		err = io.EOF
	}
	return line, err
}

// TestOversize: a line over what this client takes ends the connection, loudly.
func TestOversize(t *testing.T) {
	t.Parallel()
	g := start(t)
	conn := pipe(t, g)
	c, err := client.Attach(within(t), transport.NDJSON(conn, conn, 4<<10, 0, conn.Close), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range c.RunTurn(within(t), prompt("s", "t", "hello "+strings.Repeat("x", 8<<10))) {
		last = err
	}
	var over *transport.OversizeError
	if !errors.Is(last, client.ErrClosed) || !errors.As(last, &over) || !errors.As(c.Err(), &over) {
		t.Errorf("the turn ends with %v, the connection with %v", last, c.Err())
	}
	_ = c.Close()
}

// TestContext: a call gives up with its context, also where the server takes no
// byte; what comes later is nobody's.
func TestContext(t *testing.T) {
	t.Parallel()
	m := newMute(hello)
	c := over(t, m, client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Cancel(ctx, "s", "")
		done <- err
	}()
	<-m.sent
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose answer does not come: %v", err)
	}
	m.lines <- `{"jsonrpc":"2.0","id":2,"result":{"outcome":"no_active_turn"}}`
	for range cap(m.sent) + 1 { // the last one cannot be written any more
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Cancel(ctx, "s", ""); !errors.Is(err, context.Canceled) {
			t.Fatalf("a call under a dead context: %v", err)
		}
	}
	f := c.Follow("s")
	defer f.Close()
	if _, err := f.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next under a dead context: %v", err)
	}
	for _, err := range c.RunTurn(ctx, prompt("s", "t", "")) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("RunTurn under a dead context: %v", err)
		}
	}
}

// TestBrokenWrite: a server that takes no more ends the connection, though it
// still speaks.
func TestBrokenWrite(t *testing.T) {
	t.Parallel()
	m := newMute(hello)
	c, err := client.Attach(within(t), &deaf{mute: m}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Cancel(within(t), "s", ""); !errors.Is(err, client.ErrClosed) || !errors.Is(err, errDeaf) || !errors.Is(c.Err(), errDeaf) {
		t.Errorf("Cancel: %v, Err: %v", err, c.Err())
	}
	_ = c.Close()
}

var errDeaf = errors.New("takes no more")

// deaf takes the greeting alone.
type deaf struct {
	*mute
	greeted bool
}

func (d *deaf) Write(lines []byte) error {
	if d.greeted {
		return errDeaf
	}
	d.greeted = true
	return d.mute.Write(lines)
}

// TestManyAtOnce: calls and turns from many goroutines on one connection.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	c := attach(t, start(t), client.Options{QueueBytes: 8 << 10})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 3 {
				s := tell(t, c, prompt(fmt.Sprint("s", i), fmt.Sprint("t", j), "flood 200 16"))
				if len(s.text) != 200*16 || s.contiguous(s.seqs[0]) != "" {
					t.Errorf("session %d turn %d: %d bytes, %s", i, j, len(s.text), s.contiguous(s.seqs[0]))
				}
			}
		})
	}
	wg.Wait()
}
