// Package sqlite is an eventlog.Log on one SQLite file: every durable event is on
// disk before anyone sees it, and survives kill -9 and power loss.
//
// It decides when the disk is touched, what is verified, and which sessions are
// let go. It refuses to know what events mean, and who is connected.
//
// # On disk
//
// A directory of mode 0700 holds log.db (0600), SQLite's log.db-wal and log.db-shm
// beside it while it is open, and lock, which is held by the one process that has
// the log open. Write-ahead log, synchronous=FULL: what Append has taken was
// synced. One step is one transaction, its admission, events and facts together;
// steps of several sessions that come at the same time share one, and its sync.
// Deltas are never stored: they live in the session's eventlog.Window, and a step
// of deltas alone touches no disk.
//
// # Seq
//
// A number that was given to anybody is never given again, also after a crash. As
// deltas leave no trace, their numbers are reserved ahead, in blocks of at most
// 1,024, when the first number of a block is needed: the session's row holds the
// lowest number that cannot have been sent. A step that ends a turn gives the rest
// of the block back in its own transaction, as Close does for what still runs: a
// session that was idle when the process was killed skips nothing.
//
// # Damage
//
// Every event carries a sum over itself and the sum before it in its session, and
// the session's row holds the last of them; rows and admissions carry sums of their
// own. So an event that was altered, lost, added or moved is noticed by whoever
// reads there, and refused with a *DamageError: never other bytes, never a silent
// gap. What is not noticed: a whole older copy of the files put in their place, and
// sums computed anew by somebody who means it; they are no signature.
//
// The write-ahead log is looked through before SQLite sees it. A tail that was cut
// or garbled is what a crash leaves: the log goes back to its last whole step, none
// of which was acknowledged behind it. Where whole steps stand behind damage, they
// were acknowledged, and Open refuses. Of damage in the very last step it cannot be
// told whether the step had been synced: it is taken for a crash's.
//
// # Driver
//
// zombiezen.com/go/sqlite: SQLite in pure Go, a connection at a time, no
// database/sql between. Against modernc.org/sqlite, which is the same translation
// behind database/sql, it appends 64 events with no allocation instead of 519, and
// reads pages of 64 KiB two to three times as fast; and a failed commit leaves its
// connection in our hands.
//
// A Log is safe for concurrent use. It has one goroutine of its own, which lets go
// what retention says and what was removed; Close waits for it.
package sqlite
