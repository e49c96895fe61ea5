package transport

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"
)

// DialOptions say where a gateway dials out to. URL is needed.
type DialOptions struct {
	// URL is ws:// or wss://.
	URL string
	// TokenFile holds the token that is shown, mode 0600; it is read at each dial;
	// "": none is shown.
	TokenFile string
	// TLS is for wss; nil: the system's roots.
	TLS *tls.Config
	// MinBackoff and MaxBackoff bound the wait between two dials; 0: 0.5 s, 30 s.
	MinBackoff, MaxBackoff time.Duration
	// StableAfter is how long a connection must have lived for the waits to begin
	// again at MinBackoff; 0: 10 s.
	StableAfter time.Duration
	// HandshakeTimeout bounds one dial, TLS and all; 0: 10 s.
	HandshakeTimeout time.Duration
	// Socket bounds the WebSocket.
	Socket SocketOptions
	// Stream bounds the stream. Its Logger is Logger.
	Stream Options
	// Logger takes the log; nil: nothing is logged.
	Logger *zap.Logger
}

// withDefaults is the one place where DialOptions are completed.
func (o DialOptions) withDefaults() DialOptions {
	if o.MinBackoff == 0 {
		o.MinBackoff = 500 * time.Millisecond
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = 30 * time.Second
	}
	if o.StableAfter == 0 {
		o.StableAfter = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	o.Stream.Logger = o.Logger
	return o
}

// Dialer keeps one connection to an acceptor, which is the client: nothing is sent
// first. It dials for as long as it lives, whatever the acceptor answers: a token
// or an acceptor may be mended while it waits.
type Dialer struct {
	o       DialOptions
	host    string
	target  target
	connect Connect
	links   *links
	backoff backoff
	// failure is the last dial's error text: it is warned of once. The loop's alone.
	failure string

	stop     context.CancelFunc
	wg       sync.WaitGroup
	shutdown sync.Once
	last     error
}

// Dial dials out, and serves what connect gives on each connection, one after the
// other. When ctx ends it shuts down by itself, within the stream's FlushTimeout.
// An error is a fault of the options: dialling itself goes on until Shutdown.
func Dial(ctx context.Context, o DialOptions, connect Connect) (*Dialer, error) {
	o = o.withDefaults()
	if err := o.Check(); err != nil {
		return nil, err
	}
	u, err := parseTarget(o.URL)
	if err != nil {
		return nil, err
	}
	d := &Dialer{o: o, host: u.Host, connect: connect, links: newLinks(), backoff: backoff{min: o.MinBackoff, max: o.MaxBackoff},
		target: target{url: u.String(), tokenFile: o.TokenFile, tls: o.TLS, timeout: handshakeTimeout(o.HandshakeTimeout), socket: o.Socket}}
	if o.TokenFile != "" && exposed(u) {
		o.Logger.Warn("the token is sent without TLS", zap.String("host", u.Host))
	}
	dialling, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.wg.Go(func() { d.loop(dialling) })
	context.AfterFunc(ctx, func() {
		bound, cancel := context.WithTimeout(context.Background(), o.Stream.withDefaults().FlushTimeout)
		defer cancel()
		_ = d.Shutdown(bound) // who wants to know calls it too
	})
	return d, nil
}

// exposed says whether others can read what is sent.
func exposed(u *url.URL) bool {
	a, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "ws" && u.Hostname() != "localhost" && (err != nil || !a.Unmap().IsLoopback())
}

// loop dials, serves, waits, and dials again.
func (d *Dialer) loop(ctx context.Context) {
	for ctx.Err() == nil {
		lived, err := d.once(ctx)
		if lived >= d.o.StableAfter {
			d.backoff.reset()
		}
		wait := d.backoff.wait(err, rand.Float64())
		d.report(ctx, err, wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// report warns of a failure when it is a new one.
func (d *Dialer) report(ctx context.Context, err error, wait time.Duration) {
	if err == nil {
		d.failure = ""
		return
	}
	level := zap.DebugLevel
	if ctx.Err() == nil && err.Error() != d.failure {
		level = zap.WarnLevel
	}
	d.failure = err.Error()
	d.o.Logger.Log(level, "dialling failed", zap.String("host", d.host), zap.Duration("retryIn", wait), zap.Error(err))
}

// once makes one connection, serves it to its end and says how long it lived.
func (d *Dialer) once(ctx context.Context) (lived time.Duration, err error) {
	if !d.links.reserve(1) {
		return 0, ctx.Err()
	}
	defer d.links.release()
	var h jsonrpc2.Handler
	var src Source
	ws, err := d.target.dial(ctx, func() {
		if src == nil {
			h, src = d.connect(Peer{Name: d.host})
		}
	})
	if err != nil {
		if src != nil {
			src.Close()
		}
		return 0, err
	}
	began := time.Now()
	k := newLink(d.host, newSocket(ws, d.o.Socket), h, src, d.o.Stream)
	d.links.add(k)
	k.log.Info("connected")
	d.links.run(k)
	return time.Since(began), nil
}

// Connected says whether there is a connection now.
func (d *Dialer) Connected() bool { return d.links.count() > 0 }

// Shutdown dials no more, writes what is due, closes the connection (1001) and
// waits until all is gone. When ctx ends first, it is cut off, and that is an
// error. A second call waits for the first.
func (d *Dialer) Shutdown(ctx context.Context) error {
	d.shutdown.Do(func() {
		d.links.end()
		d.stop()
		d.last = d.links.wait(ctx)
		d.wg.Wait()
	})
	return d.last
}
