package transport_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"agent-server/transport"
)

// bearer shows a token.
func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// TestTokenIsMade: without a token's file one is made, for its owner alone, and it
// is the same one the next time.
func TestTokenIsMade(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "deep")
	d := listen(t, handler(echo), transport.ListenOptions{StateDir: dir})
	path := filepath.Join(dir, "token")
	if got := d.TokenFile(); got != path {
		t.Errorf("the token's file is %s, want %s", got, path)
	}
	first := fileToken(t, path)
	info, err := os.Stat(path)
	if err != nil || (runtime.GOOS != "windows" && info.Mode().Perm() != 0o600) {
		t.Errorf("mode %v, error %v, want 0600", info.Mode(), err)
	}
	if len(first) != 43 {
		t.Errorf("a token of %d characters, want 43: 32 bytes", len(first))
	}
	meet(t, d.URL(), bearer(first)).ask("1")
	if err := d.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := listen(t, handler(echo), transport.ListenOptions{StateDir: dir})
	meet(t, again.URL(), bearer(first)).ask("1")
	other := listen(t, handler(echo), transport.ListenOptions{StateDir: t.TempDir()})
	if fileToken(t, other.TokenFile()) == first {
		t.Error("two gateways made the same token")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("the state directory holds %q, want the token alone", left)
	}
}

// fileToken reads a token as a client does.
func fileToken(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// TestTokenFilesRefused: what others may read, or what is no token, is refused at
// the start, with the path and without its bytes.
func TestTokenFilesRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := []struct {
		name, content string
		mode          os.FileMode
		good          bool
	}{
		{"owner", secret, 0o600, true},
		{"read-only", secret + "\r\n", 0o400, true},
		{"of 16 characters", secret[:16], 0o600, true},
		{"group", secret, 0o640, false},
		{"others", secret, 0o604, false},
		{"writable by others", secret, 0o602, false},
		{"empty", "", 0o600, false},
		{"a newline", "\n", 0o600, false},
		{"short", secret[:15], 0o600, false},
		{"long", strings.Repeat("x", 4097), 0o600, false},
		{"two lines", secret + "\n" + secret, 0o600, false},
		{"a space", secret[:20] + " " + secret[20:], 0o600, false},
		{"a comma", secret[:20] + "," + secret[20:], 0o600, false},
		{"not ASCII", secret[:20] + "é", 0o600, false},
	}
	for _, tt := range tests {
		path := filepath.Join(dir, tt.name)
		if err := os.WriteFile(path, []byte(tt.content), tt.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		expectStart(t, tt.name, transport.ListenOptions{TokenFile: path}, tt.good)
	}
	expectStart(t, "a directory", transport.ListenOptions{TokenFile: dir}, false)
	expectStart(t, "nothing", transport.ListenOptions{TokenFile: filepath.Join(dir, "nothing")}, false)
	expectStart(t, "a state directory below a file", transport.ListenOptions{StateDir: filepath.Join(dir, "owner", "x")}, false)
}

// expectStart tries to listen.
func expectStart(t *testing.T, name string, o transport.ListenOptions, good bool) {
	t.Helper()
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	l, err := transport.Listen(context.Background(), o, nil)
	if (err == nil) != good {
		t.Errorf("%s: error %v, want one: %v", name, err, !good)
	}
	if err != nil && strings.Contains(err.Error(), "canary") {
		t.Errorf("%s: the error holds the token: %v", name, err)
	}
	if l != nil {
		if err := l.Shutdown(context.Background()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRotation: a new token ends the connections of the old one, without a word
// more, and only those; the old one lets nobody in any more.
func TestRotation(t *testing.T) {
	t.Parallel()
	path := tokenFile(t)
	d := listen(t, handler(echo), transport.ListenOptions{TokenFile: path, TokenPoll: 5 * time.Millisecond})
	old := meet(t, d.URL(), bearer(secret))
	old.ask("1")
	writeToken(t, path, secret) // the same one again changes nothing
	const next = "the-next-token-of-all"
	meet(t, d.URL(), bearer(secret)).ask("1")
	writeToken(t, path, next)
	if got := old.end(); got != transport.ClosePolicy {
		t.Errorf("close code %d, want %d", got, transport.ClosePolicy)
	}
	if _, err := tryMeet(t, d.URL(), bearer(secret)); err == nil {
		t.Error("the old token let somebody in")
	}
	p := meet(t, d.URL(), bearer(next))
	p.ask("1")
	eventually(t, "the old ones to be gone", func() bool { return d.Connections() == 1 })
	p.ask("2")
}

// TestRotationIsSeenAtOnce: a handshake reads the file itself, and whoever it finds
// outdated goes then.
func TestRotationIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	path := tokenFile(t)
	d := listen(t, handler(echo), transport.ListenOptions{TokenFile: path, TokenPoll: time.Hour})
	old := meet(t, d.URL(), bearer(secret))
	const next = "the-next-token-of-all"
	writeToken(t, path, next)
	if _, err := tryMeet(t, d.URL(), bearer(secret)); err == nil {
		t.Error("the old token let somebody in")
	}
	if got := old.end(); got != transport.ClosePolicy {
		t.Errorf("close code %d, want %d", got, transport.ClosePolicy)
	}
}

// TestRevokedSaysNothingMore: from the moment the token is gone nothing that its
// peer says is served, however much of it is under way.
func TestRevokedSaysNothingMore(t *testing.T) {
	t.Parallel()
	path := tokenFile(t)
	const revoked = 300
	var d *door
	var served atomic.Int32
	d = listen(t, handler(func(c *jsonrpc2.Conn, r *jsonrpc2.Request) {
		if served.Add(1) == revoked {
			writeToken(t, path, "the-next-token-of-all")
			_, _ = tryMeet(t, d.URL(), bearer(secret)) // this one sees the change
		}
		echo(c, r)
	}), transport.ListenOptions{TokenFile: path, TokenPoll: time.Hour})
	p := meet(t, d.URL(), bearer(secret))
	p.tell(strings.Repeat(request("1")+"\n", 1000))
	if got := p.end(); got != transport.ClosePolicy {
		t.Errorf("close code %d, want %d", got, transport.ClosePolicy)
	}
	eventually(t, "it to be gone", d.gone(0))
	if n := served.Load(); n != revoked {
		t.Errorf("%d requests were served, want %d", n, revoked)
	}
}

// TestRevokedAndStuck: a peer that takes nothing, but lives, is gone all the same,
// long before the deadlines of what is being written to it: events, and a ping.
func TestRevokedAndStuck(t *testing.T) {
	t.Parallel()
	path, name := tokenFile(t), strings.Repeat("s", 1000)
	d := &door{prepare: func(s *source) { s.log(name, 12_000) }}
	d.open(t, handler(echo), transport.ListenOptions{TokenFile: path, TokenPoll: 5 * time.Millisecond,
		Socket: transport.SocketOptions{WriteTimeout: time.Hour, PingInterval: 50 * time.Millisecond, CloseTimeout: 50 * time.Millisecond}})
	p := meet(t, d.URL(), bearer(secret))
	_ = p.NetConn().(*net.TCPConn).SetReadBuffer(4096)
	d.all()[0].show(name)
	go func() {
		for p.WriteMessage(websocket.TextMessage, []byte("\n")) == nil {
			time.Sleep(time.Millisecond)
		}
	}()
	last, still := int64(0), 0
	eventually(t, "the writer to be stuck", func() bool {
		at := d.all()[0].at(name)
		if still++; at != last || at == 0 {
			last, still = at, 0
		}
		return still > 200
	})
	writeToken(t, path, "the-next-token-of-all")
	eventually(t, "it to be gone", d.gone(0))
	eventually(t, "its place to be free", func() bool { return d.Connections() == 0 })
}

// TestRotationDuringAHandshake: who showed the old token just before it changed does
// not stay.
func TestRotationDuringAHandshake(t *testing.T) {
	t.Parallel()
	path := tokenFile(t)
	var d *door
	var once sync.Once
	d = &door{prepare: func(*source) {
		once.Do(func() {
			writeToken(t, path, "the-next-token-of-all")
			_, _ = tryMeet(t, d.URL(), bearer(secret)) // this one sees the change
		})
	}}
	d.open(t, handler(echo), transport.ListenOptions{TokenFile: path, TokenPoll: time.Hour})
	if got := meet(t, d.URL(), bearer(secret)).end(); got != transport.ClosePolicy {
		t.Errorf("close code %d, want %d", got, transport.ClosePolicy)
	}
}

// TestTokenLost: a file that is gone lets nobody in, and is a revocation when it
// stays gone; it is said once.
func TestTokenLost(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	path := tokenFile(t)
	d := listen(t, handler(echo), transport.ListenOptions{TokenFile: path, TokenPoll: 5 * time.Millisecond, Logger: zap.New(core)})
	p := meet(t, d.URL(), bearer(secret))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := tryMeet(t, d.URL(), bearer(secret)); err == nil {
		t.Error("a token without its file let somebody in")
	}
	if got := p.end(); got != transport.ClosePolicy {
		t.Errorf("close code %d, want %d", got, transport.ClosePolicy)
	}
	if _, err := tryMeet(t, d.URL(), bearer("")); err == nil {
		t.Error("no token let somebody in")
	}
	writeToken(t, path, secret)
	meet(t, d.URL(), bearer(secret)).ask("1")
	if n := logs.FilterMessageSnippet("cannot be used").Len(); n != 1 {
		t.Errorf("it was said %d times, want once", n)
	}
}

// TestTokenBlinks: a file that is missing for a moment, while it is rewritten, cuts
// nobody off. The looks are those of handshakes alone.
func TestTokenBlinks(t *testing.T) {
	t.Parallel()
	path := tokenFile(t)
	d := listen(t, handler(echo), transport.ListenOptions{TokenFile: path, TokenPoll: time.Hour})
	p := meet(t, d.URL(), bearer(secret))
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := tryMeet(t, d.URL(), bearer(secret)); err == nil {
			t.Error("an empty file let somebody in")
		}
	}
	writeToken(t, path, secret)
	meet(t, d.URL(), bearer(secret)).ask("1")
	p.ask("1")
}
