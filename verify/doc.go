// Package verify holds a recorded or live stream of one session to the laws of
// the protocol and says what breaks them.
//
// It decides from the stream alone: which rule is broken, and at which event.
// It refuses to know how the stream was made, to mend it, and to call anything
// a warning: a violation is a fault of whoever made the stream. Under
// Options.Base its verdict is exactly that of the published reference;
// otherwise it also judges what this gateway promises beyond it.
//
// Each rule is one small function in the book (book.go); what the stream has
// told so far is the story, which rules read and never write.
//
// A Verifier starts no goroutine and takes no lock; it is not safe for
// concurrent use. Its memory grows with the ids and the state of the stream,
// its time with the stream's bytes.
package verify
