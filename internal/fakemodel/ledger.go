package fakemodel

import (
	"context"
	"slices"
	"sync"
)

// State is how far the answer to a request has come.
type State string

// The states; all but Answering and Stalled are final.
const (
	// Answering is a request whose answer is being written.
	Answering State = "answering"
	// Stalled is a request that stands at the gate Request.Gate.
	Stalled State = "stalled"
	// Done is a request that was answered whole.
	Done State = "done"
	// Failed is a request that got the error its script asks for, or a refusal of this server.
	Failed State = "failed"
	// Cut is a request whose connection was dropped, by script or by Options.StallLimit.
	Cut State = "cut"
	// Gone is a request whose client hung up before the end, or which Close overtook.
	Gone State = "gone"
)

// Request is one HTTP request the server got.
type Request struct {
	Method string // such as POST
	Path   string // with the query, such as /v1/messages?beta=true
	Body   []byte // as received; shared with the server, not to be changed

	Prompt  string // the text that chose the answer; "" for other endpoints
	Round   int    // assistant messages since the prompt, from 0
	Attempt int    // earlier requests at this very place, from 0: a retry has 1
	Side    bool   // a call of the CLI's own, which runs no script
	Stream  bool   // the client asked for a stream
	State   State  // how far the answer has come
	Gate    string // the gate it stands at while State is Stalled
}

// ledger holds what was asked, and wakes those who wait for more.
type ledger struct {
	mu       sync.Mutex
	requests []Request
	attempts map[string]int
	changed  chan struct{} // closed and replaced at each change
}

func newLedger() *ledger {
	return &ledger{attempts: map[string]int{}, changed: make(chan struct{})}
}

// enter adds a request and returns its number. It counts attempts by key; "" counts none.
func (l *ledger) enter(r Request, key string) (number, attempt int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if key != "" {
		r.Attempt = l.attempts[key]
		l.attempts[key]++
	}
	l.requests = append(l.requests, r)
	l.wake()
	return len(l.requests) - 1, r.Attempt
}

// move sets the state of a request.
func (l *ledger) move(number int, state State, gate string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[number].State, l.requests[number].Gate = state, gate
	l.wake()
}

// wake tells all who wait that the copy they looked at is out of date; mu is held.
func (l *ledger) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// all returns a copy, and the channel that tells when it is out of date.
func (l *ledger) all() ([]Request, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests), l.changed
}

// wait returns once the condition holds, or with the context's error.
func (l *ledger) wait(ctx context.Context, condition func([]Request) bool) error {
	for {
		requests, changed := l.all()
		if condition(requests) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}
