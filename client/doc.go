// Package client is the other end of the wire: it initializes, sends requests,
// and delivers every event of every session once, in order.
//
// It decides when a connection is made again, when a hole is healed and how, who is
// woken by what, and when the connection is read no further. It refuses to know how
// a gateway is run and what a conversation looks like: folding is package reducer's,
// and the choice what to show is the caller's.
//
// # Connections
//
// Attach and Spawn have one connection: when it ends, so does the client. Dial and
// Keep make another one, for as long as trying is of use; each begins with a new
// handshake. Where the host, or the log that outlived it, is the one from before,
// every session that is followed is resumed behind the last event that was
// delivered, whether a hole was seen or not. Where it is another one, the sessions
// are gone: a *HostLostError says so, and nothing of theirs is sent to the new host.
// Requests that were under way are sent again where doing them twice is doing them
// once, and are a *FateError where it is not.
//
// # Numbers
//
// Every envelope has a seq, contiguous in its session. One that was delivered is
// not delivered again. One that comes too early shows a hole: the session's live
// events are held back, the hole is filled from the server's log, and all of it is
// delivered in order. Where the log no longer holds what is missing, a *GapError
// stands in its place. A session that is first heard of in mid-life is joined
// there: what was before this connection is no hole, unless somebody waits for the
// session's or a turn's beginning.
//
// # Sync engine
//
// Client.Open keeps one session in sync for a user: an Engine folds what the server
// says, holds what was submitted until the server shows it, and renders both as one
// View. Its core is told what happened and says what to do; it knows no connection,
// clock or goroutine, which is what lets a seeded simulation try it.
//
//   - The echo is the only acknowledgement: a submitted turn leaves the outbox when its
//     echo is whole in the fold, in the same step, or when it is rejected or unqueued,
//     which Failures tells. A lost answer is an unknown fate: the turn stays.
//   - Turns are sent one at a time, in order of submission, under ids minted here, and
//     never before the fold has reached the log's head on this connection.
//   - Recovery is by the cursor; by a snapshot where the log cannot serve that, or where
//     the marker of a subscription is past the fold. One that fails is tried again until
//     the server is back. A base server has neither: its log is replayed, and what that
//     no longer holds is a *GapError among the Failures.
//   - What was open on a host that died with its log is shown as Lost; what was to be
//     sent there is reported, and not sent to another.
//
// The numbered laws are in docs/laws.md.
//
// # Slowness
//
// Who consumes too slowly holds up the connection, and with it everyone who
// follows something on it: nothing is dropped. A call that waits for its answer
// lifts that, since its answer stands behind what is unread; so a call may be made
// while events are being consumed.
//
// A Client has one goroutine that reads and one that writes for each connection, one
// for each hole that is being healed, and one that reconnects; an Engine has one, and
// one for each request and wait. All methods are safe for concurrent use; Close ends
// the goroutines and waits for them.
package client
