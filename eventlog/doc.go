// Package eventlog holds the events of every session, in seq order, and is
// honest about what it no longer holds.
//
// It decides whether an append is next in line, what is kept within the budget,
// and what a read from a cursor gives. It refuses to know connections, heads
// (what is visible is the gateway's decision) and what events mean: a record is
// bytes with a seq.
//
// Logs are safe for concurrent use. One owner appends to a session; any number
// of readers read it meanwhile.
package eventlog

import (
	"errors"
	"fmt"
)

// Log is a store of session logs. Every engine passes eventlogtest.Run.
type Log interface {
	// Open gives what the log knows of a session; the zero Info of one that it
	// has never seen. ErrPruned where its events are gone: Info then still
	// holds the next seq, so that no number is used twice.
	Open(session string) (Info, error)
	// Append stores a batch, all or nothing, before it returns. A first seq that
	// is not the next one is refused with a *SeqError; nothing is stored then.
	Append(session string, b Batch) error
	// Read gives records with seq > after, in order, oldest first, up to about
	// maxBytes of lines (at least one record, where there is one). Numbers may be
	// missing before and between them: deltas that were let go, or numbers that a
	// crash has skipped. Durable events never are: a cursor after which one is no
	// longer held is ErrGone, never a silent jump.
	Read(session string, after int64, maxBytes int) ([]Record, error)
	// Range gives the lowest seq from which every durable event is held, and the
	// head; ok is false where the session holds none.
	Range(session string) (first, last int64, ok bool)
	// Close lets the store go. No call may follow.
	Close() error
}

// Record is one event as the log holds it. Records and their bytes are never
// changed once appended: readers share them.
type Record struct {
	// Seq is the event's place.
	Seq int64
	// Line is the whole notification as it goes to a connection, newline
	// included.
	Line []byte
	// EventAt is where in Line the event object begins; it ends three bytes
	// before Line does ("}}\n").
	EventAt int
	// Base is Line as a connection without openHarnesses is sent it; nil where
	// it is the same.
	Base []byte
	// Durable is false for deltas, which a snapshot restates.
	Durable bool
	// Turn is a mark that rises by one with each turn: pruning goes by whole
	// turns.
	Turn int64
}

// Envelope is the record's envelope object, a part of Line.
func (r Record) Envelope() []byte { return envelope(r.Line) }

// BaseEnvelope is the envelope as a base connection is sent it.
func (r Record) BaseEnvelope() []byte {
	if r.Base == nil {
		return r.Envelope()
	}
	return envelope(r.Base)
}

// Prefix is what stands before the envelope in every Line.
const Prefix = `{"jsonrpc":"2.0","method":"event","params":`

// suffix is what stands behind it.
const suffix = "}\n"

func envelope(line []byte) []byte { return line[len(Prefix) : len(line)-len(suffix)] }

// Batch is one step's records: all of it is stored, or nothing.
type Batch struct {
	// Admission is the turn admitted by the step; nil where none was.
	Admission *Admission
	// Facts take the place of what was known of the session; nil: nothing new.
	Facts *Facts
	// State is what goes on in the session behind the batch; StateUnknown: what was
	// said before holds.
	State State
	// Records are contiguous from the session's next seq.
	Records []Record
	// Running is the Turn mark of the turn that runs after this batch; pruning
	// spares it. 0: none runs.
	Running int64
	// Unread gives the lowest seq that somebody connected has yet to read;
	// pruning spares it and what follows. It is asked only when something has
	// to go; nil: nobody reads.
	Unread func() int64
	// Restated is the highest seq up to which every delta is restated by a
	// snapshot that the log holds, this batch's included: only those deltas may
	// be let go. 0: none is. It never falls; a lower one changes nothing.
	Restated int64
	// Beside is what is kept in memory of the session besides its log, in bytes. An
	// engine with a budget for a session in memory gives it less; the others pay no heed.
	Beside int64
}

// Admission is what makes a turn idempotent.
type Admission struct {
	// TurnID is the turn.
	TurnID string
	// Hash is the keyed hash of its content.
	Hash [32]byte
}

// Facts are what is known of a session beyond its events. No secret.
type Facts struct {
	// Harness runs it.
	Harness string
	// Cwd is the last turn's directory.
	Cwd string
}

// State is what goes on in a session, as its owner has said with its last append:
// what it must know that finds the session there without an owner.
type State int

const (
	// StateUnknown: nobody has said; the session's last event tells.
	StateUnknown State = iota
	// StateClosed: the session has ended; what comes is another life.
	StateClosed
	// StateIdle: it is open, and nothing in it has to be ended.
	StateIdle
	// StateBusy: it is open, and has begun what its owner is to end.
	StateBusy
)

// Open says that the session was not closed, as far as was said.
func (s State) Open() bool { return s == StateIdle || s == StateBusy }

// Identity is what a log knows of itself. Each engine has it.
type Identity interface {
	// ID is stable while the logs survive: one process, or one store.
	ID() string
	// HashKey keys the admissions' hashes; it lives as long as they do.
	HashKey() []byte
	// Durable: an append has survived the process when it returns.
	Durable() bool
}

// Catalog lists and removes sessions. Each engine has it.
type Catalog interface {
	// Sessions gives up to limit sessions, the one updated last first, after
	// those up to and including the one that a cursor names; "" begins. next is
	// the cursor for more, "" where there are none.
	Sessions(cursor string, limit int) (page []Summary, next string, err error)
	// Remove lets a session's events go; its next seq is remembered, and it is
	// pruned from then on. The caller sees to it that nobody runs it.
	Remove(session string) error
}

// Releaser is told which sessions nobody has open any more. Engines that let
// whole sessions go by age, size or number have it: they spare one whose state is
// open, and one that this process has opened, or appended to, until it is released.
type Releaser interface {
	// Release says that the session is closed, or forgotten, here. The next Open
	// or Append holds it again.
	Release(session string)
}

// Summary is one session in a Catalog.
type Summary struct {
	// Session is its id.
	Session string
	// Facts are as they were last appended.
	Facts Facts
	// State is the last one said.
	State State
	// First and Latest are the lowest seq held and the head.
	First, Latest int64
	// CreatedAt and UpdatedAt are the times of its first and last append, epoch ms.
	CreatedAt, UpdatedAt int64
	// Bytes is what its log takes, about.
	Bytes int64
}

// Info is what a log knows of a session.
type Info struct {
	// NextSeq is the seq of the next event; 1 for a session never seen.
	NextSeq int64
	// Admissions are all that the log holds for the session.
	Admissions []Admission
	// Facts are as they were last appended.
	Facts Facts
	// State is the last one said; StateUnknown of a session never seen, or removed.
	State State
}

// ErrGone is returned for a read whose cursor lies below what is still held.
var ErrGone = errors.New("events after the cursor are no longer held")

// ErrPruned is returned for a session whose events are all gone.
var ErrPruned = errors.New("session was pruned")

// SeqError refuses an append that is not next in line: its owner is stale.
type SeqError struct {
	// Session is the session.
	Session string
	// Want is the next seq.
	Want int64
	// Got is the first seq of the refused batch.
	Got int64
}

// Error names session and both numbers.
func (e *SeqError) Error() string {
	return fmt.Sprintf("append to session %s at seq %d, next is %d", e.Session, e.Got, e.Want)
}
