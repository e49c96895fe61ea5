package transport

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/zap"

	"agent-server/transport/access"
)

// needToken is what everybody without the token reads, whatever was shown instead.
const needToken = "a token is needed: Authorization: Bearer TOKEN, or the subprotocols bearer and TOKEN, or ?token=TOKEN"

// handle serves one request of whatever kind. Everything that decides who is let
// in comes before the upgrade, in the order that docs/security.md tells:
//
//	handle → gate.Admit (Host, Origin) → handshake → authorize (token) →
//	links.reserve (places) → upgrade → links.run, to the connection's end
func (l *Listener) handle(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case HealthPath:
		l.o.Health.ServeHTTP(w, r)
		return
	case ReadyPath:
		l.o.Ready.ServeHTTP(w, r)
		return
	}
	if r.URL.Host != "" {
		// Only proxies are asked like this: what Host says is not what was meant.
		l.refuse(w, r, http.StatusBadRequest, "the request names a whole URL")
		return
	}
	if err := l.gate.Admit(r); err != nil {
		l.refuse(w, r, http.StatusForbidden, err.Error())
		return
	}
	if r.URL.Path == MetricsPath {
		if _, ok := l.authorize(w, r); ok {
			l.o.Metrics.ServeHTTP(w, r)
		}
		return
	}
	l.handshake(w, r)
}

// handshake judges what wants to be a WebSocket.
func (l *Listener) handshake(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", http.MethodGet)
		l.refuse(w, r, http.StatusMethodNotAllowed, "this is a WebSocket: GET with an upgrade")
		return
	case !websocket.IsWebSocketUpgrade(r):
		// Before the token: who has merely pasted the URL into a browser is told
		// what it is.
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		l.refuse(w, r, http.StatusUpgradeRequired, "this is a WebSocket: upgrade")
		return
	}
	pass, ok := l.authorize(w, r)
	if !ok {
		return
	}
	// After the token: who has none learns nothing of how busy it is here.
	if !l.links.reserve(l.o.MaxConnections) {
		w.Header().Set("Retry-After", retryAfter)
		l.refuse(w, r, http.StatusServiceUnavailable, "all connections are taken, or the server is ending")
		return
	}
	defer l.links.release()
	l.upgrade(w, r, pass)
}

// authorize asks for the token, if one is needed, and refuses who has none.
func (l *Listener) authorize(w http.ResponseWriter, r *http.Request) (access.Digest, bool) {
	if l.passport == nil {
		return access.Digest{}, true
	}
	pass := l.look(false)
	if !pass.Valid(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		l.refuse(w, r, http.StatusUnauthorized, needToken)
		return access.Digest{}, false
	}
	return pass, true
}

// upgrade makes a WebSocket of the request and serves it to its end.
func (l *Listener) upgrade(w http.ResponseWriter, r *http.Request, pass access.Digest) {
	h, src := l.connect(Peer{Name: r.RemoteAddr, Local: l.isLocal(r.RemoteAddr)})
	ws, err := l.upgrader.Upgrade(w, r, nil)
	if err != nil {
		// The upgrader has answered. Its error may quote the peer.
		src.Close()
		l.o.Logger.Info("a handshake failed", zap.String("peer", r.RemoteAddr))
		return
	}
	k := newLink(r.RemoteAddr, newSocket(ws, l.o.Socket), h, src, l.o.Stream)
	k.pass = pass
	l.links.add(k)
	// The token may have changed since it was shown.
	l.expel(k)
	k.log.Info("connected")
	l.links.run(k)
}

// isLocal says whether an address is one of this machine's, as far as that can be
// known: what a proxy hands on comes from anywhere.
func (l *Listener) isLocal(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().Unmap().IsLoopback() && !l.o.BehindProxy
}

// refuse answers with a status. Neither answer nor log hold anything of the
// request: it may be a secret in the wrong place.
func (l *Listener) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	l.o.Logger.Info("refused a request", zap.String("peer", r.RemoteAddr), zap.Int("status", status), zap.String("why", why))
	plain(w, status, why)
}

// plain answers with a line of text.
func plain(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// watch looks at the token's file until the listener ends.
func (l *Listener) watch() {
	tick := time.NewTicker(l.o.TokenPoll)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.look(true)
		}
	}
}

// look reads the token's file; when the token has changed, who came in under
// another one goes.
func (l *Listener) look(watch bool) access.Digest {
	now, changed, err := l.passport.Look(watch)
	if err != nil {
		l.o.Logger.Warn("the token's file cannot be used: nobody is let in", zap.Error(err))
	}
	if changed {
		l.o.Logger.Info("the token has changed")
		l.links.each(l.expel)
	}
	return now
}

// expel ends a connection whose token holds no more; nothing further is read from
// it or written to it.
func (l *Listener) expel(k *link) {
	if l.passport != nil && !l.passport.Holds(k.pass) {
		k.socket.because(ClosePolicy, "the token has changed")
	}
}
