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
	count  int    // of the pieces
	size   int    // in bytes, of all
}

// piece is one stretch of text and those before it.
type piece struct {
	prev *piece
	text string
}

// plus is the text with s behind it.
func (g grown) plus(s string) grown {
	g.size += len(s)
	if g.tail += s; len(g.tail) >= chunkBytes {
		g.pieces = &piece{g.pieces, g.tail}
		g.tail = ""
		g.count++
	}
	return g
}

// after is head and the grown text behind it, in one copy. The pieces hang together
// from the last to the first, so they are put in their places from behind.
func (g grown) after(head string) string {
	if g.size == 0 {
		return head
	}
	all := make([]string, g.count+2)
	all[0], all[g.count+1] = head, g.tail
	for i, p := g.count, g.pieces; p != nil; i, p = i-1, p.prev {
		all[i] = p.text
	}
	return strings.Join(all, "")
}
