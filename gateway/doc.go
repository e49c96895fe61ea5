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
//	transport writer → Subscriber.Mark, Read → eventlog.Read
//
// # Order
//
// What a connection is sent, and in which order, hangs on two facts. An answer
// that must precede its step's events is queued after they are stored and before
// the head moves, so that no writer can see the events without it. Any other
// answer carries the seq that must have been sent before it. Everything else
// (coalescing, slowness, many connections) is free.
//
// # What happens when things fail
//
// A log that takes nothing, or a fault in a machine or its translator, costs that
// one session its process: see poison and mend. A connection that goes away costs
// nobody anything. A process that dies is its machine's news, no error of ours.
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
