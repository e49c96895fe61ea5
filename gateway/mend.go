package gateway

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/protocol"
	"agent-server/reducer"
)

// mendEvery is how often a broken session is tried again by itself: those who wait
// for its turn's end ask for nothing.
const mendEvery = 5 * time.Second

// poison ends a machine whose last step could not be recorded, or went wrong in
// itself: nothing of that step has happened, its process is stopped, every open
// request is told why. What it had begun ends as after a host's death, as soon as
// the log takes it; until then the session takes nothing.
func (s *Session) poison(why string) {
	s.queue = nil
	s.letGo()
	for _, c := range s.children {
		c.stop(false)
	}
	s.setBroken(true)
	s.gw.refuseAll(s.id, protocol.ErrInternal(why))
	s.usable()
}

// usable tries to mend a broken session; where that fails, it is tried again at
// each request and by the clock. A session that is not broken is usable, machine
// or none.
func (s *Session) usable() bool {
	if !s.broken {
		return true
	}
	s.mender.stop(s.gw)
	s.mender = nil
	if err := s.mend(); err != nil {
		s.gw.zap.Warn("session is still broken", s.about(zap.Error(err))...)
		if !s.released {
			s.mender = s.gw.ring(mendEvery, s.tryAgain)
		}
		return false
	}
	s.setBroken(false)
	return true
}

// tryAgain is the clock's try, unless a request has tried meanwhile.
func (s *Session) tryAgain(a *alarm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mender == a {
		s.usable()
	}
}

// mend brings the session to what its log holds, and appends the ends that are
// missing there. What the lost machine knew beyond the log nobody has seen, so
// that nobody can miss it; no admitted turn is run a second time.
func (s *Session) mend() (err error) {
	// It runs where a panic was caught already, and on the clock's goroutine: one
	// here would be everybody's.
	defer func() {
		if fault := recover(); fault != nil {
			s.gw.zap.Error("mending a session panicked", s.about(kindOfFault(fault), zap.Stack("stack"))...)
			err = errors.New("mending panicked")
		}
	}()
	info, err := s.gw.openLog(s.id)
	if err != nil {
		return err
	}
	f, err := s.gw.foldOn(reducer.Folded{}, nil, s.id, info.NextSeq-1)
	if err != nil && !errors.Is(err, eventlog.ErrPruned) {
		return err
	}
	s.next, s.state, s.encoder.running = info.NextSeq, info.State, 0 // the log's word counts, not ours
	if err := s.say(eventlog.StateIdle, missingEnds(f.Conversation, s.id, time.Now().UnixMilli())...); err != nil {
		return fmt.Errorf("appending the missing ends: %w", err)
	}
	return nil
}

// openLog is what the log knows of a session; that its events are gone is no
// error here: its next seq goes on, and no number is used twice.
func (g *Gateway) openLog(id string) (eventlog.Info, error) {
	info, err := g.log.Open(id)
	if err != nil && !errors.Is(err, eventlog.ErrPruned) {
		return info, fmt.Errorf("opening the log of session %s: %w", id, err)
	}
	return info, nil
}
