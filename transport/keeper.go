package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"github.com/gorilla/websocket"
)

// maxMissed is how many intervals in a row a peer may stay silent.
const maxMissed = 2

// keep is the keeper: it pings until the connection ends, then says the farewell.
func (s *socket) keep() {
	defer close(s.gone)
	tick := time.NewTicker(s.o.PingInterval)
	defer tick.Stop()
	var p pulse
	for {
		select {
		case <-s.closing:
			s.farewell()
			return
		case <-tick.C:
		}
		if p.missed(s.alive.Load(), s.waiting.Load()) >= maxMissed {
			s.silent.Store(true)
			s.hang()
			continue
		}
		// If this fails, the writer or a later round finds out why.
		_ = s.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(s.o.WriteTimeout))
	}
}

// pulse counts the intervals in which a peer that was pinged gave no sign of life.
type pulse struct {
	asked bool
	alive int64
	count int
}

// missed is called before each ping. Silence does not count while nobody listens.
func (p *pulse) missed(alive int64, listening bool) int {
	if p.asked && listening && alive == p.alive {
		p.count++
	} else {
		p.count = 0
	}
	p.asked, p.alive = true, alive
	return p.count
}

// because ends the connection with a code, unless another was set before.
func (s *socket) because(code int, reason string) {
	s.intend(code, reason)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut()
}

// intend sets the code that Close will say, unless one is set.
func (s *socket) intend(code int, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.code == 0 {
		s.code, s.reason = code, reason
	}
}

// ending is the code with which the connection ends: ours, or the peer's where it
// was first; CloseAbnormal where there was none.
func (s *socket) ending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken || s.code == 0 {
		return CloseAbnormal
	}
	return s.code
}

// shut tells the keeper, once. From then on time is short for whoever is stuck on
// the medium, the keeper too. mu is held.
func (s *socket) shut() {
	if s.closed {
		return
	}
	s.closed = true
	s.bound = time.AfterFunc(s.o.CloseTimeout, s.cut)
	close(s.closing)
}

// abandon ends the connection without a farewell: there is nobody to hear it.
func (s *socket) abandon() {
	s.mu.Lock()
	s.broken = true
	s.shut()
	s.mu.Unlock()
	_ = s.ws.Close()
}

// wait waits for the keeper.
func (s *socket) wait() { <-s.gone }

// hang ends the connection at once: whatever waits on the medium fails.
func (s *socket) hang() {
	s.mu.Lock()
	s.broken = true
	s.shut()
	s.mu.Unlock()
	s.cut()
}

// cut lets the medium go, and with it what the system still holds for a peer that
// does not take it.
func (s *socket) cut() {
	c := s.ws.NetConn()
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn() // TLS would say goodbye first, and wait
	}
	if a, ok := c.(*answered); ok {
		c = a.Conn
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// farewell closes in order, where somebody is there to hear it, and lets the
// medium go.
func (s *socket) farewell() {
	s.mu.Lock()
	code, reason, broken, bound := s.code, s.reason, s.broken, s.bound
	s.mu.Unlock()
	defer bound.Stop()
	if broken {
		// It is closed already, or about to be; closing again does no harm.
		_ = s.ws.Close()
		return
	}
	text := websocket.FormatCloseMessage(code, reason)
	err := s.ws.WriteControl(websocket.CloseMessage, text, time.Now().Add(s.o.CloseTimeout))
	if err != nil && !errors.Is(err, websocket.ErrCloseSent) {
		s.cut()
		return
	}
	s.drain()
	_ = s.ws.Close()
}

// drain reads on to the peer's own close: a medium let go with something unread
// in it takes back what was sent last.
func (s *socket) drain() {
	s.reading.Lock()
	defer s.reading.Unlock()
	// Not through the lines: whoever was given the last one may still be at it.
	_, _ = io.Copy(io.Discard, s.messages)
}
