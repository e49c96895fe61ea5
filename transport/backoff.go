package transport

import (
	"errors"
	"time"
)

// backoff says how long to wait before the next dial.
type backoff struct {
	// min and max bound the wait before jitter.
	min, max time.Duration
	// next is the wait to come; 0: min.
	next time.Duration
}

// reset begins again at min, after a connection that was stable.
func (b *backoff) reset() { b.next = 0 }

// wait gives the time to wait after err and doubles the next one. random, in
// [0, 1), spreads what many dial at once over the upper half. A refusal that the
// same handshake cannot change waits for max at once: only the operator, or a new
// token, can end it.
func (b *backoff) wait(err error, random float64) time.Duration {
	d := max(b.next, b.min)
	var h *HandshakeError
	if errors.As(err, &h) {
		if !h.Retryable() {
			d = b.max
		}
		d = max(d, min(h.RetryAfter, b.max))
	}
	b.next = min(2*d, b.max)
	return d/2 + time.Duration(random*float64(d/2))
}
