// Package reducer is the one fold of the protocol: a conversation and an event
// give the next conversation, and a list of what changed in it. The gateway, the
// client and the verifier all fold with it, and with nothing else.
//
// It decides what a sequence of events adds up to: it is total (every event that
// decodes folds, in whatever order it comes), it closes what a turn leaves open,
// and it keeps what it does not know. It refuses to know where events come from,
// who asked for them (intents never enter it), what time it is, and whether a
// stream is lawful: that is package verify's to say.
//
// # How it is built
//
// A Conversation is a value that never changes. Folding makes a new one that
// shares all it can with the old: lists are 32-way trees of which one path is
// copied, ids are found through hash tries of the same kind, and the one text
// that is growing right now stands beside all of them (see live), so that a delta
// touches nothing else. No memory that two conversations share is ever written
// again, not even past the end of what the older one can see.
//
// # Concurrency
//
// For that reason any number of goroutines may read one conversation, and fold
// on from one conversation into different futures, at the same time and without
// a lock. What reading returns is fresh, but for the strings, raw JSON values and
// parts in it, which are shared with the events they came from: read-only.
package reducer
