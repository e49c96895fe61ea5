// Package transport is one framed stream of JSON-RPC messages: over stdio, a
// WebSocket that was accepted, or one that was dialled. Answers and pulled
// events leave through one writer, so that their order is defined.
//
// It decides framing, what is no request, which id bytes an answer gets back,
// and where in the bytes an answer stands among events. It refuses to know
// methods, sessions and events: requests go to a jsonrpc2.Handler, events come
// as encoded lines out of a Source.
//
// A stream has one reader (the JSON-RPC library's) and one writer goroutine;
// everything exported may be called from any goroutine.
package transport

// Source is what a stream's writer pulls events from. The writer goroutine alone
// calls Mark and Read.
type Source interface {
	// Wake gives a channel that receives, coalesced, when there may be more.
	Wake() <-chan struct{}
	// Mark reads the heads: until the next Mark, Read with no session gives
	// nothing that became visible later.
	Mark()
	// Read appends whole lines to dst, each with its newline, about budget bytes
	// at most (at least one line, where there is one), and says whether more is
	// due. With session "" it gives every session up to the mark; else that
	// session alone, up to seq, mark or not: a session that this connection is
	// not sent gives nothing. An error ends the connection: what is due can no
	// longer be served.
	Read(dst []byte, session string, seq int64, budget int) (out []byte, more bool, err error)
	// Close says that the stream is gone.
	Close()
}

// Effector is a Source some of whose answers change what it is read from: a
// subscription moves a cursor, and what stands before its answer was read by the
// old one.
type Effector interface {
	// Effect says that the answer with this Barrier.Effect has its place in the
	// bytes: what is read from now on stands behind it. The writer goroutine calls it,
	// between two reads.
	Effect(n int64)
}

// Barrier stands, encoded as JSON, in the meta member of a jsonrpc2.Response:
// the answer is written after that session has been sent up to that seq. The
// stream takes it off; it never reaches the wire. An answer without one, or whose
// Seq is 0, is written first in its round.
type Barrier struct {
	// Session is the session.
	Session string `json:"session"`
	// Seq is the last event that precedes the answer.
	Seq int64 `json:"seq"`
	// Effect is told to a Source that is an Effector when the answer has its place;
	// 0: nothing is.
	Effect int64 `json:"effect,omitzero"`
}
