// Package seqcursor says what to do with the next envelope of a session:
// deliver it, drop it as a duplicate, heal a gap, or start anew.
//
// It decides from sequence numbers alone. It refuses to know what an envelope
// holds, where it came from, and how a gap is healed: a caller that is told of
// one fetches what is missing, or seeks.
//
// A Cursor starts no goroutine and takes no lock; it is not safe for
// concurrent use.
package seqcursor
