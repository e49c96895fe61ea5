package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"agent-server/client"
	"agent-server/gateway"
	"agent-server/protocol"
	"agent-server/transport"
)

// TestLaw130_nothingLostOverDial: however often the connection is cut, at whatever
// byte, who follows is given each event once, in order, and turns come to their end.
func TestLaw130_nothingLostOverDial(t *testing.T) {
	t.Parallel()
	const sessions, turns, deltas = 4, 4, 500
	g := start(t)
	addr, _ := listen(t, g, transport.ListenOptions{})
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			p := newProxy(t, addr, seeded(seed, 500, 100_000))
			o := quick()
			o.AwaitServer = true
			c := dial(t, p.addr, o)
			for i := range sessions {
				followed(t, c, fmt.Sprint("s", seed, i), turns, deltas)
			}
			if p.cuts.Load() < 5 {
				t.Errorf("only %d connections were cut: the test tried nothing", p.cuts.Load())
			}
		})
	}
}

// followed runs turns on a session and checks what a feed of it and the turns
// themselves are given.
func followed(t *testing.T, c *client.Client, session string, turns, deltas int) {
	t.Helper()
	var wg sync.WaitGroup
	defer wg.Wait()
	feed := c.FollowNew(session)
	wg.Go(func() { followAll(t, feed, turns) })
	seq := int64(1)
	for i := range turns {
		s := tell(t, c, prompt(session, fmt.Sprint("t", i), fmt.Sprintf("flood %d 16", deltas)))
		if fault := s.contiguous(seq); fault != "" || len(s.gaps) > 0 || s.end == nil || len(s.text) != deltas*16 {
			t.Errorf("turn %d: %d events, %d bytes, %d gaps: %s", i, len(s.seqs), len(s.text), len(s.gaps), fault)
		}
		seq += int64(len(s.seqs))
	}
}

// followAll reads a feed until so many turns have ended, and checks its numbers.
func followAll(t *testing.T, feed *client.Feed, turns int) {
	defer feed.Close()
	for want, ended := int64(1), 0; ended < turns; want++ {
		env, err := feed.Next(within(t))
		if err != nil || env.Seq != want {
			t.Errorf("seq %d: %v, want %d", env.Seq, err, want)
			return
		}
		if _, ok := env.Event.(*protocol.TurnEnded); ok {
			ended++
		}
	}
}

// TestLaw131_resumedUnasked: a session that spoke during an outage and has fallen
// silent is caught up with, without a further event that would show the hole.
func TestLaw131_resumedUnasked(t *testing.T) {
	t.Parallel()
	g := start(t)
	addr, _ := listen(t, g, transport.ListenOptions{})
	p := newProxy(t, addr, whole)
	local := attach(t, g, client.Options{})
	past := tell(t, local, prompt("s", "before", "hello"))
	up := make(chan struct{}, 100)
	o := quick()
	o.OnUp = func(protocol.InitializeResult) { up <- struct{}{} }
	c := dial(t, p.addr, o)
	<-up
	one, all, never := c.Follow("s"), c.Follow(""), c.FollowNew("other") // which has yet to begin
	defer one.Close()
	defer all.Close()
	defer never.Close()
	tell(t, local, prompt("s", "seen", "hello"))
	n := 0
	for env := range eventsOf(t, one, "seen") {
		if n++; env.Seq != int64(len(past.seqs)+n) {
			t.Fatalf("seq %d, want %d", env.Seq, len(past.seqs)+n)
		}
	}
	p.lead("127.0.0.1:1") // where nobody listens
	p.cut()
	tell(t, local, prompt("s", "missed", "hello"))
	tell(t, local, prompt("other", "missed too", "hello"))
	p.lead(addr)
	<-up
	for env := range eventsOf(t, one, "missed") {
		if n++; env.Seq != int64(len(past.seqs)+n) {
			t.Fatalf("seq %d, want %d", env.Seq, len(past.seqs)+n)
		}
	}
	for left := n; left > 0; {
		env, err := all.Next(within(t))
		if err != nil {
			t.Fatalf("who follows all misses %d: %v", left, err)
		}
		if env.SessionID == "s" {
			left--
		}
	}
	// Of this one nothing had come before the outage.
	first := int64(0)
	for env := range eventsOf(t, never, "missed too") {
		if first++; env.Seq != first {
			t.Fatalf("seq %d, want %d", env.Seq, first)
		}
	}
}

// eventsOf gives what a feed has up to the end of a turn.
func eventsOf(t *testing.T, f *client.Feed, turn string) func(func(protocol.Envelope) bool) {
	return func(yield func(protocol.Envelope) bool) {
		t.Helper()
		for {
			env, err := f.Next(within(t))
			if err != nil {
				t.Fatalf("before the end of turn %s: %v", turn, err)
			}
			ended, ok := env.Event.(*protocol.TurnEnded)
			if !yield(env) || ok && ended.TurnID == turn {
				return
			}
		}
	}
}

// TestLaw132_hostLost: another host's sessions are not taken for the old one's:
// whoever waits is told, feeds begin anew, nothing is sent again.
func TestLaw132_hostLost(t *testing.T) {
	t.Parallel()
	old, fresh := start(t), start(t)
	oldAddr, _ := listen(t, old, transport.ListenOptions{})
	freshAddr, _ := listen(t, fresh, transport.ListenOptions{})
	p := newProxy(t, oldAddr, whole)
	c := dial(t, p.addr, quick())
	was := c.Server().InstanceID
	feed := c.Follow("s")
	defer feed.Close()
	turn, err := c.StartTurn(within(t), prompt("s", "t", "hang text"))
	if err != nil {
		t.Fatal(err)
	}
	p.lead("127.0.0.1:1")
	p.cut()
	waits := make(chan error, 1)
	eventually(t, func() bool { return !c.Connected() })
	go func() {
		_, err := c.StartTurn(within(t), prompt("s", "waits", "hello"))
		waits <- err
	}()
	other := attach(t, fresh, client.Options{})
	tell(t, other, prompt("s", "new", "hello"))
	p.lead(freshAddr)
	var lost *client.HostLostError
	var last error
	for _, err := range turn.Events(within(t)) {
		last = err
	}
	if !errors.As(last, &lost) || lost.InstanceID != was || lost.NewInstanceID != c.Server().InstanceID {
		t.Errorf("the turn ends with %v", last)
	}
	if err := <-waits; !errors.As(err, &lost) {
		t.Errorf("a call meant for the old host: %v", err)
	}
	seq, told := int64(0), false
	for want := int64(1); ; want++ {
		env, err := feed.Next(within(t))
		if errors.As(err, &lost) && !told {
			want, told = 0, true
			continue
		}
		if err != nil || env.Seq != want {
			t.Fatalf("seq %d after %d: %v", env.Seq, seq, err)
		}
		seq = env.Seq
		if ended, ok := env.Event.(*protocol.TurnEnded); ok && ended.TurnID == "new" {
			break
		}
	}
	envs, _, err := c.Replay(within(t), "s", 1)
	for _, env := range envs {
		if ev, ok := env.Event.(*protocol.TurnStarted); ok && ev.TurnID != "new" {
			t.Errorf("the new host was sent turn %s", ev.TurnID)
		}
	}
	if err != nil || !told {
		t.Errorf("told %v, %v", told, err)
	}
	if s := tell(t, c, prompt("s", "after", "hello")); s.end == nil {
		t.Error("no turn on the new host")
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			t.Fatal("waited too long")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestLaw133_fates: a request whose answer is lost is sent again where that is safe,
// and its caller is told where it is not.
func TestLaw133_fates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do     func(ctx context.Context, c *client.Client) error
		repeat bool
	}{
		protocol.MethodTurnStart: {func(ctx context.Context, c *client.Client) error {
			_, err := c.StartTurn(ctx, prompt("s", "t", "x"))
			return err
		}, true},
		"a named turn's cancel": {func(ctx context.Context, c *client.Client) error { _, err := c.Cancel(ctx, "s", "t"); return err }, true},
		"replay":                {func(ctx context.Context, c *client.Client) error { _, _, err := c.Replay(ctx, "s", 1); return err }, true},
		"any turn's cancel":     {func(ctx context.Context, c *client.Client) error { _, err := c.Cancel(ctx, "s", ""); return err }, false},
		"respond": {func(ctx context.Context, c *client.Client) error {
			_, err := c.Respond(ctx, "s", "r", protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled})
			return err
		}, false},
		"close":    {func(ctx context.Context, c *client.Client) error { _, err := c.CloseSession(ctx, "s"); return err }, false},
		"shutdown": {func(ctx context.Context, c *client.Client) error { return c.Shutdown(ctx) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := within(t) // its time begins when its turn comes
			first, second := newMute(hello), newMute(hello)
			conns := acceptor(make(chan transport.Framing, 2))
			conns <- first
			c, err := client.Keep(ctx, conns.next, quick())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			done := make(chan error, 1)
			go func() { done <- tc.do(ctx, c) }()
			sent := <-first.sent
			_ = first.Close()
			if !tc.repeat {
				var fate *client.FateError
				if err := <-done; !errors.As(err, &fate) {
					t.Errorf("ended with %v", err)
				}
				return
			}
			conns <- second
			var again string
			select {
			case again = <-second.sent:
			case err := <-done:
				t.Fatalf("was not sent again: %v", err)
			}
			if _, was, _ := strings.Cut(sent, `"method"`); !strings.HasSuffix(again, was) {
				// A resume's replay may come first.
				if again = <-second.sent; !strings.HasSuffix(again, was) {
					t.Errorf("sent %s and then %s", sent, again)
				}
			}
			second.lines <- strings.Join(strings.SplitAfterN(again, ",", 3)[:2], "") + `"error":{"code":-32603,"message":"answered"}}`
			if err := <-done; !isCode(err, protocol.CodeInternalError) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// TestFinalFailures: what another try cannot mend is told, and ends the client; what
// it can is tried again.
func TestFinalFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		greeting string
		status   int
		ends     bool
	}{
		"another version, refused":   {`{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"x","data":{"supported":[3]}}}`, 0, true},
		"another version, unnoticed": {strings.Replace(hello, `"protocolVersion":2`, `"protocolVersion":3`, 1), 0, true},
		"no such method":             {`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}`, 0, true},
		"no JSON":                    {`hello`, 0, true},
		"401":                        {"", 401, true},
		"403":                        {"", 403, true},
		"404":                        {"", 404, true},
		"503":                        {"", 503, false},
		"429":                        {"", 429, false},
		"an internal error":          {`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"x"}}`, 0, false},
		"shutting down":              {`{"jsonrpc":"2.0","id":1,"error":{"code":-32003,"message":"x"}}`, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int64
			fail := func() (transport.Framing, error) {
				if tc.status != 0 {
					return nil, fmt.Errorf("dialling: %w", &transport.HandshakeError{Status: tc.status})
				}
				return newMute(tc.greeting), nil
			}
			next := func(context.Context) (transport.Framing, error) {
				if n := tries.Add(1); n != 2 && n != 3 {
					return newMute(hello), nil
				}
				return fail()
			}
			var first *mute
			c, err := client.Keep(within(t), func(ctx context.Context) (transport.Framing, error) {
				f, err := next(ctx)
				if first == nil {
					first = f.(*mute)
				}
				return f, err
			}, quick())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			_ = first.Close()
			if !tc.ends {
				eventually(t, func() bool { return tries.Load() == 4 && c.Connected() })
				return
			}
			<-c.Done()
			if _, err := c.Cancel(within(t), "s", ""); c.Err() == nil || !errors.Is(err, client.ErrClosed) || !errors.Is(err, c.Err()) || tries.Load() != 2 {
				t.Errorf("after %d tries it ended with %v, a call with %v", tries.Load(), c.Err(), err)
			}
		})
	}
}

// TestFirstDial: without AwaitServer the first failure is the caller's; with it, it
// is tried until the context ends. A bad token is never tried again.
func TestFirstDial(t *testing.T) {
	t.Parallel()
	if c, err := client.Dial(within(t), "ws://127.0.0.1:1/", quick()); err == nil || c != nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody listens: %v", err)
	}
	if _, err := client.Dial(within(t), "http://127.0.0.1:1/", quick()); err == nil {
		t.Error("a URL that cannot be dialled was taken")
	}
	down := 0
	o := quick()
	ctx, cancel := context.WithCancel(t.Context())
	o.AwaitServer = true
	o.OnDown = func(error, time.Duration) {
		if down++; down == 5 {
			cancel()
		}
	}
	if _, err := client.Dial(ctx, "ws://127.0.0.1:1/", o); !errors.Is(err, context.Canceled) || down != 5 {
		t.Errorf("gave up after %d with %v", down, err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("right-token-0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	addr, _ := listen(t, start(t), transport.ListenOptions{TokenFile: token})
	o = quick()
	o.AwaitServer = true
	var refusal *transport.HandshakeError
	if _, err := client.Dial(within(t), "ws://"+addr, o); !errors.As(err, &refusal) || refusal.Status != http.StatusUnauthorized {
		t.Errorf("without a token: %v", err)
	}
	o.Connect.TokenFile = token
	if s := tell(t, dial(t, addr, o), prompt("s", "t", "hello")); s.end == nil {
		t.Error("the turn did not end")
	}
}

// TestServerRestarts: a listener that goes and comes back, its gateway alive.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	g := start(t)
	addr, stop := listen(t, g, transport.ListenOptions{})
	p := newProxy(t, addr, whole)
	var ends atomic.Int64
	o := quick()
	o.OnDown = func(err error, _ time.Duration) {
		if !fellOver(err) {
			ends.Add(1)
		}
	}
	c := dial(t, p.addr, o)
	turn, err := c.StartTurn(within(t), prompt("s", "t", "hang text"))
	if err != nil {
		t.Fatal(err)
	}
	feed := c.FollowNew("s")
	defer feed.Close()
	for running := false; !running; {
		env, err := feed.Next(within(t))
		if err != nil {
			t.Fatal(err)
		}
		_, running = env.Event.(*protocol.MessagePartDelta)
	}
	stop()
	eventually(t, func() bool { return ends.Load() > 0 })
	again, _ := listen(t, g, transport.ListenOptions{})
	p.lead(again)
	if r, err := c.Cancel(within(t), "s", "t"); err != nil || r.Outcome != protocol.CancelCancelled {
		t.Errorf("%+v %v", r, err)
	}
	var s story
	for env, err := range turn.Events(within(t)) {
		s.add(t, env, err)
	}
	if fault := s.contiguous(1); fault != "" || s.end == nil || s.end.StopReason != protocol.StopCancelled {
		t.Errorf("%s, ended %+v", fault, s.end)
	}
}

// TestAcceptedSocket: a gateway dials out, and is a client's over what it opened;
// once for Attach, over and over for Keep.
func TestAcceptedSocket(t *testing.T) {
	t.Parallel()
	g := start(t)
	conns := make(acceptor)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f, err := transport.Upgrade(w, r, transport.SocketOptions{CloseTimeout: 100 * time.Millisecond}); err == nil {
			conns <- f
		}
	}))
	t.Cleanup(server.Close)
	p := newProxy(t, server.Listener.Addr().String(), seeded(1, 500, 30_000))
	d, err := transport.Dial(context.Background(), transport.DialOptions{URL: "ws://" + p.addr, MinBackoff: time.Millisecond, MaxBackoff: 8 * time.Millisecond,
		Socket: transport.SocketOptions{CloseTimeout: 100 * time.Millisecond}}, func(transport.Peer) (jsonrpc2.Handler, transport.Source) {
		sub := g.Connect(gateway.ConnectOptions{})
		return sub, sub
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Shutdown(context.Background()) })
	once, err := client.Attach(within(t), <-conns, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := once.Server().Harnesses[protocol.HarnessDemo]; !ok {
		t.Errorf("the server is %+v", once.Server())
	}
	_ = once.Close()
	c, err := client.Keep(within(t), conns.next, quick())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s := tell(t, c, prompt("s", "t", "flood 300 16"))
	if fault := s.contiguous(1); fault != "" || len(s.text) != 4_800 || p.cuts.Load() == 0 {
		t.Errorf("%d bytes over %d cuts: %s", len(s.text), p.cuts.Load(), fault)
	}
	_ = c.Close()
}

// TestTooLongRequest: a request beyond what the server takes fails at once, says
// both sizes, and the connection lives.
func TestTooLongRequest(t *testing.T) {
	t.Parallel()
	g := start(t, func(o *gateway.Options) { o.MaxMessageBytes = 8 << 10 })
	addr, _ := listen(t, g, transport.ListenOptions{})
	c := dial(t, addr, quick())
	var long *transport.OversizeError
	_, err := c.StartTurn(within(t), prompt("s", "t", strings.Repeat("x", 9<<10)))
	if !errors.As(err, &long) || long.Limit != 8<<10 || long.Bytes < 9<<10 {
		t.Errorf("StartTurn = %v", err)
	}
	if s := tell(t, c, prompt("s", "t", "hello")); s.end == nil || c.Err() != nil {
		t.Errorf("after it: %+v %v", s.end, c.Err())
	}
}

// TestContextBoundsTheWait: a call that finds no connection waits as long as its
// context lets it; Close ends the wait too.
func TestContextBoundsTheWait(t *testing.T) {
	t.Parallel()
	m := newMute(hello)
	conns := acceptor(make(chan transport.Framing, 1))
	conns <- m
	c, err := client.Keep(within(t), conns.next, quick())
	if err != nil {
		t.Fatal(err)
	}
	_ = m.Close()
	eventually(t, func() bool { return !c.Connected() })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { _, err := c.Cancel(ctx, "s", "t"); done <- err }()
	go func() { _, err := c.Cancel(within(t), "s", "t"); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose context ends: %v", err)
	}
	if err := c.Close(); err != nil || c.Err() != nil {
		t.Errorf("Close: %v, Err: %v", err, c.Err())
	}
	if err := <-done; !errors.Is(err, client.ErrClosed) || errors.Is(err, io.EOF) {
		t.Errorf("a call on a client that is closed: %v", err)
	}
}
