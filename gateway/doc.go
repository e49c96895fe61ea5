// Package gateway runs many sessions: it performs what their machines decide, in
// order, serves the methods, owns timers and processes, and maps errors.
//
// It decides who is connected, what is visible to them, and which harness a name
// stands for. It refuses to know transports (a Subscriber is what one pulls
// from), harnesses by name (it takes a registry), and what a native line means.
//
// Calls, one arrow each:
//
//	Subscriber.Handle → method → Session.step → session.Machine.Step
//	process.Sink.Line → Session.step → … → perform → eventlog.Append → head moves
//	transport writer → Subscriber.Mark, Read → eventlog.Read
//
// Everything exported is safe for concurrent use. A session has one lock, taken
// by Session.step alone; the gateway's own lock may be taken under it, never the
// other way round.
package gateway
