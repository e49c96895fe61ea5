package gateway

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"agent-server/eventlog"
	"agent-server/protocol"
	"agent-server/reducer"
)

// kept is a session's fold, once somebody has asked for it: it follows the log when it
// is asked for again, and costs a step nothing. It is kept while the session has
// a reader or a running turn, else dropped, and made of the log anew.
type kept struct {
	// folding is held by who moves the fold; it may take as long as the log is.
	folding sync.Mutex
	// last is what has been folded; nil: nothing is kept.
	last atomic.Pointer[reducer.Folded]
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
	if !s.busy.Load() && s.cursors.none() {
		s.kept.last.Store(nil)
	}
}

// foldOn folds what the log holds of a session behind a fold and up to a seq. Where
// the front was pruned the first fold lacks what was there, and nothing of a turn that
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
