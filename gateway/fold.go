package gateway

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/protocol"
	"agent-server/reducer"
)

// kept is a session's fold, once somebody has asked for it: it follows the log when it
// is asked for again, and costs a step nothing. It is kept while the session has
// a reader or a running turn, else dropped, and made of the log anew. Where the log
// will let go events for good, the fold is made before that and kept for good: it holds
// what they have come to.
type kept struct {
	// folding is held by who moves the fold; it may take as long as the log is.
	folding sync.Mutex
	// last is what has been folded; nil: nothing is kept.
	last atomic.Pointer[reducer.Folded]
	// forGood: it is never dropped. following: it is being brought to a turn's end.
	forGood, following atomic.Bool
}

// budgeted is a log that lets the oldest events of a session go above a budget.
type budgeted interface{ SessionBudget() int64 }

// foldShare is the share of a log's budget from which on a session's fold follows each
// turn's end: there is time for it until the budget is reached.
const foldShare = 4

// settleFold looks after the fold where something has become visible: at a turn's end it
// follows a log that may soon be cut, and is dropped where nobody needs it.
func (s *Session) settleFold() {
	if s.busy.Load() {
		return
	}
	if b, ok := s.gw.log.(budgeted); ok && s.published.Load() > b.SessionBudget()/foldShare {
		s.kept.forGood.Store(true)
		if s.kept.following.CompareAndSwap(false, true) {
			s.gw.wg.Go(s.follow)
		}
	}
	s.dropIdleFold()
}

// follow brings the fold to the head; no step waits for it.
func (s *Session) follow() {
	defer s.kept.following.Store(false)
	defer func() {
		if fault := recover(); fault != nil {
			s.gw.zap.Error("folding a session panicked", zap.String("session", s.id), kindOfFault(fault), zap.Stack("stack"))
		}
	}()
	if _, err := s.fold(s.head.Load()); err != nil {
		s.gw.zap.Warn("a session could not be folded", zap.String("session", s.id), zap.Error(err))
	}
}

// fold gives the session's fold at a seq that is visible, or at a later one that is.
// It takes no lock of the session's: what lies below the head never changes.
func (s *Session) fold(upto int64) (reducer.Folded, error) {
	s.kept.folding.Lock()
	defer s.kept.folding.Unlock()
	var f reducer.Folded
	if last := s.kept.last.Load(); last != nil {
		f = *last
	}
	f, err := s.gw.foldOn(f, s.id, upto)
	if errors.Is(err, eventlog.ErrGone) && f.Seq > 0 {
		// What came behind the kept one has been let go meanwhile.
		s.gw.zap.Warn("a session's fold lacks its beginning", zap.String("session", s.id))
		f, err = s.gw.foldOn(reducer.Folded{}, s.id, upto)
	}
	if err != nil {
		return f, err
	}
	s.kept.last.Store(&f)
	s.dropIdleFold()
	return f, nil
}

// dropIdleFold drops the fold if nobody reads the session and nothing runs in it. Who
// keeps one looks here afterwards, and so does who leaves: one of them sees it.
func (s *Session) dropIdleFold() {
	if !s.kept.forGood.Load() && !s.busy.Load() && s.cursors.none() {
		s.kept.last.Store(nil)
	}
}

// foldOn folds what the log holds of a session behind a fold and up to a seq. Where
// the front was pruned a new fold lacks what was there, and nothing of a turn that
// still runs is ever pruned.
func (g *Gateway) foldOn(f reducer.Folded, session string, upto int64) (reducer.Folded, error) {
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
