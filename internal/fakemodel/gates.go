package fakemodel

import "sync"

// gates are latches by name: once released, a gate stays open.
type gates struct {
	mu     sync.Mutex
	byName map[string]*gate
}

type gate struct {
	open     chan struct{}
	released bool
}

// at returns the gate of that name, shut if it is new; mu is held. Waiting and releasing
// both make a gate, so it does not matter which comes first.
func (g *gates) at(name string) *gate {
	if g.byName == nil {
		g.byName = map[string]*gate{}
	}
	if g.byName[name] == nil {
		g.byName[name] = &gate{open: make(chan struct{})}
	}
	return g.byName[name]
}

// opened returns the channel that is closed when the gate is released.
func (g *gates) opened(name string) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at(name).open
}

// release opens a gate for all who stand there and all who come.
func (g *gates) release(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.at(name)
	if !at.released {
		at.released = true
		close(at.open)
	}
}
