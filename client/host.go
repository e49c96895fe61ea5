package client

import (
	"maps"
	"slices"

	"agent-server/protocol"
)

// install makes a greeted link the client's. Whatever is followed is resumed, a
// hole or not: a session may have spoken while nobody listened, and fallen silent.
func (c *Client) install(l *link, server protocol.InitializeResult) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.ended || c.closing {
		return errDropped
	}
	var lost *HostLostError
	if c.server.InstanceID != "" && !sameHost(c.server, server) {
		lost = c.loseHost(server)
	}
	c.server, c.link, l.greeted = server, l, true
	if server.Capabilities != nil {
		l.limit = server.Capabilities.MaxMessageBytes
	}
	for e := range c.engines {
		e.inbox.put(letter{l: l, in: c.offer(lost)})
	}
	for _, session := range c.resumable(l) {
		c.startHealing(l, session, nil)
	}
	c.announce()
	return nil
}

// sameHost says whether cursors still mean something: the process is the same, or
// its log has outlived it.
func sameHost(was, is protocol.InitializeResult) bool {
	if was.InstanceID == is.InstanceID {
		return true
	}
	return was.Capabilities != nil && is.Capabilities != nil && was.Capabilities.LogID != "" && was.Capabilities.LogID == is.Capabilities.LogID
}

// loseHost takes leave of a host whose log died with it. Turns end for who consumes
// them, behind the last event that came; other feeds are told, and find the new
// host's sessions from their beginning. Called under the lock.
func (c *Client) loseHost(server protocol.InitializeResult) *HostLostError {
	lost := &HostLostError{InstanceID: c.server.InstanceID, NewInstanceID: server.InstanceID}
	c.era++
	c.lost = lost
	for f := range c.feeds {
		if f.turn != "" {
			f.end(lost)
			delete(c.feeds, f)
			continue
		}
		f.push(item{news: lost})
		if f.session != "" {
			c.anchor(f.session, 0)
		}
	}
	for _, session := range c.cursor.Sessions() {
		c.anchor(session, 0)
	}
	clear(c.heads)
	return lost
}

// anchor sets a session's cursor where it counts, at 0 too. Called under the lock.
func (c *Client) anchor(session string, last int64) {
	c.cursor.Seek(session, last)
	c.anchored[session] = struct{}{}
}

// resumable are the sessions to be resumed on a link, each with its cursor set. What
// nobody follows is forgotten instead, and joined where it then stands. Called under
// the lock.
func (c *Client) resumable(l *link) []string {
	for _, session := range c.cursor.Sessions() {
		if !c.followed(session) {
			c.cursor.Reset(session)
			delete(c.anchored, session)
		}
	}
	for f := range c.feeds {
		if f.session == "" || c.knows(f.session) {
			continue
		}
		if head, ok := c.heads[f.session]; ok && !f.fromStart {
			c.anchor(f.session, head)
		} else if f.fromStart {
			c.anchor(f.session, 0)
		}
	}
	for session, seq := range l.early {
		if c.followed(session) && !c.knows(session) {
			c.anchor(session, seq-1)
		}
	}
	return slices.Clone(c.cursor.Sessions())
}

// knows says whether a session has a cursor that counts. Called under the lock.
func (c *Client) knows(session string) bool {
	_, anchored := c.anchored[session]
	return anchored || c.cursor.Last(session) != 0
}

// followed says whether anybody wants a session's events. Called under the lock.
func (c *Client) followed(session string) bool {
	for f := range maps.Keys(c.feeds) {
		if f.follows(session) {
			return true
		}
	}
	return false
}
