package gateway

import "sync"

// natives are the native sessions that processes of this gateway have open, by the
// ids that their harnesses give them: two processes on one conversation would each
// write over what the other has said. They count for all harnesses together, since
// some share one store.
type natives struct {
	mu sync.Mutex
	// owner is the process that has it; of is the reverse.
	owner map[string]*child
	of    map[*child]string
	// vague are ids that two processes have minted, each for itself: they are no
	// names, and nobody is kept from them.
	vague map[string]struct{}
}

// claim gives a process the native session that it is to go on with; false: another
// has it.
func (n *natives) claim(id string, c *child) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, vague := n.vague[id]; !vague && n.owner[id] != nil {
		return false
	}
	n.set(id, c)
	return true
}

// name notes what native session a process has said it is in: a fresh one, or another
// than it was to go on with.
func (n *natives) name(id string, c *child) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id == "" || n.of[c] == id {
		return
	}
	if n.owner[id] != nil {
		if n.vague == nil {
			n.vague = map[string]struct{}{}
		}
		n.vague[id] = struct{}{}
	}
	n.set(id, c)
}

// set makes a process the owner of one id, and of no other.
func (n *natives) set(id string, c *child) {
	if n.owner == nil {
		n.owner, n.of = map[string]*child{}, map[*child]string{}
	}
	n.forget(c)
	n.owner[id], n.of[c] = c, id
}

// release frees what a process had: it is gone.
func (n *natives) release(c *child) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget(c)
}

// forget takes a process out of both maps.
func (n *natives) forget(c *child) {
	id, had := n.of[c]
	if !had {
		return
	}
	delete(n.of, c)
	if n.owner[id] == c {
		delete(n.owner, id)
	}
}

// nameNative notes what the live process has said of its native session; called
// after each step, under the session's lock.
func (s *Session) nameNative() {
	if s.machine == nil {
		return
	}
	if c := s.childOf(s.machine.Generation()); c != nil && c.native != s.machine.NativeID() {
		c.native = s.machine.NativeID()
		s.gw.natives.name(c.native, c)
	}
}
