package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/transport"
)

// base is a server that knows the base protocol and nothing else: no capabilities,
// its log in memory and gone with a close, a session's numbers from 1. It notes
// whatever it is asked beyond that.
type base struct {
	instance string

	mu       sync.Mutex
	sessions map[string][]string
	turns    map[string]bool
	conns    map[*baseConn]struct{}
	strange  []string
}

// baseConn is one connection; lines wait in it unboundedly, as they may in a test.
type baseConn struct {
	transport.Framing
	wake  chan struct{}
	lines []string
}

// newBase serves over WebSocket.
func newBase(t testing.TB, instance string) (*base, string) {
	t.Helper()
	b := &base{instance: instance, sessions: map[string][]string{}, turns: map[string]bool{}, conns: map[*baseConn]struct{}{}}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := transport.Upgrade(w, r, transport.SocketOptions{CloseTimeout: 100 * time.Millisecond})
		if err != nil {
			return
		}
		wg.Go(func() { b.serve(ctx, &baseConn{Framing: f, wake: make(chan struct{}, 1)}) })
	}))
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		s.Close()
	})
	return b, s.Listener.Addr().String()
}

func (b *base) serve(ctx context.Context, c *baseConn) {
	b.mu.Lock()
	b.conns[c] = struct{}{}
	b.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { b.write(ctx, c) })
	for {
		line, err := c.Next()
		if err != nil {
			break
		}
		b.take(c, line)
	}
	cancel()
	wg.Wait()
	b.mu.Lock()
	delete(b.conns, c)
	b.mu.Unlock()
	_ = c.Close()
}

func (b *base) write(ctx context.Context, c *baseConn) {
	for {
		select {
		case <-c.wake:
		case <-ctx.Done():
			return
		}
		b.mu.Lock()
		lines := c.lines
		c.lines = nil
		b.mu.Unlock()
		for _, l := range lines {
			if c.Write([]byte(l+"\n")) != nil {
				return
			}
		}
	}
}

// put queues a line. The lock is held.
func (c *baseConn) put(line string) {
	c.lines = append(c.lines, line)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// baseMembers are the params that the base's methods have.
var baseMembers = map[string]string{
	"initialize": "protocolVersion client", "turn/start": "sessionId turnId input config", "turn/cancel": "sessionId turnId",
	"permission/respond": "sessionId requestId outcome", "events/replay": "sessionId fromSeq", "session/close": "sessionId", "shutdown": "",
}

func (b *base) take(c *baseConn, line []byte) {
	var req struct {
		ID     json.RawMessage
		Method string
		Params map[string]json.RawMessage
	}
	_ = json.Unmarshal(line, &req)
	b.mu.Lock()
	defer b.mu.Unlock()
	members, known := baseMembers[req.Method]
	if !known {
		b.strange = append(b.strange, req.Method)
	}
	for m := range req.Params {
		if !slices.Contains(strings.Fields(members), m) {
			b.strange = append(b.strange, req.Method+": "+m)
		}
	}
	text := func(name string) (s string) { _ = json.Unmarshal(req.Params[name], &s); return s }
	answer := func(format string, args ...any) {
		c.put(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,`+format+`}`, append([]any{req.ID}, args...)...))
	}
	session := text("sessionId")
	switch req.Method {
	case "initialize":
		answer(`"result":{"protocolVersion":2,"server":{"name":"base"},"instanceId":"%s","harnesses":{}}`, b.instance)
	case "turn/start":
		turn := text("turnId")
		again := b.turns[session+"/"+turn]
		b.turns[session+"/"+turn] = true
		if again {
			answer(`"result":{"sessionId":%q,"turnId":%q,"deduplicated":true}`, session, turn)
			return
		}
		answer(`"result":{"sessionId":%q,"turnId":%q}`, session, turn)
		n := 0
		_, _ = fmt.Sscanf(text("input"), "flood %d", &n)
		b.turn(session, turn, n)
	case "events/replay":
		b.replay(session, req.Params["fromSeq"], answer)
	case "session/close":
		b.log(session, `{"type":"session.ended","sessionId":%q,"reason":"released","timestamp":1}`, session)
		delete(b.sessions, session)
		answer(`"result":{"closed":true}`)
	default:
		answer(`"error":{"code":-32601,"message":"no such method"}`)
	}
}

func (b *base) replay(session string, from json.RawMessage, answer func(string, ...any)) {
	events := b.sessions[session]
	if events == nil {
		answer(`"error":{"code":-32001,"message":"unknown session"}`)
		return
	}
	var at int
	_ = json.Unmarshal(from, &at)
	answer(`"result":{"events":[%s],"firstAvailableSeq":1,"latestSeq":%d}`, strings.Join(events[min(at-1, len(events)):], ","), len(events))
}

// turn is a whole turn, at once.
func (b *base) turn(session, turn string, deltas int) {
	b.log(session, `{"type":"turn.started","sessionId":%q,"turnId":%q,"timestamp":1}`, session, turn)
	b.log(session, `{"type":"message.started","sessionId":%q,"turnId":%q,"messageId":"m-%[2]s","outputIndex":1,"role":"assistant","timestamp":1}`, session, turn)
	part := `"sessionId":%q,"turnId":%q,"messageId":"m-%[2]s","outputIndex":1,"partIndex":0`
	whole := `{"type":"message.part",` + part + `,"part":{"id":"p-%[2]s","sessionId":%[1]q,"messageId":"m-%[2]s","type":"text","text":"%[3]s","state":"%[4]s"},"timestamp":1}`
	b.log(session, whole, session, turn, "", "streaming")
	for range deltas {
		b.log(session, `{"type":"message.part.delta",`+part+`,"partId":"p-%[2]s","delta":{"type":"text","text":"0123456789abcdef"},"timestamp":1}`, session, turn)
	}
	b.log(session, whole, session, turn, strings.Repeat("0123456789abcdef", deltas), "done")
	b.log(session, `{"type":"message.ended","sessionId":%q,"turnId":%q,"messageId":"m-%[2]s","timestamp":1}`, session, turn)
	b.log(session, `{"type":"turn.ended","sessionId":%q,"turnId":%q,"stopReason":"end_turn","timestamp":1}`, session, turn)
}

// log appends an event and sends it to everybody.
func (b *base) log(session, format string, args ...any) {
	env := fmt.Sprintf(`{"sessionId":%q,"seq":%d,"event":%s}`, session, len(b.sessions[session])+1, fmt.Sprintf(format, args...))
	b.sessions[session] = append(b.sessions[session], env)
	for c := range b.conns {
		c.put(`{"jsonrpc":"2.0","method":"event","params":` + env + `}`)
	}
}

// TestBaseServer: against a server that knows the base alone, over connections that
// are cut, nothing is lost or doubled, and nothing is asked that it does not know.
func TestBaseServer(t *testing.T) {
	t.Parallel()
	const sessions, deltas = 12, 300
	b, addr := newBase(t, "one")
	p := newProxy(t, addr, seeded(3, 500, 60_000))
	o := quick()
	o.AwaitServer = true
	c := dial(t, p.addr, o)
	for i := range sessions {
		followed(t, c, fmt.Sprint("s", i), 2, deltas)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.strange) > 0 || p.cuts.Load() < 5 {
		t.Errorf("over %d cuts it was asked %v", p.cuts.Load(), b.strange)
	}
}

// TestBaseServerBeginsAnew: a base server drops a session's log with its close. Who
// was away meanwhile is told that something is lost, and given the new life from
// its beginning; who was there sees the numbers begin again.
func TestBaseServerBeginsAnew(t *testing.T) {
	t.Parallel()
	b, addr := newBase(t, "one")
	p := newProxy(t, addr, whole)
	away, there := dial(t, p.addr, quick()), dial(t, addr, quick())
	feeds := []*client.Feed{away.Follow("s"), there.Follow("s")}
	tell(t, there, prompt("s", "a", "flood 5"))
	for _, f := range feeds {
		defer f.Close()
		for range eventsOf(t, f, "a") {
		}
	}
	p.lead("127.0.0.1:1")
	p.cut()
	eventually(t, func() bool { return !away.Connected() })
	if ok, err := there.CloseSession(within(t), "s"); !ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
	b.mu.Lock()
	b.turn("s", "b", 1)
	b.mu.Unlock()
	p.lead(addr)
	for i, want := range []string{"gap after 11, first 1 1 2 3 4 5 6 7", "12 1 2 3 4 5 6 7"} {
		if got := strings.Join(read(t, feeds[i], 8), " "); got != want {
			t.Errorf("feed %d is given %s, want %s", i, got, want)
		}
	}
}

// TestBaseServerDies: a base server that is another one has lost its sessions, though
// it has some of the same name.
func TestBaseServerDies(t *testing.T) {
	t.Parallel()
	_, addr := newBase(t, "one")
	other, otherAddr := newBase(t, "two")
	p := newProxy(t, addr, whole)
	c := dial(t, p.addr, quick())
	f := c.Follow("s")
	defer f.Close()
	tell(t, c, prompt("s", "a", "flood 20"))
	for range eventsOf(t, f, "a") {
	}
	other.mu.Lock()
	other.turn("s", "b", 1)
	other.mu.Unlock()
	p.lead(otherAddr)
	p.cut()
	if _, err := f.Next(within(t)); err == nil || err.Error() != (&client.HostLostError{InstanceID: "one", NewInstanceID: "two"}).Error() {
		t.Errorf("told %v", err)
	}
	seq := int64(0)
	for env := range eventsOf(t, f, "b") {
		if seq++; env.Seq != seq {
			t.Errorf("seq %d, want %d", env.Seq, seq)
		}
	}
	if !c.Connected() || c.Server().InstanceID != "two" || c.Server().ProtocolVersion != protocol.Version {
		t.Errorf("the server is %+v", c.Server())
	}
}
