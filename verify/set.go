package verify

import "agent-server/protocol"

// Set judges an input that holds the streams of several sessions, each by a
// Verifier of its own. An index is the position in the whole input. Not safe
// for concurrent use. Make one with NewSet.
type Set struct {
	opts  Options
	next  int
	known map[string]*Verifier
	// order is that of first sight.
	order []*Verifier
}

// NewSet makes a Set of which nothing has been seen; the options are those of
// every stream.
func NewSet(opts Options) *Set { return &Set{opts: opts, known: map[string]*Verifier{}} }

// Add judges the next envelope in the stream of its session.
func (s *Set) Add(env protocol.Envelope) []Violation {
	return s.of(env.SessionID).add(s.count(), env)
}

// AddRaw is Add of an envelope as it came from the wire. One of which not even the
// session can be read is blamed, and belongs to no stream.
func (s *Set) AddRaw(raw []byte) []Violation {
	l := read(raw)
	return s.of(l.env.SessionID).addLine(s.count(), l)
}

// Cancelled tells the session's stream that a cancel of the turn was accepted;
// see Verifier.Cancelled.
func (s *Set) Cancelled(sessionID, turnID string) { s.of(sessionID).Cancelled(turnID) }

// Finish gives what the streams break if the input ends here, session by session
// in the order of first sight.
func (s *Set) Finish() []Violation {
	var found []Violation
	for _, v := range s.order {
		found = append(found, v.Finish()...)
	}
	return found
}

// of is the verifier of a session.
func (s *Set) of(sessionID string) *Verifier {
	v := s.known[sessionID]
	if v == nil {
		v = New(s.opts)
		s.known[sessionID] = v
		s.order = append(s.order, v)
	}
	return v
}

// count is the index of the envelope that is being added.
func (s *Set) count() int {
	s.next++
	return s.next - 1
}
