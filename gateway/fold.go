package gateway

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/protocol"
	"agent-server/reducer"
)

// kept is a session's fold, once somebody has asked for it: it follows the log when it
// is asked for again, and costs a step nothing. It is kept while the session has
// a reader or a running turn, else dropped, and made of the log anew. Where the log
// will let go events for good, the fold is made before that and kept for good: it holds
// what they have come to, and is counted in the log's budget.
type kept struct {
	// folding is held by who moves the fold; it may take as long as the log is.
	folding sync.Mutex
	// weight is what the last one takes; who holds folding has it.
	weight weight
	// last is what has been folded; nil: nothing is kept.
	last atomic.Pointer[weighed]
	// anew: what is kept does not count any more; the next one is made of what the log
	// still holds.
	anew atomic.Bool
	// forGood: it is never dropped. wanted is the seq that it is to follow the log to,
	// which spares what the fold has not come to; following: somebody is at it.
	forGood, following atomic.Bool
	wanted             atomic.Int64
	// turn is the mark of the turn that ran when it was looked at last; the session's
	// lock guards it.
	turn int64
}

// weighed is a fold, and about what it takes, in bytes.
type weighed struct {
	reducer.Folded
	bytes int64
}

// bytes is about what the kept fold takes; 0 where none is.
func (k *kept) bytes() int64 {
	if last := k.last.Load(); last != nil && !k.anew.Load() {
		return last.bytes
	}
	return 0
}

// shed lets the fold go though nothing else holds what it does: the next life of a
// session begins without it. One that is being made now does not count, either.
func (k *kept) shed() {
	k.anew.Store(true)
	k.forGood.Store(false)
	k.wanted.Store(0)
}

// budgeted is a log that lets the oldest events of a session go above a budget, in bytes.
type budgeted interface {
	// SessionBudget is for the log and the fold of a session together.
	SessionBudget() int64
	// FoldBudget is how large the fold alone may be before the session takes no
	// further turn.
	FoldBudget() int64
}

// foldShare is the share of a log's budget from which on a session's fold follows the
// log: there is time for it until the budget is reached.
const foldShare = 4

// settleFold looks after the fold where something has become visible: it follows a log
// that may soon be cut, as soon as that is so and then wherever a turn ends or begins,
// and is dropped where nobody needs it. What is cut is of turns that have ended, and one
// may end in the step in which the next begins: that none runs is no sign to wait for.
func (s *Session) settleFold() {
	running := s.encoder.running
	between := running != s.kept.turn || running == 0
	s.kept.turn = running
	if b, ok := s.gw.log.(budgeted); ok && s.published.Load() > b.SessionBudget()/foldShare {
		if first := s.kept.forGood.CompareAndSwap(false, true); first || between {
			s.kept.wanted.Store(s.head.Load())
			s.followLog()
		}
	}
	if !s.busy.Load() {
		s.dropIdleFold()
	}
}

// followLog sees to it that somebody follows the log.
func (s *Session) followLog() {
	if s.kept.following.CompareAndSwap(false, true) {
		s.gw.wg.Go(s.follow)
	}
}

// follow brings the fold to where it is wanted; no step waits for it. Where more was
// wanted as it ended, another one goes on. One that fails is not tried again until more
// is wanted.
func (s *Session) follow() {
	upto, done := s.kept.wanted.Load(), false
	defer func() {
		if fault := recover(); fault != nil {
			s.gw.zap.Error("folding a session panicked", zap.String("session", s.id), kindOfFault(fault), zap.Stack("stack"))
		}
		if !done {
			s.kept.wanted.CompareAndSwap(upto, 0)
		}
		if s.kept.following.Store(false); s.kept.wanted.Load() > upto {
			s.followLog()
		}
	}()
	_, err := s.fold(upto)
	if done = err == nil; !done {
		s.gw.zap.Warn("a session could not be folded", zap.String("session", s.id), zap.Error(err))
	}
}

// unfolded is the lowest seq that the log is to spare for a fold that is to follow it,
// whether or not somebody is at it just now; false: it has come to where it is wanted.
func (s *Session) unfolded() (seq int64, behind bool) {
	var folded int64
	if last := s.kept.last.Load(); last != nil {
		folded = last.Seq
	}
	return folded + 1, folded < s.kept.wanted.Load()
}

// fold gives the session's fold at a seq that is visible, or at a later one that is.
// It takes no lock of the session's: what lies below the head never changes.
func (s *Session) fold(upto int64) (reducer.Folded, error) {
	s.kept.folding.Lock()
	defer s.kept.folding.Unlock()
	var f reducer.Folded
	if last, anew := s.kept.last.Load(), s.kept.anew.Swap(false); last != nil && !anew {
		f = last.Folded
	}
	f, err := s.foldFrom(f, upto)
	if errors.Is(err, eventlog.ErrGone) && f.Seq > 0 {
		// What came behind the kept one has been let go meanwhile.
		s.gw.zap.Warn("a session's fold lacks its beginning", zap.String("session", s.id))
		f, err = s.foldFrom(reducer.Folded{}, upto)
	}
	if err != nil {
		return f, err
	}
	s.kept.last.Store(&weighed{f, s.kept.weight.bytes})
	s.dropIdleFold()
	return f, nil
}

// foldFrom folds on, and weighs what comes of it.
func (s *Session) foldFrom(f reducer.Folded, upto int64) (reducer.Folded, error) {
	if f.Seq == 0 {
		s.kept.weight = weight{}
	}
	return s.gw.foldOn(f, &s.kept.weight, s.id, upto)
}

// overBudget is what a new turn is refused with where the fold alone takes more than the
// log may hold of a session: whatever the log let go, there would be no room.
func (s *Session) overBudget() *protocol.Error {
	log, ok := s.gw.log.(budgeted)
	if !ok || s.kept.bytes() <= log.FoldBudget() {
		return nil
	}
	return protocol.ErrOverloaded(fmt.Sprintf("what session %s has come to takes %d bytes of memory, more than a session's budget of %d (--max-session-bytes); "+
		"after a session/close it begins anew, without what its log no longer holds", s.id, s.kept.bytes(), log.FoldBudget()), fullRetry.Milliseconds())
}

// fullRetry is what a client is told to wait where a session has no room: until somebody
// closes it, which nobody can foresee, and which is rare.
const fullRetry = time.Minute

// dropIdleFold drops the fold if nobody reads the session and nothing runs in it. Who
// keeps one looks here afterwards, and so does who leaves: one of them sees it.
func (s *Session) dropIdleFold() {
	if !s.kept.forGood.Load() && !s.busy.Load() && s.cursors.none() {
		s.kept.last.Store(nil)
	}
}

// foldOn folds what the log holds of a session behind a fold and up to a seq. Where
// the front was pruned a new fold lacks what was there, and nothing of a turn that
// still runs is ever pruned. What is folded is weighed; w nil: nobody asks.
func (g *Gateway) foldOn(f reducer.Folded, w *weight, session string, upto int64) (reducer.Folded, error) {
	if f.Seq == 0 {
		first, _, ok := g.log.Range(session)
		if !ok {
			return f, eventlog.ErrPruned
		}
		f.Seq = first - 1
	}
	for f.Seq < upto {
		records, err := g.log.Read(session, f.Seq, replayChunk)
		if err != nil {
			return f, fmt.Errorf("reading the log of session %s: %w", session, err)
		}
		if len(records) == 0 {
			f.Seq = upto // numbers that a crash has skipped
		}
		for _, r := range records {
			if r.Seq > upto {
				f.Seq = upto
				break
			}
			env, err := protocol.DecodeEnvelope(r.Envelope())
			if err != nil {
				return f, fmt.Errorf("reading the log of session %s: %w", session, err)
			}
			f, _ = reducer.FoldEnvelope(f, env)
			if w != nil {
				w.add(env, len(r.Line)-r.EventAt)
			}
		}
	}
	return f, nil
}

// restated is the seq up to which the log's deltas are restated by snapshots; 0: none
// is known to be. The session's lock is held.
func (s *Session) restated() int64 {
	if s.machine == nil {
		return 0
	}
	return s.machine.Restated()
}
