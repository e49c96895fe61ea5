package gateway

import (
	"time"

	"agent-server/session"
)

// clientGrace is how long a session's last connection may be away before nobody
// counts as there: a client that dials again is not gone.
const clientGrace = 10 * time.Second

// missed sets the clock of a session that its last connection may have left. It takes
// no lock of the session: who calls it may hold the gateway's. Nobody waits for the
// clock: when it rings behind the end, there is no machine to tell.
func (s *Session) missed() {
	if s.gw.o.DenyWithoutClient && s.cursors.none() {
		time.AfterFunc(s.gw.clientGrace, s.lookForClients)
	}
}

// lookForClients tells the machine that nobody is there, if so; where somebody has
// come meanwhile there is nothing to tell.
func (s *Session) lookForClients() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine != nil && !s.alone && s.cursors.none() {
		s.alone = true
		s.run(session.Clients{Present: false})
	}
}

// greet tells the machine that somebody is there again, before anything else that it
// hears; called where its queue is fed.
func (s *Session) greet() {
	if s.alone && !s.cursors.none() {
		s.alone = false
		s.queue = append([]session.Input{session.Clients{Present: true}}, s.queue...)
	}
}
