package gateway

import (
	"sync"

	"agent-server/session"
)

// tokens maps what a machine answers to the request that is owed it. Each token
// is redeemed once, so that no request is answered twice, whoever gets there
// first: the machine, or the one who gives it up. They count for all sessions
// together; a machine takes them as they come.
type tokens struct {
	mu sync.Mutex
	// last is the token issued last; open are those not redeemed yet.
	last session.Token
	open map[session.Token]*call
}

// issue makes a token for a request that a session's machine is to answer. It is
// issued before the machine is asked: the answer may come within the asking.
func (t *tokens) issue(c *call, sessionID string) session.Token {
	c.session = sessionID
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = map[session.Token]*call{}
	}
	t.last++
	t.open[t.last] = c
	return t.last
}

// isOpen says whether a token has not been redeemed yet.
func (t *tokens) isOpen(token session.Token) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[token] != nil
}

// redeem gives the request of a token; nil: it was answered before.
func (t *tokens) redeem(token session.Token) *call {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.open[token]
	delete(t.open, token)
	return c
}

// take redeems every token of a session. They are few: requests that wait for an
// answer, of all sessions.
func (t *tokens) take(sessionID string) []*call {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*call
	for token, c := range t.open {
		if c.session == sessionID {
			out = append(out, c)
			delete(t.open, token)
		}
	}
	return out
}
