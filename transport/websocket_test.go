package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"github.com/sourcegraph/jsonrpc2"

	"agent-server/transport"
)

// TestWhatAMessageMayHold: text and binary, several lines, blank ones, any
// terminator or none; and a line never spans two messages.
func TestWhatAMessageMayHold(t *testing.T) {
	t.Parallel()
	text := func(s string) []string { return []string{"text", s} }
	tests := []struct {
		name     string
		messages [][]string // type, then its text
		want     []string
	}{
		{"one line", [][]string{text(request("1"))}, []string{answerTo("1")}},
		{"one line with its newline", [][]string{text(request("1") + "\n")}, []string{answerTo("1")}},
		{"a CR before it", [][]string{text(request("1") + "\r\n" + request("2"))}, []string{answerTo("1"), answerTo("2")}},
		{"several", [][]string{text(request("1") + "\n" + request("2") + "\n" + request("3"))}, []string{answerTo("1"), answerTo("2"), answerTo("3")}},
		{"blank ones", [][]string{text("\n\r\n \n" + request("1") + "\n\n"), text("\n"), text(""), text(request("2"))}, []string{answerTo("1"), answerTo("2")}},
		{"binary", [][]string{{"binary", request("1") + "\n" + request("2")}}, []string{answerTo("1"), answerTo("2")}},
		{"two messages are two lines", [][]string{text(request("1")), text(request("2"))}, []string{answerTo("1"), answerTo("2")}},
		{"half a line a message", [][]string{text(request("1")[:9]), text(request("1")[9:]), text(request("2"))}, []string{notJSON, notJSON, answerTo("2")}},
		{"a NUL at its end", [][]string{text("\x00"), text(request("1")), text(request("2") + "\x00"), text(request("3"))}, []string{notJSON, answerTo("1"), notJSON, answerTo("3")}},
		{"not UTF-8", [][]string{text("\xff\xfe"), text(request("2"))}, []string{notJSON, answerTo("2")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := listen(t, handler(echo), transport.ListenOptions{})
			p := meet(t, d.URL(), nil)
			for _, m := range tt.messages {
				kind := map[string]int{"text": websocket.TextMessage, "binary": websocket.BinaryMessage}[m[0]]
				if err := p.WriteMessage(kind, []byte(m[1])); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for range tt.want {
				got = append(got, p.hear())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFragments: a message in frames of a few bytes, with pings between them, is
// one message.
func TestFragments(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{})
	p := meet(t, d.URL(), nil)
	var pongs atomic.Int32
	p.SetPongHandler(func(string) error { pongs.Add(1); return nil })
	small := websocket.Dialer{WriteBufferSize: 16}
	ws, _, err := small.Dial(d.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	q := &peer{Conn: ws, t: t}
	defer func() { _ = ws.Close() }()
	w, err := q.NextWriter(websocket.TextMessage)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []byte(request("1") + "\n" + request("2")) {
		if _, err := w.Write(bytes.Repeat([]byte{b}, 1)); err != nil {
			t.Fatal(err)
		}
		if err := q.WriteControl(websocket.PingMessage, []byte("x"), time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := q.hear() + q.hear(); got != answerTo("1")+answerTo("2") {
		t.Errorf("answers %s", got)
	}
}

// TestOversizeMessage: a line over the limit is answered with the limit, in one
// frame or in many, alone or among others, and the connection lives.
func TestOversizeMessage(t *testing.T) {
	t.Parallel()
	const limit = 1000
	o := transport.ListenOptions{Socket: transport.SocketOptions{MaxMessageBytes: limit}}
	long := strings.Repeat("x", 200_000)
	over := func(n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"line of %d bytes is over the limit of 1000","data":{"limitBytes":1000}}}`, n)
	}
	p := meet(t, listen(t, handler(echo), o).URL(), nil) // its frames hold 4 KiB
	exact := request("5")[:len(request("5"))-1] + `,"params":"` + strings.Repeat("p", limit-len(request("5"))-12) + `"}`
	p.tell(request("1") + "\n" + long + "\n" + request("2"))
	p.tell(long)
	p.tell(request("3"))
	p.tell(long + "\n" + long + "x\n" + request("4"))
	p.tell(exact)
	p.tell(exact + " ")
	var got []string
	for range 9 {
		got = append(got, p.hear())
	}
	want := []string{answerTo("1"), over(200_000), answerTo("2"), over(200_000), answerTo("3"), over(200_000), over(200_001), answerTo("4")}
	want = append(want, `{"jsonrpc":"2.0","id":5,"result":"m \"`+strings.Repeat("p", limit-len(request("5"))-12)+`\""}`)
	if len(exact) != limit {
		t.Fatalf("the line at the limit has %d bytes", len(exact))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if got := p.hear(); got != over(limit+1) {
		t.Errorf("answer %s, want %s", got, over(limit+1))
	}
}

// TestMessagesOutAreWholeLines: under load a message holds several lines, each
// whole, and all of them come, in order.
func TestMessagesOutAreWholeLines(t *testing.T) {
	t.Parallel()
	const n = 20_000
	d := &door{prepare: func(s *source) { s.log("s", n); s.show("s") }}
	d.open(t, handler(echo), transport.ListenOptions{})
	p := meet(t, d.URL(), nil)
	messages := 0
	for seq := int64(1); seq <= n; {
		messages++
		for _, line := range strings.Split(p.message(), "\n") {
			if line != event("s", seq) {
				t.Fatalf("line %q, want %q", line, event("s", seq))
			}
			seq++
		}
	}
	if messages > n/100 {
		t.Errorf("%d lines came in %d messages: nothing was coalesced", n, messages)
	}
}

// TestLongAnswer: an answer of several fragments is one message, whoever dialled.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	text := `"` + strings.Repeat("0123456789abcdef", 40_000) + `"`
	long := handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) { send(c, r, text) })
	want := `{"jsonrpc":"2.0","id":1,"result":` + text + `}`
	t.Run("listen", func(t *testing.T) {
		t.Parallel()
		p := meet(t, listen(t, long, transport.ListenOptions{}).URL(), nil)
		p.tell(request("1"))
		if got := p.message(); got != want {
			t.Errorf("a message of %d bytes, want %d", len(got), len(want))
		}
	})
	t.Run("dial", func(t *testing.T) {
		t.Parallel()
		a := accept(t, nil)
		dialOut(t, long, transport.DialOptions{URL: a.url})
		p := a.next()
		p.tell(request("1"))
		if got := p.message(); got != want {
			t.Errorf("a message of %d bytes, want %d", len(got), len(want))
		}
	})
	t.Run("compressed", func(t *testing.T) {
		t.Parallel()
		o := transport.SocketOptions{Compression: true}
		f := dialClient(t, listen(t, long, transport.ListenOptions{Socket: o}).URL(), transport.ClientOptions{Socket: o})
		if err := f.Write([]byte(request("1") + "\n")); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Next(); string(got) != want {
			t.Errorf("a line of %d bytes, error %v, want %d bytes", len(got), err, len(want))
		}
	})
}

// TestNoCompressionUnasked: a client that offers compression gets none.
func TestNoCompressionUnasked(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{})
	ws, resp, err := (&websocket.Dialer{EnableCompression: true}).Dial(d.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.Close() }()
	if got := resp.Header.Get("Sec-Websocket-Extensions"); got != "" {
		t.Errorf("extensions %q were agreed on, want none", got)
	}
}

// TestCloseCodes: who ends a connection, and how, can be told by its code.
func TestCloseCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(t *testing.T, d *door, p *peer)
		want int
	}{
		{"the peer closes", func(_ *testing.T, _ *door, p *peer) { p.bye(1000) }, 1000},
		{"the peer goes away", func(_ *testing.T, _ *door, p *peer) { p.bye(1001) }, 1001},
		{"the peer closes with a code of its own", func(_ *testing.T, _ *door, p *peer) { p.bye(4711) }, 4711},
		{"the peer closes without a code", func(_ *testing.T, _ *door, p *peer) { p.bye(websocket.CloseNoStatusReceived) }, websocket.CloseNoStatusReceived},
		{"shutdown", func(_ *testing.T, d *door, _ *peer) {
			go func() { _ = d.Shutdown(context.Background()) }()
		}, 1001},
		{"the log cannot be read", func(_ *testing.T, d *door, _ *peer) { d.all()[0].fail(errors.New("disk")) }, 1011},
		{"fell too far behind", func(_ *testing.T, d *door, _ *peer) { d.all()[0].fail(fmt.Errorf("reading: %w", lagged{})) }, 1013},
		{"no WebSocket at all", func(_ *testing.T, _ *door, p *peer) { _, _ = p.NetConn().Write([]byte("GET / HTTP/1.1\r\n\r\n")) }, 1002},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := listen(t, handler(echo), transport.ListenOptions{})
			p := meet(t, d.URL(), nil)
			p.ask("1")
			tt.end(t, d, p)
			if got := p.end(); got != tt.want {
				t.Errorf("close code %d, want %d", got, tt.want)
			}
			eventually(t, "the connection to be let go", d.gone(0))
		})
	}
}

// lagged is an error of a Source that names its code.
type lagged struct{}

func (lagged) Error() string  { return "too far behind" }
func (lagged) CloseCode() int { return transport.CloseTryAgain }

// fail makes the source's next Read an error.
func (s *source) fail(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.show("")
}

// bye sends a close.
func (p *peer) bye(code int) {
	p.t.Helper()
	if err := p.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, secret), time.Now().Add(patience)); err != nil {
		p.t.Fatalf("closing: %v", err)
	}
}

// TestEverythingReadIsAnswered: a peer that asks and closes at once, as a pipe
// does, reads its answers before the close.
func TestEverythingReadIsAnswered(t *testing.T) {
	t.Parallel()
	p := meet(t, listen(t, handler(echo), transport.ListenOptions{}).URL(), nil)
	const n = 500
	for i := range n {
		p.tell(request(fmt.Sprint(i)))
	}
	p.bye(websocket.CloseNormalClosure)
	for i := range n {
		if got := p.hear(); got != answerTo(fmt.Sprint(i)) {
			t.Fatalf("answer %s, want that to %d", got, i)
		}
	}
	if got := p.end(); got != websocket.CloseNormalClosure {
		t.Errorf("close code %d", got)
	}
}

// TestHalfAMessageIsNoLine: what a close cuts off was never said, however whole it
// looks.
func TestHalfAMessageIsNoLine(t *testing.T) {
	t.Parallel()
	var served atomic.Int32
	d := listen(t, handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) { served.Add(1); echo(c, r) }), transport.ListenOptions{})
	p := meet(t, d.URL(), nil)
	// A first frame that is not the last one: no final bit, masked with zeros.
	line := request("1")
	frame := append([]byte{0x01, 0x80 | byte(len(line)), 0, 0, 0, 0}, line...)
	if _, err := p.NetConn().Write(frame); err != nil {
		t.Fatal(err)
	}
	p.bye(websocket.CloseNormalClosure)
	if got := p.end(); got != websocket.CloseNormalClosure {
		t.Errorf("close code %d", got)
	}
	if n := served.Load(); n != 0 {
		t.Errorf("%d requests were served, want none", n)
	}
}

// TestStuckReader: a peer that stops reading is cut off when its deadline passes,
// and the others notice nothing.
func TestStuckReader(t *testing.T) {
	t.Parallel()
	const n = 12_000
	name := strings.Repeat("s", 1000) // 12 MB in all: more than the system buffers
	d := &door{prepare: func(s *source) { s.log(name, n) }}
	d.open(t, handler(echo), transport.ListenOptions{Socket: transport.SocketOptions{WriteTimeout: 3 * time.Second}})
	stuck := meet(t, d.URL(), nil)
	_ = stuck.NetConn().(*net.TCPConn).SetReadBuffer(4096)
	live := meet(t, d.URL(), nil)
	for _, s := range d.all() {
		s.show(name)
	}
	for seq := int64(1); seq <= n; seq++ {
		if got := live.hear(); got != event(name, seq) {
			t.Fatalf("line %q, want seq %d", got, seq)
		}
	}
	eventually(t, "the stuck one to be cut off", d.gone(0))
	if got := stuck.end(); got != websocket.CloseAbnormalClosure {
		t.Errorf("close code %d, want an abnormal end", got)
	}
	live.ask("1")
}

// TestSilentPeer: one whose network has vanished, without a word, is given up
// after two pings; one that answers pings and says nothing else is not.
func TestSilentPeer(t *testing.T) {
	t.Parallel()
	d := listen(t, handler(echo), transport.ListenOptions{Socket: transport.SocketOptions{PingInterval: 500 * time.Millisecond}})
	hole := blackhole(t, d.Addr().String())
	lost := meet(t, "ws://"+hole.addr, nil)
	lost.ask("1")
	live := meet(t, d.URL(), nil)
	var pings atomic.Int32
	pong := live.PingHandler()
	live.SetPingHandler(func(s string) error { pings.Add(1); return pong(s) })
	ended := make(chan int, 1)
	go func() { ended <- live.end() }()
	hole.swallow()
	eventually(t, "the lost one to be given up", d.gone(0))
	eventually(t, "the live one to be pinged a few times more", func() bool { return pings.Load() > 4 })
	if d.gone(1)() {
		t.Error("the live one was given up too")
	}
	_ = d.Shutdown(t.Context())
	if got := await(t, ended, "the end"); got != websocket.CloseGoingAway {
		t.Errorf("close code %d, want %d", got, websocket.CloseGoingAway)
	}
}

// TestSilenceOfOurOwn: while we read nothing, because too much is unanswered, no
// pong is heard; that is not the peer's fault.
func TestSilenceOfOurOwn(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	o := transport.ListenOptions{Socket: transport.SocketOptions{PingInterval: 20 * time.Millisecond}, Stream: transport.Options{MaxInFlight: 1}}
	d := listen(t, handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		go func() { <-release; echo(c, r) }()
	}), o)
	p := meet(t, d.URL(), nil)
	var pings atomic.Int32
	pong := p.PingHandler()
	p.SetPingHandler(func(s string) error {
		if pings.Add(1) == 8 {
			close(release)
		}
		return pong(s)
	})
	p.ask("1")
	p.ask("2")
	if n := pings.Load(); n < 8 {
		t.Errorf("%d pings before the answer, want 8", n)
	}
}

// TestEffectOverSockets: a Source that is told what an answer changes is told over a
// WebSocket too, which wraps it.
func TestEffectOverSockets(t *testing.T) {
	t.Parallel()
	d := &door{}
	d.open(t, handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		src := d.all()[0]
		src.log("s", 3)
		sendAfter(c, r, "1", transport.Barrier{Effect: 2})
		src.show("s")
	}), transport.ListenOptions{})
	p := meet(t, d.URL(), nil)
	p.tell(request("1"))
	for _, want := range []string{`{"jsonrpc":"2.0","id":1,"result":1}`, event("s", 3)} {
		if got := p.hear(); got != want {
			t.Errorf("%s came, want %s", got, want)
		}
	}
}
