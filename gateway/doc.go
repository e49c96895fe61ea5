// Package gateway runs many sessions: it performs what their machines decide, in
// order, serves the methods, owns timers and processes, and maps errors.
//
// It decides who is connected, what is visible to them, and which harness a name
// stands for. It refuses to know transports (a Subscriber is what one pulls
// from), harnesses by name (it takes a registry), and what a native line means.
//
// Calls, one arrow each:
//
//	Subscriber.Handle → method → Session.ask → session.Machine.Step
//	process.Sink.Line → child.feed → … → perform → eventlog.Append → head moves
//	transport writer → Subscriber.Mark, Read → eventlog.Read → passage → line
//	transport writer → Subscriber.Effect → a cursor is moved, a view is changed
//
// # Order
//
// What a connection is sent, and in which order, hangs on two facts. An answer
// that must precede its step's events is queued after they are stored and before
// the head moves, so that no writer can see the events without it. Any other
// answer carries the seq that must have been sent before it. Everything else
// (coalescing, slowness, many connections) is free.
//
// # What a connection is sent
//
// A connection is a cursor a session and a view: what it asked for in initialize. What
// a read of the log gives passes through the view on its way out (see passage), live
// and in a replay alike: a base connection's missing numbers are filled (filler), a
// chained one's envelopes get a short head of their own before the same bytes. What an
// answer changes of that (initialize, session/subscribe, session/unsubscribe) takes
// effect at the answer's place in the bytes (effect), so that a client knows by which
// cursor each line was sent. A subscription puts its cursor, not yet active, where its
// client stands before it is answered: from then on the log spares what follows.
//
// A snapshot is a fold of the log, made when it is asked for (fold): a seq below the
// head names the same events for ever, so that no lock is needed to read them. It costs
// a step nothing, and is kept while the session has a reader or a running turn.
//
// # What happens when things fail
//
// A log that takes nothing, or a fault in a machine or its translator, costs that
// one session its process: see poison and mend. A connection that goes away costs
// nobody anything, and neither does one that takes nothing in: the log spares what a
// connection has yet to read only while that makes progress and is within MaxLagBytes.
// Beyond that it loses deltas that are restated, then its place: events/lagged with a
// chain, close code 1013 without. Only one that may not lose anything (stdio) holds its
// harness instead. A process that dies is its machine's news, no error of ours.
// A directory or a log that does not answer holds up who asked for it: a turn/start
// for inspectBound, a replay alone, and no shutdown.
//
// # What is held
//
// A session costs its log, bounded by the engine; a machine while it lives; and a
// slab of at most 64 KiB that its next events are written into. After one short
// turn, its process evicted, that is some 30 KiB (BenchmarkIdleSession). A
// connection costs a cursor a session and whatever its stream is writing: what a
// slow one has yet to read is the log's. Requests that wait for an answer are
// bounded by their stream. A process costs what it costs, and three goroutines.
//
// # What a harness is given
//
// An executable and arguments of the operator's and the adapter's, never of a
// client's; an environment made of an allow-list (see environment); a directory
// that the client names, looked at when the turn is admitted. Secrets of a client
// go into the environment of its own child, and nowhere else: not into argv, the
// log, events or errors (TestSecrets).
//
// Everything exported is safe for concurrent use. A session has one lock; the
// gateway's own lock, a cursor list's and a stream's may be taken under it, never
// the other way round.
package gateway
