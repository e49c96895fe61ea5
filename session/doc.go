// Package session is what ONE session decides: admission and idempotency, the
// queue, the echo, cancel, permissions, addresses, seq, turns that a harness
// opens, generations of its process, close and shutdown.
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
//	├─ what the input asks for    start.go queue.go steer.go cancel.go permission.go
//	│                             close.go timer.go
//	├─ or what a process did      process.go
//	│  ├─ apply: what its translator said of it, update by update     update.go
//	│  │  ├─ native.go             the native session, resumed or lost
//	│  │  ├─ message.go            where a new part stands
//	│  │  ├─ part.go partset.go    text, reasoning, and parts shown whole
//	│  │  ├─ tool.go toolstate.go  tool calls
//	│  │  ├─ restate.go            snapshots in between
//	│  │  ├─ permission.go         consent, through package broker
//	│  │  ├─ policy.go             and who decides where nobody is asked
//	│  │  ├─ own.go                turns that the harness opens
//	│  │  ├─ report.go             what it says of the session itself
//	│  │  └─ turn.go               the turn's end
//	│  └─ pump: what the translator is to be told, until nothing is left
//	└─ settle: the end of a harness turn, the next in the queue, the session's end,
//	   the clocks of what streams and of what is idle
//
// # Busy
//
// What becomes of a turn/start while a turn is open:
//
//	open is                                   reject   queue    steer
//	a client's turn that can be steered       -32002   queued   steered
//	any other client's turn                   -32002   queued   queued
//	a harness turn, its main loop at work,
//	  a permission open or being cancelled    -32002   queued   queued
//	any other harness turn                    started  started  started
//
// A turn can be steered where its harness can be, has registered and is not being
// cancelled, and where the input wants no other config or conversation. It then
// has no start and no end of its own; its id names no turn that could be
// cancelled. A turn that waits is cancelled by its stamp alone. With 64 that wait,
// or 64 MiB of input, the next is -32021. A retry is answered with what became of
// the turn, as far as this life of the session knows; one that was unqueued stays
// so.
//
// Everything said goes through emit, which stamps it; everything asked of the
// translator goes through tell, so that it is told only when what it said before
// has been taken in whole.
//
// # What holds between steps
//
// A turn is open exactly where turn.started was said without turn.ended, and none
// waits unless one is. An open turn has a live process, or it would have ended in
// that step: there is nothing to wait for without one. A delta stands alone, with
// no snapshot behind it, only in an open turn. Requests are open only in an open turn whose cancel
// was not accepted. A timer of the machine's own is set only while its reason
// stands. The numbered laws are in docs/laws.md.
package session

// Token names a request whose answer is owed. It is opaque to the machine, which
// answers each token exactly once.
type Token uint64
