// Package echo derives the user echo of a turn: the message with which a
// session repeats what it was asked, before anything the harness says.
//
// It decides the echo's ids, its order and the shape of its parts, all from
// the turn's own ids and input, so that whoever minted the turn id predicts
// everything but the times, byte for byte. It refuses to know how the turn was
// admitted, in which log the echo lands, and what follows it; turn.started is
// not part of it.
//
// All functions are pure and safe for concurrent use.
package echo
