package transport

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"
)

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
				// The library closes what is left; not from here: it may be
				// waiting for us.
				s.abort()
				return
			}
		}
		if last || s.isClosed() {
			return
		}
		if cap(buf) > 4*s.o.WriteBudget {
			buf = nil
		}
	}
}

// sleep waits for something to write; it gives true where this is the last time.
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
func (s *Stream) round(buf []byte) ([]byte, bool, error) {
	s.source.Mark()
	answers := s.takeAnswers()
	for _, a := range answers {
		if len(a.barriers) == 0 {
			buf = append(buf, a.line...)
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
// the answer.
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
	return append(buf, a.line...), nil
}

func (s *Stream) takeAnswers() []answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.answers
	s.answers, s.queued = nil, 0
	s.room.Broadcast()
	return taken
}

func (s *Stream) hasAnswers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.answers) > 0
}

func (s *Stream) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// abort ends the connection from within the writer.
func (s *Stream) abort() {
	s.endOnce.Do(func() { close(s.inputEnded) })
	if err := s.Close(); err != nil {
		s.o.Logger.Debug("closing the connection failed", zap.Error(err))
	}
}

func trimBlank(line []byte) []byte { return bytes.TrimSpace(line) }

// appendString quotes a text for an error message: JSON, line separators
// escaped.
func appendString(b []byte, text string) []byte {
	q, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		// Invalid UTF-8 was replaced; the text is usable all the same.
		q, _ = jsontext.AppendQuote(nil, string(bytes.ToValidUTF8([]byte(text), []byte("\uFFFD"))))
	}
	v := jsontext.Value(q)
	if err := v.Format(jsontext.EscapeForJS(true)); err != nil {
		return append(b, q...)
	}
	return append(b, v...)
}
