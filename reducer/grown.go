package reducer

import "strings"

// chunkBytes is from what length on a piece of grown text is left as it is. What
// is shorter is copied with the next delta: so a delta costs its own bytes and at
// most these, and the pieces do not get too many.
const chunkBytes = 64

// grown is text that deltas have added, as a list of pieces. It never changes and
// shares its pieces with every earlier stage of itself: adding to the same stage
// twice gives two texts, neither of which disturbs the other. One buffer with
// room at its end would be read faster, but whoever writes into that room must
// know that nobody else does: that takes a lock, or a promise by the caller.
// The zero value is the empty text.
type grown struct {
	pieces *piece // whole pieces, the latest first
	tail   string // what comes after them, shorter than chunkBytes
}

// piece is one stretch of text and those before it.
type piece struct {
	prev  *piece
	text  string
	place int // its place among them, from 0
}

// empty says whether there is no text.
func (g grown) empty() bool { return g.pieces == nil && g.tail == "" }

// plus is the text with s behind it.
func (g grown) plus(s string) grown {
	if g.tail += s; len(g.tail) >= chunkBytes {
		p := &piece{prev: g.pieces, text: g.tail}
		if p.prev != nil {
			p.place = p.prev.place + 1
		}
		g = grown{pieces: p}
	}
	return g
}

// after is head and the grown text behind it, in one copy. The pieces hang together
// from the last to the first, so they are put in their places from behind.
func (g grown) after(head string) string {
	if g.pieces == nil {
		return head + g.tail
	}
	all := make([]string, g.pieces.place+3)
	all[0], all[len(all)-1] = head, g.tail
	for p := g.pieces; p != nil; p = p.prev {
		all[p.place+1] = p.text
	}
	return strings.Join(all, "")
}
