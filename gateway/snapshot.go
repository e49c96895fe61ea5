package gateway

import "agent-server/protocol"

// sessionSnapshot answers with the fold at the head, as the connection is shown it.
func (g *Gateway) sessionSnapshot(c *call, params []byte) {
	p, faults := protocol.DecodeSessionSnapshot(params)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	v := *c.sub.asked.Load()
	g.aside(c, protocol.MethodSessionSnapshot, func() { g.snapshot(c, p.SessionID, v) })
}

// snapshot folds up to the head of this moment, and answers.
func (g *Gateway) snapshot(c *call, id string, v view) {
	s, refused := g.known(id)
	if refused != nil {
		c.fail(refused)
		return
	}
	// Behind a step that is being taken: see place.
	s.mu.Lock()
	head := s.head.Load()
	s.mu.Unlock()
	if head == 0 {
		c.fail(protocol.ErrUnknownSession(id))
		return
	}
	f, err := s.fold(head)
	if err != nil {
		c.fail(g.unread(id, "snapshot", err))
		return
	}
	c.result(protocol.SessionSnapshotResult{SessionID: id, Seq: f.Seq, State: v.state(f.Conversation)})
}
