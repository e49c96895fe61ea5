package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"agent-server/transport/access"
)

// HandshakeError is returned when the other side answered a handshake and refused
// it.
type HandshakeError struct {
	// Status is the HTTP status.
	Status int
	// RetryAfter is what the other side asked to wait; 0: nothing was asked.
	RetryAfter time.Duration
}

// Error names the status.
func (e *HandshakeError) Error() string {
	return fmt.Sprintf("the handshake was refused: %d %s", e.Status, http.StatusText(e.Status))
}

// Retryable says whether the same handshake may succeed later. What it shows
// (token, Host, Origin, path) was wrong where it may not.
func (e *HandshakeError) Retryable() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout
}

// target is where to dial and with what.
type target struct {
	url string
	// tokenFile is read at each dial; "": token is shown, or none if that is "".
	tokenFile string
	token     string
	tls       *tls.Config
	timeout   time.Duration
	socket    SocketOptions
}

// parseTarget checks a URL. Its text is in no error: it may hold a token.
func parseTarget(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "ws" && u.Scheme != "wss") || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, &OptionError{errors.New("want a URL ws://host[:port]/path or wss://…, without a user")}
	}
	return u, nil
}

// dial makes one WebSocket. reached is called when the other side can be spoken
// to, before it is: it cannot know of the connection yet.
func (t *target) dial(outer context.Context, reached func()) (*websocket.Conn, error) {
	// The URL may hold a token too; this one is in no proxy's log.
	header := http.Header{}
	token := t.token
	if t.tokenFile != "" {
		var err error
		if token, err = access.ReadToken(t.tokenFile); err != nil {
			return nil, &OptionError{err}
		}
	}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	release := func() bool { return false }
	var medium *answered
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment, TLSClientConfig: t.tls, HandshakeTimeout: t.timeout,
		// Masking copies: a buffer that takes a whole fragment makes one frame of it.
		WriteBufferSize: fragment, EnableCompression: t.socket.Compression,
		NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			reached()
			// The library waits for the answer whatever becomes of ctx.
			release = context.AfterFunc(outer, func() { _ = c.Close() })
			medium = boundAnswer(c)
			return medium, nil
		}}
	ws, resp, err := d.DialContext(outer, t.url, header)
	release()
	if err != nil {
		return nil, handshakeError(resp, err)
	}
	medium.unbound()
	return ws, nil
}

// handshakeError types a refusal. It adds no words of its own: the cause says what
// was being done ("dial tcp …"), and whoever dials says where to.
func handshakeError(resp *http.Response, err error) error {
	if resp == nil && strings.HasPrefix(err.Error(), "malformed ") {
		// The library quotes what came; that may be our own request, sent back.
		return errNotHTTP
	}
	if resp == nil {
		// It says where and why: addresses and causes, not the URL.
		return err
	}
	e := &HandshakeError{Status: resp.StatusCode}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(min(s, 3600)) * time.Second
	}
	return e
}

// ClientOptions say how a client connects. The zero value is useful.
type ClientOptions struct {
	// Token is shown to the server; "": none is. TokenFile, mode 0600, is read
	// instead, where it is given.
	Token, TokenFile string
	// TLS is for wss; nil: the system's roots.
	TLS *tls.Config
	// HandshakeTimeout bounds the dial, TLS and all; 0: 10 s.
	HandshakeTimeout time.Duration
	// Socket bounds the WebSocket.
	Socket SocketOptions
}

// DialClient connects a client to a server that listens. A *HandshakeError says
// that it did not let the client in. Closing the Framing waits for the farewell,
// SocketOptions.CloseTimeout at most.
func DialClient(ctx context.Context, url string, o ClientOptions) (Framing, error) {
	u, err := parseTarget(url)
	if err != nil {
		return nil, err
	}
	t := target{url: u.String(), token: o.Token, tokenFile: o.TokenFile, tls: o.TLS, timeout: handshakeTimeout(o.HandshakeTimeout), socket: o.Socket}
	ws, err := t.dial(ctx, func() {})
	if err != nil {
		return nil, err
	}
	return newClientSocket(ws, o.Socket), nil
}

// Upgrade accepts a WebSocket for a client's end: of a gateway that dials out. It
// checks the handshake's form alone; who may connect the caller decides before.
func Upgrade(w http.ResponseWriter, r *http.Request, o SocketOptions) (Framing, error) {
	u := websocket.Upgrader{Subprotocols: []string{access.BearerProtocol}, EnableCompression: o.Compression,
		CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := u.Upgrade(w, r, nil)
	if err != nil {
		return nil, fmt.Errorf("upgrading: %w", err)
	}
	return newClientSocket(ws, o), nil
}

// clientSocket is a socket whose Close waits: a client has nothing that must not.
type clientSocket struct{ *socket }

// newClientSocket frames a client's end. Of a server that has closed a client wants
// nothing more: it answers at once.
func newClientSocket(ws *websocket.Conn, o SocketOptions) clientSocket {
	c := clientSocket{newSocket(ws, o)}
	ws.SetCloseHandler(nil)
	return c
}

// Close implements Framing.
func (c clientSocket) Close() error {
	_ = c.socket.Close()
	c.wait()
	return nil
}

// handshakeTimeout is the default's one place.
func handshakeTimeout(d time.Duration) time.Duration { return cmp.Or(d, 10*time.Second) }
