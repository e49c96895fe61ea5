package process

import (
	"io"
	"strings"
)

// tailBytes is how much of stderr is kept.
const tailBytes = 64 << 10

// tail keeps the last tailBytes of what is written to it. It grows with what comes, so that a
// child that never uses stderr costs nothing. One goroutine.
type tail struct {
	ring []byte // in order until it is full, then a ring
	next int    // where the oldest byte lies once it is full
}

var _ io.Writer = (*tail)(nil)

// Write keeps the end of b; it never fails.
func (t *tail) Write(b []byte) (int, error) {
	n := len(b)
	b = b[max(0, n-tailBytes):]
	room := min(len(b), tailBytes-len(t.ring))
	t.ring = append(t.ring, b[:room]...)
	for b = b[room:]; len(b) > 0; {
		copied := copy(t.ring[t.next:], b)
		b = b[copied:]
		t.next = (t.next + copied) % tailBytes
	}
	return n, nil
}

// String returns what is kept, repaired where it is not UTF-8: the cut may lie in a character.
func (t *tail) String() string {
	kept := string(t.ring[t.next:]) + string(t.ring[:t.next])
	return strings.ToValidUTF8(kept, "\uFFFD")
}
