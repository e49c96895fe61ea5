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
//
// # One step
//
//	Step
//	├─ what the input asks for    start.go cancel.go permission.go close.go timer.go
//	├─ or what a process did      process.go
//	│  ├─ apply: what its translator said of it, update by update     update.go
//	│  │  ├─ native.go             the native session, resumed or lost
//	│  │  ├─ message.go            where a new part stands
//	│  │  ├─ part.go partset.go    text, reasoning, and parts shown whole
//	│  │  ├─ tool.go toolstate.go  tool calls
//	│  │  ├─ permission.go         consent, through package broker
//	│  │  └─ turn.go               the turn's end
//	│  └─ pump: what the translator is to be told, until nothing is left
//	└─ settle: the session's end, the idle clock
//
// Everything said goes through emit, which stamps it; everything asked of the
// translator goes through tell, so that it is told only when what it said before
// has been taken in whole.
//
// # What holds between steps
//
// A turn is open exactly where turn.started was said without turn.ended. An open
// turn has a live process, or it would have ended in that step: there is nothing
// to wait for without one. Requests are open only in an open turn whose cancel
// was not accepted. A timer of the machine's own is set only while its reason
// stands. The numbered laws are in docs/laws.md.
package session

// Token names a request whose answer is owed. It is opaque to the machine, which
// answers each token exactly once.
type Token uint64
