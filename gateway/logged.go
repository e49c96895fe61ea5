package gateway

import "go.uber.org/zap"

// about begins a line of the log: which session it is about and, where it belongs to
// one, which turn. No line holds anything of what is said in them. Called under the
// session's lock.
func (s *Session) about(more ...zap.Field) []zap.Field {
	fields := []zap.Field{zap.String("session", s.id)}
	if s.turn != "" {
		fields = append(fields, zap.String("turn", s.turn))
	}
	return append(fields, more...)
}

// mind notes which turn the lines of a step belong to: the one that is open behind
// it, else the one that was open before.
func (s *Session) mind() {
	if s.machine == nil {
		return
	}
	if id, ok := s.machine.Active(); ok {
		s.turn = id
	}
}

// unmind forgets a turn that is over, once all that came of its end is done.
func (s *Session) unmind() {
	if s.machine == nil {
		s.turn = ""
	} else if _, ok := s.machine.Active(); !ok {
		s.turn = ""
	}
}

// logger is the log for a process of a generation, at this moment.
func (s *Session) logger(gen int) *zap.Logger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gw.zap.With(s.about(zap.Int("gen", gen))...)
}
