// Package session is what ONE session decides: admission and idempotency, the
// echo, cancel, permissions, addresses, seq, generations of its process, close
// and shutdown.
//
// It is a state machine with one door, Machine.Step: an Input goes in, an Output
// that says what must be done comes out. It refuses to know the log, connections,
// processes, the clock and the rendered conversation; time comes in as an
// argument, entropy as a seed, so that every run can be replayed exactly.
//
// A Machine is not safe for concurrent use: its owner calls Step, one call at a
// time, and performs the Output before the next.
package session

// Token names a request whose answer is owed. It is opaque to the machine, which
// answers each token exactly once.
type Token uint64
