package gateway

import "agent-server/protocol"

// sessionSubscribe moves a connection's cursor on a session, or gives it one.
func (g *Gateway) sessionSubscribe(c *call, params []byte) {
	p, faults := protocol.DecodeSessionSubscribe(params)
	if faults == nil && p.Deltas != nil && !*p.Deltas && !c.sub.asked.Load().chained {
		faults = []protocol.Fault{{Path: "deltas", Message: "false needs chainedSeq"}}
	}
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	sub := subscription{call: c, params: p, wish: c.sub.wish(p.SessionID), view: *c.sub.asked.Load()}
	// A snapshot may cost a fold of the whole log.
	g.aside(c, protocol.MethodSessionSubscribe, func() { g.subscribe(sub) })
}

// subscription is a session/subscribe under way.
type subscription struct {
	call   *call
	params protocol.SessionSubscribeParams
	wish   *wish
	view   view
}

// subscribe answers, and lets the events after the cursor follow the answer.
func (g *Gateway) subscribe(sub subscription) {
	s, c, first, refused := g.place(sub)
	if refused != nil {
		sub.call.sub.fulfil(sub.wish)
		sub.call.fail(refused)
		return
	}
	r := protocol.SessionSubscribeResult{Mode: protocol.SubscribedSuffix, Seq: c.goal}
	p := sub.params
	if p.AfterSeq != nil {
		r.Seq = *p.AfterSeq
	}
	held := r.Seq >= first-1
	switch {
	case r.Seq > c.goal, p.Snapshot == protocol.SnapshotNever && !held:
		sub.give(s, c, protocol.ErrSeqUnavailable(s.id, r.Seq, first, c.goal))
		return
	case p.Snapshot == protocol.SnapshotAlways, p.Snapshot != protocol.SnapshotNever && (p.AfterSeq == nil || !held):
		f, err := s.fold(c.goal)
		if err != nil {
			sub.give(s, c, g.unread(s.id, "snapshot", err))
			return
		}
		r.Mode, r.Seq, r.State = protocol.SubscribedSnapshot, f.Seq, sub.view.state(f.Conversation)
	}
	c.startAt(r.Seq)
	sub.call.resultWith(r, func() {
		if sub.call.sub.fulfil(sub.wish) {
			sub.call.sub.activate(c)
		} else {
			s.remove(c)
		}
	})
}

// give refuses a subscription for which a cursor was placed.
func (sub *subscription) give(s *Session, c *cursor, err *protocol.Error) {
	s.remove(c)
	sub.call.sub.fulfil(sub.wish)
	sub.call.fail(err)
}

// place takes a session's head and puts a cursor there, or where the client has got to,
// in one step: from here on the log spares what follows. It is not active, and may be
// moved, until the answer has its place.
func (g *Gateway) place(sub subscription) (s *Session, c *cursor, first int64, refused *protocol.Error) {
	id := sub.params.SessionID
	s, refused = g.known(id)
	if refused != nil {
		return nil, nil, 0, refused
	}
	// A step that is being taken ends first: who has been answered in it may subscribe
	// to what it says.
	s.mu.Lock()
	defer s.mu.Unlock()
	first, _, ok := g.log.Range(id)
	if s.gone || !ok || s.head.Load() == 0 {
		return nil, nil, 0, protocol.ErrUnknownSession(id)
	}
	c = newCursor(s, sub.call.sub)
	c.asked, c.sparse, c.syncing = true, sparse(sub.params.Deltas), true
	if after := sub.params.AfterSeq; after != nil && *after >= first-1 && *after < c.goal {
		c.startAt(*after)
	}
	s.cursors.mu.Lock()
	s.cursors.list = append(s.cursors.list, c)
	s.cursors.mu.Unlock()
	if sub.call.sub.left.Load() {
		s.remove(c) // nobody will
	}
	return s, c, first, nil
}

// known gives a session that has said something, here or in an earlier process.
func (g *Gateway) known(id string) (*Session, *protocol.Error) {
	if _, known := g.headOf(id); !known {
		return nil, protocol.ErrUnknownSession(id)
	}
	s, err := g.obtain(id)
	if err != nil {
		return nil, g.unread(id, "opening a session", err)
	}
	return s, nil
}

// sparse is a subscription's word on deltas; nil: it has none.
func sparse(deltas *bool) *bool {
	if deltas == nil {
		return nil
	}
	return new(!*deltas)
}

// sessionUnsubscribe ends a session's events on a connection, from the answer on. Of a
// session that is not sent, or not known, it says the same.
func (g *Gateway) sessionUnsubscribe(c *call, params []byte) {
	p, faults := protocol.DecodeSessionUnsubscribe(params)
	if faults != nil {
		c.fail(protocol.ErrInvalidParams(faults))
		return
	}
	w := c.sub.wish(p.SessionID)
	c.resultWith(struct{}{}, func() {
		if c.sub.fulfil(w) {
			if cur := c.sub.cursor(p.SessionID); cur != nil {
				c.sub.deactivate(cur)
			}
		}
	})
}
