package transport

import (
	"errors"
	"net"
	"sync/atomic"
)

// maxHandshake is how many bytes the other side may take to answer a handshake, TLS
// and a proxy's answer among them; the library sets no bound to headers.
const maxHandshake = 256 << 10

var (
	// errNotHTTP is the reason of a dial that reached something else.
	errNotHTTP = errors.New("what answers there is no HTTP server")
	// errLongAnswer is the reason of a dial whose answer has no end.
	errLongAnswer = errors.New("the answer to the handshake is too long")
)

// answered is a connection that was dialled, on which no more than maxHandshake bytes
// are read until the handshake is over: who answers is not trusted yet, and what it
// says is held.
type answered struct {
	net.Conn
	// left is what may still be read; negative: anything.
	left atomic.Int64
}

// boundAnswer bounds what is read of a new connection.
func boundAnswer(c net.Conn) *answered {
	a := &answered{Conn: c}
	a.left.Store(maxHandshake)
	return a
}

// Read implements net.Conn.
func (a *answered) Read(p []byte) (int, error) {
	left := a.left.Load()
	if left < 0 {
		return a.Conn.Read(p)
	}
	if left == 0 {
		return 0, errLongAnswer
	}
	n, err := a.Conn.Read(p[:min(int64(len(p)), left)])
	a.left.Store(left - int64(n))
	return n, err
}

// unbound takes the bound off: the handshake is over. Nobody reads meanwhile.
func (a *answered) unbound() { a.left.Store(-1) }
