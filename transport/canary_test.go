package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"agent-server/transport"
)

// TestNothingSecretIsLogged: whatever a peer says, in a token, a line, a reason or a
// frame of nonsense, with the log at its most talkative, nothing of it is logged
// or stands in an error.
func TestNothingSecretIsLogged(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	log := zap.New(core)
	path := tokenFile(t)
	d := listen(t, handler(echo), transport.ListenOptions{TokenFile: path, Logger: log, Socket: transport.SocketOptions{MaxMessageBytes: 1000}})
	for _, misbehave := range []func(p *peer){
		func(p *peer) { p.tell(secret) },
		func(p *peer) { p.tell(strings.Repeat(secret, 100)) },
		func(p *peer) {
			p.tell(`{"jsonrpc":"2.0","id":"` + secret + `","method":"` + secret + `","params":"` + secret + `"}`)
		},
		func(p *peer) { p.bye(websocket.ClosePolicyViolation) }, // its reason is the secret
		func(p *peer) { _, _ = p.NetConn().Write([]byte(secret)) },
		func(p *peer) { p.bye(websocket.CloseNormalClosure) },
	} {
		p := meet(t, d.URL()+"?token="+secret, http.Header{"Authorization": {"Bearer " + secret}, "Cookie": {secret}})
		misbehave(p)
		_ = p.WriteControl(websocket.CloseMessage, nil, time.Now().Add(patience)) // one that has closed cannot
		p.end()
	}
	a := accept(t, func(r *http.Request) int { return http.StatusTeapot })
	dialOut(t, handler(echo), transport.DialOptions{URL: a.url + "/?token=" + secret, TokenFile: path, Logger: log})
	for _, url := range []string{d.URL() + "?token=" + wrong, a.url + "/" + secret, "ws://" + secret + ".invalid:x/"} {
		if _, err := transport.DialClient(t.Context(), url, transport.ClientOptions{Token: wrong}); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("error %v, want one that quotes nothing", err)
		}
	}
	eventually(t, "a refused dial to be logged", func() bool { return logs.FilterMessage("dialling failed").Len() > 1 })
	eventually(t, "all to be gone", func() bool { return d.Connections() == 0 })
	noSecret(t, logs)
}

// TestCloseErrorQuotesNothing: the peer's own words are there to be looked at, and in
// no error's text.
func TestCloseErrorQuotesNothing(t *testing.T) {
	t.Parallel()
	a := accept(t, nil)
	f := dialClient(t, a.url, transport.ClientOptions{})
	a.next().bye(websocket.ClosePolicyViolation)
	_, err := f.Next()
	var c *transport.CloseError
	if !errors.As(err, &c) || c.Reason != secret || c.Code != transport.ClosePolicy || strings.Contains(fmt.Sprint(err), secret) {
		t.Errorf("error %v (%+v)", err, c)
	}
}

// TestPeersAreNamed: a name tells connections apart and holds an address alone; who
// is local is known, but not through a proxy.
func TestPeersAreNamed(t *testing.T) {
	t.Parallel()
	for _, proxy := range []bool{false, true} {
		peers := make(chan transport.Peer, 1)
		l, err := transport.Listen(context.Background(), transport.ListenOptions{Address: "0", TokenFile: tokenFile(t), BehindProxy: proxy},
			func(p transport.Peer) (jsonrpc2.Handler, transport.Source) {
				peers <- p
				return handler(echo), newSource()
			})
		if err != nil {
			t.Fatal(err)
		}
		p := meet(t, l.URL()+"?token="+secret, nil)
		want := transport.Peer{Name: p.LocalAddr().String(), Local: !proxy}
		if got := await(t, peers, "a connection"); got != want {
			t.Errorf("peer %+v, want %+v", got, want)
		}
		if err := l.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
}

// TestHowItEndedIsLogged: the close code of each connection; 1006 where its peer went
// without one.
func TestHowItEndedIsLogged(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	d := listen(t, handler(echo), transport.ListenOptions{Logger: zap.New(core)})
	for i, tt := range []struct {
		end  func(*peer)
		want int64
	}{
		{func(p *peer) { p.bye(websocket.CloseNormalClosure) }, 1000},
		{func(p *peer) { p.bye(4000) }, 4000},
		{func(p *peer) { _ = p.Close() }, transport.CloseAbnormal},
	} {
		p := meet(t, d.URL(), nil)
		p.ask("1")
		tt.end(p)
		eventually(t, "the end to be logged", func() bool { return logs.FilterMessage("disconnected").Len() == i+1 })
		e := logs.FilterMessage("disconnected").All()[i].ContextMap()
		if e["code"] != tt.want || e["connection"] != p.LocalAddr().String() {
			t.Errorf("the log has %v, want code %d", e, tt.want)
		}
	}
}
