package transport

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"agent-server/transport/rpc"
)

// WriteObject implements jsonrpc2.ObjectStream: it swaps the caller's id back,
// takes the barrier off, and queues. It never waits for the peer. The response was
// caught on its way in (see Open): the library's own encoding of it would cost the
// id its digits, and the result a pass over its bytes.
func (s *Stream) WriteObject(any) error {
	r := s.outgoing
	s.outgoing = nil
	if r == nil {
		return errors.New("this stream sends answers only")
	}
	s.mu.Lock()
	p := s.pending[r.ID.Num]
	delete(s.pending, r.ID.Num)
	s.room.Broadcast()
	s.mu.Unlock()
	if p == nil {
		return fmt.Errorf("request %d was answered before", r.ID.Num)
	}
	a := answer{id: p.id, line: rpc.EncodeResponse(p.id, r)}
	a.place(r)
	s.queue(a, p.batch)
	return nil
}

// queue hands an answer to the writer, through its batch if it has one. Order of
// queueing is order of writing, as far as barriers allow.
func (s *Stream) queue(a answer, b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if b != nil {
		// The member that goes over the bound is the last that passes, as outside a
		// batch. What gathers counts as queued from here on: it is held.
		if int64(len(b.bytes)) > s.o.MaxAnswerBytes {
			a.line = overflow(a.id)
		}
		before := len(b.bytes)
		whole, done := b.join(a)
		s.queued += int64(len(b.bytes) - before)
		if !done {
			return
		}
		s.queued -= int64(len(b.bytes)) // counted as the whole below
		a = whole
	}
	a.line = append(a.line, '\n')
	s.answers = append(s.answers, a)
	s.queued += int64(len(a.line))
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// writeLoop is the one writer: it sleeps until there is something to say, says
// all of it, coalesced, and sleeps again.
func (s *Stream) writeLoop() {
	defer close(s.flushed)
	var buf []byte
	for {
		more, last := true, s.sleep()
		for more {
			var err error
			if buf, more, err = s.round(buf[:0]); err != nil {
				s.o.Logger.Debug("writing the connection failed", zap.Error(err))
				s.abort()
				return
			}
		}
		if last || s.isClosed() {
			return
		}
		if cap(buf) > 4*s.o.WriteBudget {
			buf = nil // one long answer must not cost an idle connection for ever
		}
	}
}

// sleep waits for something to write; it gives true where this is the last time.
// What became due before it is found by the round that follows: nothing is carried
// by the wake itself.
func (s *Stream) sleep() (last bool) {
	select {
	case <-s.source.Wake():
	case <-s.ready:
	case <-s.finishing:
		return true
	case <-s.closing:
		return true
	}
	return false
}

// round is one pass: the heads are read first, then the answers are taken, so
// that an answer which precedes its events is seen with the head that shows them.
// (Taken the other way round, an answer could be queued and its events be shown
// between the two, and the events would be written first.) Then all of it leaves
// in one write, or as many as the budget makes of it.
func (s *Stream) round(buf []byte) ([]byte, bool, error) {
	s.source.Mark()
	answers := s.takeAnswers()
	for _, a := range answers {
		if len(a.barriers) == 0 {
			buf = s.put(buf, a)
		}
	}
	var err error
	for _, a := range answers {
		if len(a.barriers) > 0 {
			if buf, err = s.afterBarriers(buf, a); err != nil {
				return buf, false, err
			}
		}
	}
	buf, more, err := s.source.Read(buf, "", 0, max(s.o.WriteBudget-len(buf), 1))
	if err != nil {
		return buf, false, err
	}
	if len(buf) == 0 {
		return buf, false, nil
	}
	return buf, more || s.hasAnswers(), s.framing.Write(buf)
}

// afterBarriers sends each session that an answer waits for up to its seq, then
// the answer. There may be much to send: it leaves in writes of about the budget.
func (s *Stream) afterBarriers(buf []byte, a answer) ([]byte, error) {
	for _, b := range a.barriers {
		for more := true; more; {
			var err error
			if buf, more, err = s.source.Read(buf, b.Session, b.Seq, s.o.WriteBudget); err != nil {
				return buf, err
			}
			if len(buf) >= s.o.WriteBudget {
				if err := s.framing.Write(buf); err != nil {
					return buf, err
				}
				buf = buf[:0]
			}
		}
	}
	return s.put(buf, a), nil
}

// put gives an answer its place, and lets take effect what does so there: what is
// read from here on stands behind it.
func (s *Stream) put(buf []byte, a answer) []byte {
	buf = append(buf, a.line...)
	if e, ok := s.source.(Effector); ok {
		for _, n := range a.effects {
			e.Effect(n)
		}
	}
	return buf
}

// takeAnswers empties the queue; whoever waits for room may go on.
func (s *Stream) takeAnswers() []answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.answers
	s.answers = nil
	for _, a := range taken {
		s.queued -= int64(len(a.line)) // what batches still gather stays counted
	}
	s.room.Broadcast()
	return taken
}

// hasAnswers says whether another round is due for answers alone.
func (s *Stream) hasAnswers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.answers) > 0
}
