package transport

import (
	"context"
	"fmt"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
	"go.uber.org/zap"

	"agent-server/transport/access"
)

// Peer is who is at the other end of a new connection.
type Peer struct {
	// Name tells connections apart in the log: an address, and nothing that the
	// peer chose.
	Name string
	// Local: the peer is a process of this machine. Of one that came through a
	// proxy, or that was dialled, nobody can say so.
	Local bool
}

// Connect gives what one new connection calls and what it is sent. It is called
// before the peer can know of the connection, so that the Source misses nothing
// from the accept on; the Source is closed in any case, once.
type Connect func(Peer) (jsonrpc2.Handler, Source)

// link is one WebSocket being served.
type link struct {
	name   string
	socket *socket
	stream *Stream
	log    *zap.Logger
	// pass is the digest of the token under which the peer came in.
	pass access.Digest
}

// newLink serves a socket; run waits for its end.
func newLink(name string, s *socket, h jsonrpc2.Handler, src Source, o Options) *link {
	o = o.withDefaults()
	o.Logger = o.Logger.With(zap.String("connection", name))
	return &link{name: name, socket: s, log: o.Logger, stream: Open(s, h, &namedEnd{Source: src, socket: s}, o)}
}

// run waits until the connection has ended: by the peer, by its Source, or
// because it is told to go; and until all of it is gone.
func (k *link) run(going <-chan struct{}) {
	select {
	case <-k.stream.InputEnded():
	case <-k.stream.Closed():
	case <-going:
		k.socket.intend(CloseGoingAway, "shutting down")
	}
	// The stream bounds this itself: a peer that takes nothing is left behind.
	if err := k.stream.Finish(context.Background()); err != nil {
		k.log.Debug("the connection ended with something unsaid", zap.Error(err))
	}
	k.stream.Wait()
	k.socket.wait()
	k.log.Info("disconnected", zap.Int("code", k.socket.ending()))
}

// namedEnd is a Source whose error decides the code with which its socket closes.
type namedEnd struct {
	Source
	socket *socket
}

// Read implements Source.
func (n *namedEnd) Read(dst []byte, session string, seq int64, budget int) ([]byte, bool, error) {
	out, more, err := n.Source.Read(dst, session, seq, budget)
	if err != nil {
		n.socket.intend(codeOf(err), "")
	}
	return out, more, err
}

// Effect implements Effector, for a Source that is one.
func (n *namedEnd) Effect(number int64) {
	if e, ok := n.Source.(Effector); ok {
		e.Effect(number)
	}
}

// links are the connections of one listener or dialler.
type links struct {
	// going is closed when all of them shall end.
	going chan struct{}
	wg    sync.WaitGroup

	// mu guards what follows.
	mu sync.Mutex
	// ending: no other is let in; cut: those that are still there are hung up on.
	ending, cut bool
	// taken counts places, those whose handshake is under way too.
	taken int
	open  map[*link]struct{}
}

func newLinks() *links {
	return &links{going: make(chan struct{}), open: map[*link]struct{}{}}
}

// reserve takes a place for a connection, unless limit are taken or all is
// ending. release gives it back.
func (ls *links) reserve(limit int) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.ending || ls.taken >= limit {
		return false
	}
	ls.taken++
	ls.wg.Add(1)
	return true
}

func (ls *links) release() {
	ls.mu.Lock()
	ls.taken--
	ls.mu.Unlock()
	ls.wg.Done()
}

// add makes a connection, whose place was reserved, known to each and end.
func (ls *links) add(k *link) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.open[k] = struct{}{}
	if ls.cut {
		k.socket.hang()
	}
}

// run serves a connection that was added to its end.
func (ls *links) run(k *link) {
	k.run(ls.going)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.open, k)
}

// count says how many connections are open.
func (ls *links) count() int {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return len(ls.open)
}

// each calls f for every open connection; f does not wait.
func (ls *links) each(f func(*link)) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for k := range ls.open {
		f(k)
	}
}

// end tells every connection to go, and lets no other in.
func (ls *links) end() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !ls.ending {
		ls.ending = true
		close(ls.going)
	}
}

// wait waits until all are gone; when ctx ends before that, they are cut off,
// and it is an error.
func (ls *links) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, ls.cutAll)
	ls.wg.Wait()
	if stop() {
		return nil
	}
	return fmt.Errorf("connections were cut off: %w", ctx.Err())
}

func (ls *links) cutAll() {
	ls.mu.Lock()
	ls.cut = true
	ls.mu.Unlock()
	ls.each(func(k *link) { k.socket.hang() })
}
