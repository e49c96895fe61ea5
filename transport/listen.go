package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"

	"agent-server/transport/access"
)

// Paths that are no WebSocket.
const (
	// HealthPath says that the process lives.
	HealthPath = "/healthz"
	// ReadyPath says that it takes turns.
	ReadyPath = "/readyz"
	// MetricsPath has the metrics; it needs the token.
	MetricsPath = "/metrics"
)

const (
	// maxWaiting is how many connections may be open that are no WebSocket yet.
	maxWaiting = 256
	// maxHeaderBytes bounds a request's headers.
	maxHeaderBytes = 16 << 10
	// retryAfter is what a peer is told to wait when all places are taken, in s.
	retryAfter = "5"
)

// ListenOptions say where to listen and whom to let in. Address is needed, and one
// of TokenFile, StateDir, InsecureNoAuth; everything else may be left out.
type ListenOptions struct {
	// Address is [host:]port; without a host it is 127.0.0.1, port 0 takes a free
	// one. Beyond loopback it needs TLS or BehindProxy, and a token.
	Address string
	// TokenFile holds the token, mode 0600, one line. It is read at each handshake;
	// when it changes, who came in under the old one is cut off.
	TokenFile string
	// StateDir is where a token is made, in the file "token", if there is no
	// TokenFile.
	StateDir string
	// InsecureNoAuth lets everybody on this machine in, but for web pages.
	InsecureNoAuth bool
	// AllowedHosts are names and addresses, without a port, that a Host header may
	// have beside loopback ones.
	AllowedHosts []string
	// AllowedOrigins are origins of pages, scheme://host[:port], that may connect
	// beside the server's own.
	AllowedOrigins []string
	// TLSCert and TLSKey are PEM files, given together.
	TLSCert, TLSKey string
	// BehindProxy: a proxy before the listener brings TLS.
	BehindProxy bool
	// MaxConnections is how many there may be at once; 0: 1,024. One more is told
	// to come again (503).
	MaxConnections int
	// HeaderTimeout bounds the TLS and HTTP handshake; 0: 5 s.
	HeaderTimeout time.Duration
	// TokenPoll is how often the token's file is looked at; 0: 1 s.
	TokenPoll time.Duration
	// Health and Ready answer HealthPath and ReadyPath, without any check of who
	// asks; nil: 200. Metrics answers MetricsPath; nil: 404.
	Health, Ready, Metrics http.Handler
	// Socket bounds each WebSocket.
	Socket SocketOptions
	// Stream bounds each stream. Its Logger is Logger.
	Stream Options
	// Logger takes the log; nil: nothing is logged.
	Logger *zap.Logger
}

// withDefaults is the one place where ListenOptions are completed.
func (o ListenOptions) withDefaults() ListenOptions {
	if o.MaxConnections == 0 {
		o.MaxConnections = 1024
	}
	if o.HeaderTimeout == 0 {
		o.HeaderTimeout = 5 * time.Second
	}
	if o.TokenPoll == 0 {
		o.TokenPoll = time.Second
	}
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	if o.Health == nil {
		o.Health = ok
	}
	if o.Ready == nil {
		o.Ready = ok
	}
	if o.Metrics == nil {
		o.Metrics = http.NotFoundHandler()
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	o.Stream.Logger = o.Logger
	return o
}

// validate refuses what contradicts itself.
func (o ListenOptions) validate() error {
	switch {
	case o.InsecureNoAuth && o.TokenFile != "":
		return errors.New("a token file and no authentication exclude each other (--token-file, --insecure-no-auth)")
	case !o.InsecureNoAuth && o.TokenFile == "" && o.StateDir == "":
		return errors.New("a token is needed: --token-file, or --state-dir to make one in")
	}
	return nil
}

// Listener accepts WebSockets and serves each to its end.
type Listener struct {
	o        ListenOptions
	connect  Connect
	gate     *access.Gate
	passport *access.Passport // nil: no token is needed
	upgrader websocket.Upgrader
	server   *http.Server
	addr     net.Addr
	links    *links
	// waiting counts connections that are no WebSocket yet.
	waiting atomic.Int64

	// stop ends the watch over the token, wg waits for it, for the accepting and
	// for what is no WebSocket yet.
	stop chan struct{}
	wg   sync.WaitGroup
	// done is closed when nothing more is accepted; err then says why.
	done chan struct{}
	err  error
	// shutdown is Shutdown's work, done once; last is its outcome.
	shutdown sync.Once
	last     error
}

// Listen listens, and serves what connect gives to each peer that is let in. When
// ctx ends it shuts down by itself, within the streams' FlushTimeout.
func Listen(ctx context.Context, o ListenOptions, connect Connect) (*Listener, error) {
	o = o.withDefaults()
	l := &Listener{o: o, connect: connect, links: newLinks(), stop: make(chan struct{}), done: make(chan struct{})}
	if err := l.guard(); err != nil {
		return nil, err
	}
	config, err := serverTLS(o.TLSCert, o.TLSKey)
	if err != nil {
		return nil, err
	}
	ln, err := bind(ctx, o)
	if err != nil {
		return nil, err
	}
	l.addr = ln.Addr()
	l.prepare(config)
	l.wg.Go(func() { l.serve(ln) })
	if l.passport != nil {
		l.wg.Go(l.watch)
	}
	context.AfterFunc(ctx, func() {
		bound, cancel := context.WithTimeout(context.Background(), o.Stream.withDefaults().FlushTimeout)
		defer cancel()
		_ = l.Shutdown(bound) // who wants to know calls it too
	})
	return l, nil
}

// guard makes what decides who is let in.
func (l *Listener) guard() (err error) {
	if err = l.o.validate(); err != nil {
		return err
	}
	if l.gate, err = access.NewGate(l.o.rules()); err != nil || l.o.InsecureNoAuth {
		return err
	}
	l.passport, err = access.OpenPassport(l.o.TokenFile, l.o.StateDir)
	return err
}

// prepare makes the HTTP side. Of HTTP there is only its first version, and one
// request a connection: what is not upgraded is closed.
func (l *Listener) prepare(config *tls.Config) {
	l.upgrader = websocket.Upgrader{HandshakeTimeout: l.o.HeaderTimeout, Subprotocols: []string{access.BearerProtocol},
		EnableCompression: l.o.Socket.Compression, Error: func(w http.ResponseWriter, _ *http.Request, status int, _ error) {
			plain(w, status, "this is no proper WebSocket handshake")
		},
		// The gate has judged it, by more than the upgrader knows.
		CheckOrigin: func(*http.Request) bool { return true }}
	// What the library has to say is of use only to who seeks something.
	quiet, _ := zap.NewStdLogAt(l.o.Logger, zap.DebugLevel)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	l.server = &http.Server{Handler: http.HandlerFunc(l.handle), Protocols: protocols, ReadHeaderTimeout: l.o.HeaderTimeout,
		ReadTimeout: l.o.HeaderTimeout, WriteTimeout: 2 * l.o.HeaderTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: quiet, ConnState: l.track, TLSConfig: config}
	// What was answered is done: nobody keeps a place by being refused.
	l.server.SetKeepAlivesEnabled(false)
}

// serve accepts until the listener ends.
func (l *Listener) serve(ln net.Listener) {
	defer close(l.done)
	var err error
	if l.server.TLSConfig != nil {
		err = l.server.ServeTLS(ln, "", "")
	} else {
		err = l.server.Serve(ln)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		l.err = fmt.Errorf("accepting connections: %w", err)
	}
}

// track bounds what is no WebSocket yet, and counts it for Shutdown.
func (l *Listener) track(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		l.wg.Add(1)
		if l.waiting.Add(1) > maxWaiting {
			_ = c.Close()
		}
	case http.StateHijacked, http.StateClosed:
		l.waiting.Add(-1)
		l.wg.Done()
	}
}

// Addr is the address that is listened on, with the port that was taken.
func (l *Listener) Addr() net.Addr { return l.addr }

// URL is where a client on this machine connects to; where every address is
// listened on, by loopback.
func (l *Listener) URL() string {
	scheme := "ws"
	if l.server.TLSConfig != nil {
		scheme = "wss"
	}
	at, err := netip.ParseAddrPort(l.addr.String())
	if err != nil { // nothing but TCP is listened on
		return scheme + "://" + l.addr.String() + "/"
	}
	if at.Addr().IsUnspecified() { // which takes both families, however it was spelt
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	return scheme + "://" + at.String() + "/"
}

// TokenFile is where the token stands; "": none is needed.
func (l *Listener) TokenFile() string {
	if l.passport == nil {
		return ""
	}
	return l.passport.Path()
}

// Connections says how many WebSockets are open.
func (l *Listener) Connections() int { return l.links.count() }

// Done is closed when nothing more is accepted, by Shutdown or by a fault of the
// system's, which Err then tells.
func (l *Listener) Done() <-chan struct{} { return l.done }

// Err is why accepting has ended, once Done is closed; nil after Shutdown.
func (l *Listener) Err() error { return l.err }

// Shutdown accepts nothing more, writes to each connection what is due, closes it
// (1001) and waits until all is gone. When ctx ends first, what is left is cut
// off, and that is an error. A second call waits for the first.
func (l *Listener) Shutdown(ctx context.Context) error {
	l.shutdown.Do(func() {
		// No place is given any more before accepting ends: who is between the two
		// is told 503.
		l.links.end()
		_ = l.server.Close()
		l.last = l.links.wait(ctx)
		close(l.stop)
		l.wg.Wait()
	})
	return l.last
}
