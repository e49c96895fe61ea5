package verify

import "agent-server/protocol"

// Options say how a stream is judged. The zero value judges everything.
type Options struct {
	// NoEcho: turns need not begin with the user echo.
	NoEcho bool
	// Base judges by the rules of the published reference alone, and as
	// strictly: inside events it knows four harness ids.
	Base bool
	// Chained: every envelope must carry prevSeq. One that does is judged by its
	// chain in any case.
	Chained bool
}

// Verifier judges one session's stream, event by event. Not safe for concurrent
// use. Make one with New.
type Verifier struct {
	opts  Options
	rules []entry
	// next is the index of the next event.
	next int
	// order is told of every envelope's numbers.
	order order
	// story and folds are told of every event that is well-formed.
	story *story
	folds *folds
	// asleep: the stream began in the middle of something; until its first
	// turn.started only form and numbers are judged.
	asleep bool
}

// New makes a Verifier of a stream of which nothing has been seen.
func New(opts Options) *Verifier {
	return &Verifier{opts: opts, rules: inForce(opts), story: newStory(), folds: newFolds()}
}

// Stream judges a whole stream of one session.
func Stream(envs []protocol.Envelope, opts Options) []Violation {
	v := New(opts)
	var found []Violation
	for _, env := range envs {
		found = append(found, v.Add(env)...)
	}
	return append(found, v.Finish()...)
}

// Add judges the next envelope and gives what it breaks; the index counts what
// was added, from 0. The event is encoded and decoded again, so that one that no
// strict decoder would take is found before it is on the wire.
func (v *Verifier) Add(env protocol.Envelope) []Violation { return v.add(v.count(), env) }

// AddRaw is Add of an envelope as it came from the wire.
func (v *Verifier) AddRaw(raw []byte) []Violation { return v.addLine(v.count(), read(raw)) }

// AddEvent judges an event that came without an envelope: the rules of seq are
// not judged, and the stream counts as seen from its beginning.
func (v *Verifier) AddEvent(ev protocol.Event) []Violation {
	return v.checked(v.count(), ev)
}

// Cancelled tells that a cancel of the turn was accepted before the next event:
// no event says so. Without it NoAskAfterCancel is judged by what the stream
// itself gives away.
func (v *Verifier) Cancelled(turnID string) {
	if t := v.story.turns[turnID]; t != nil {
		t.asks.cancelled = true
	}
}

// Finish gives what the stream breaks if it ends here. It changes nothing: more
// may be added, and Finish called again.
func (v *Verifier) Finish() []Violation {
	var found []Violation
	for _, e := range v.rules {
		if e.final != nil {
			found = append(found, blamed(e.rule, e.final(v.story))...)
		}
	}
	return append(found, v.folds.judge()...)
}

// count is the index of the event that is being added.
func (v *Verifier) count() int {
	v.next++
	return v.next - 1
}

// add judges a decoded envelope at its index.
func (v *Verifier) add(at int, env protocol.Envelope) []Violation {
	return append(v.numbered(at, env), v.checked(at, env.Event)...)
}

// addLine judges an envelope as it came from the wire, at its index.
func (v *Verifier) addLine(at int, l line) []Violation {
	var found []Violation
	if l.placed {
		found = v.numbered(at, l.env)
	}
	switch {
	case l.err != nil:
		return append(found, malformed(at, l.err)...)
	case v.opts.Base:
		return append(found, v.checked(at, l.env.Event)...) // its harness id is still to be judged
	}
	return append(found, v.event(at, l.env.Event)...)
}

// checked judges an event that no decoder has seen, or none that is strict
// enough.
func (v *Verifier) checked(at int, ev protocol.Event) []Violation {
	if err := strict(ev, v.opts.Base); err != nil {
		return malformed(at, err)
	}
	return v.event(at, ev)
}

// numbered judges an envelope's numbers. The first ones also tell whether the
// stream is seen from its beginning.
func (v *Verifier) numbered(at int, env protocol.Envelope) []Violation {
	if !v.order.begun {
		v.asleep = before(env) != 0 && !v.opts.Base
	}
	monotonic, contiguous, hole := v.order.step(env, v.opts.Chained)
	if hole {
		v.story.streams.hole()
	}
	var found []Violation
	if monotonic != "" {
		found = append(found, Violation{SeqMonotonic, at, monotonic})
	}
	if contiguous != "" && !v.opts.Base {
		found = append(found, Violation{SeqContiguous, at, contiguous})
	}
	return found
}

// event judges a well-formed event by the book, then tells and folds it.
func (v *Verifier) event(at int, ev protocol.Event) []Violation {
	if v.asleep && ev.Type() != protocol.TypeTurnStarted {
		return nil
	}
	v.asleep = false
	var found []Violation
	for _, e := range v.rules {
		for _, judge := range e.checks {
			found = append(found, blamed(e.rule, judge(v.story, ev, at))...)
		}
	}
	v.story.tell(ev, at)
	v.folds.add(ev)
	return found
}

// blamed puts a rule's name on what it found.
func blamed(rule Rule, found []blame) []Violation {
	var list []Violation
	for _, b := range found {
		list = append(list, Violation{rule, b.index, b.why})
	}
	return list
}
