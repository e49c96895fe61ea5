package gateway

import "agent-server/protocol"

// Effect implements transport.Effector: the answer to a request that changes what
// this connection is sent has its place.
func (sub *Subscriber) Effect(n int64) {
	sub.mu.Lock()
	take := sub.effects[n]
	delete(sub.effects, n)
	sub.mu.Unlock()
	if take != nil {
		take()
	}
}

// effect keeps what is to happen at an answer's place, and gives its number.
func (sub *Subscriber) effect(take func()) int64 {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.lastEffect++
	sub.effects[sub.lastEffect] = take
	return sub.lastEffect
}

// wish is a request to be sent a session, or no longer. The latest one counts, though
// an earlier one may be answered after it.
type wish struct{ session string }

// wish notes that a session's events are asked for, or no longer; requests are met in
// the order in which they came.
func (sub *Subscriber) wish(session string) *wish {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	w := &wish{session}
	sub.wishes[session] = w
	return w
}

// fulfil says whether a wish is still the latest of its session; if so it is met now.
func (sub *Subscriber) fulfil(w *wish) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.wishes[w.session] != w {
		return false
	}
	delete(sub.wishes, w.session)
	return true
}

// activate begins to send a session by a cursor, in place of the one before.
func (sub *Subscriber) activate(c *cursor) {
	if before := sub.hold(c.s.id, c); before != nil {
		before.active = false
		before.s.remove(before)
	}
	c.active = true
	// Its first mark is the head that it was made at: what came later may precede an
	// answer of this round. The next round looks again.
	sub.enlist(c)
	if c.dirty.CompareAndSwap(false, true) {
		sub.push(c)
	}
}

// deactivate ends a session's events on this connection.
func (sub *Subscriber) deactivate(c *cursor) {
	c.active = false
	sub.drop(c.s)
	c.s.remove(c)
}

// become sets what a connection is shown, and of which sessions. Sessions that it has
// subscribed to stay; of the others it is sent none, or, where it was picky and is so no
// longer, those that exist from their head.
func (sub *Subscriber) become(v view) {
	was := sub.view
	sub.view = v
	if was.picky == v.picky {
		return
	}
	g := sub.gw
	// Held so that no session is made meanwhile.
	g.mu.RLock()
	defer g.mu.RUnlock()
	sub.picky.Store(v.picky)
	for _, s := range g.sessions {
		switch c := sub.cursor(s.id); {
		case v.picky && c != nil && !c.asked:
			sub.deactivate(c)
		case !v.picky && c == nil:
			s.subscribe(sub)
		}
	}
	if sub.left.Load() {
		for _, s := range g.sessions {
			s.unsubscribe(sub)
		}
	}
}

// appendNotification appends a whole notification.
func appendNotification(dst []byte, method string, params any) []byte {
	dst = protocol.AppendString(append(dst, `{"jsonrpc":"2.0","method":`...), method)
	dst = append(append(dst, `,"params":`...), protocol.Encode(params)...)
	return append(dst, "}\n"...)
}
