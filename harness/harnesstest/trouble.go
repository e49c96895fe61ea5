package harnesstest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
)

// trouble is something that goes wrong, or that somebody does, at one place of a
// recording.
type trouble struct {
	name string
	// line takes the place of a line of the harness's; nil: the line is given as it
	// was, and do happens behind it.
	line func(s *stage, line []byte)
	do   func(s *stage)
	// over: the harness writes nothing more.
	over bool
	// reopened: when it is over the session is opened again and the recording played
	// once more.
	reopened bool
}

// troubles are all that is tried at every place.
var troubles = []trouble{
	{name: "exits", do: exit(harness.ExitStatus{}), over: true},
	{name: "fails", do: exit(harness.ExitStatus{Code: 1, Stderr: "first\nerror: out of luck\n"}), over: true},
	{name: "is killed", do: exit(harness.ExitStatus{Code: -1, Signal: "killed"}), over: true},
	{name: "dies and is started again", do: exit(harness.ExitStatus{Code: 134, Fault: "stdin was not read"})},
	{name: "falls silent", do: func(*stage) {}, over: true},
	{name: "repeats", line: func(s *stage, line []byte) { s.line(line); s.line(line) }},
	{name: "loses", line: func(*stage, []byte) {}},
	{name: "is too long", line: func(s *stage, line []byte) { s.step(session.LineDropped{Gen: s.m.Generation(), Bytes: 1 << 24}) }},
	{name: "is cut", line: func(s *stage, line []byte) { s.line(line[:s.rng.IntN(len(line)+1)]) }},
	{name: "changes", line: func(s *stage, line []byte) { s.line(changed(s.rng, line)) }},
	{name: "talks", do: func(s *stage) { s.line([]byte(noise[s.rng.IntN(len(noise))])) }},
	{name: "goes mad", do: func(s *stage) { s.mad = true }},
	{name: "goes mad and is cancelled", do: func(s *stage) { s.mad = true; cancel(s) }},
	{name: "is cancelled", do: cancel},
	{name: "is cancelled and falls silent", do: cancel, over: true},
	{name: "is cancelled and exits", do: func(s *stage) { cancel(s); exit(harness.ExitStatus{Code: 130})(s) }, over: true},
	{name: "is closed", do: func(s *stage) { s.step(session.Close{Token: s.owe("close")}) }},
	{name: "is closed by force", do: func(s *stage) { s.step(session.Close{Token: s.owe("close"), Force: true}) }},
	{name: "is closed by force and opened again", do: func(s *stage) { s.step(session.Close{Token: s.owe("close"), Force: true}) }, reopened: true},
	{name: "is shut down", do: func(s *stage) { s.step(session.Shutdown{}) }},
	{name: "is drained", do: func(s *stage) { s.step(session.Shutdown{Drain: 500}) }},
	{name: "is asked more", do: more},
}

// noise is what a harness may write beside its protocol, or in a later version of it.
var noise = []string{
	"", " ", "null", "[]", "{}", "7", `"text"`, "not JSON", "\xff\xfe", "\x1b[31mwarning\x1b[0m", `{"type":7}`, `{"type":"from_a_later_version","x":[1]}`,
	`{"jsonrpc":"2.0","method":"_later/thing","params":{}}`, `{"jsonrpc":"2.0","id":"their-1","method":"later/request","params":{"x":1}}`,
	`{"jsonrpc":"2.0","id":99999,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`,
	`{"type":"control_request","request_id":"later-1","request":{"subtype":"from_a_later_version"}}`, `{"a":{"a":{"a":{"a":{"a":{"a":[[[[[[]]]]]]}}}}}}`,
}

// exit ends the live process by itself.
func exit(status harness.ExitStatus) func(*stage) {
	return func(s *stage) { s.kill(status) }
}

func cancel(s *stage) { s.step(session.CancelTurn{Token: s.owe("cancel")}) }

// more asks for a further turn in each of the ways that there are.
func more(s *stage) {
	for i, busy := range []protocol.IfBusy{"", protocol.BusyQueue, protocol.BusySteer} {
		s.step(session.StartTurn{
			Token: s.owe("more"), TurnID: fmt.Sprintf("more-%d", i), Input: protocol.TextInput("and more"), Config: s.cfg, IfBusy: busy,
		})
	}
}

// line gives the live process's line; the bytes are taken.
func (s *stage) line(line []byte) {
	if gen := s.m.Generation(); gen != 0 {
		s.step(session.NativeLine{Gen: gen, Line: append([]byte(nil), line...)})
	}
}

// maddened is a line of a harness that has gone mad: now and then another than it was.
func (s *stage) maddened(line []byte) []byte {
	if !s.mad || len(line) == 0 {
		return line
	}
	switch s.rng.IntN(8) {
	case 0:
		return line[:s.rng.IntN(len(line))]
	case 1, 2, 3:
		return changed(s.rng, line)
	case 4:
		return []byte(noise[s.rng.IntN(len(noise))])
	}
	return line
}

// trial is one run of a recording: as it was, where trouble is nil.
type trial struct {
	scenario string
	trouble  *trouble
	// place is among the recording's lines; -1 is before the first.
	place int
	seed  uint64
}

func (c trial) String() string {
	if c.trouble == nil {
		return c.scenario + " as it was"
	}
	return fmt.Sprintf("%s: %s at line %d", c.scenario, c.trouble.name, c.place)
}

// sample is how many places of a recording a trouble is tried at.
func (s Subject) sample() int {
	switch {
	case s.Exhaustive:
		return math.MaxInt
	case s.Lent: // the adapter that they are lent from is tried more
		return 1
	}
	return 4
}

// cases are the runs of a recording.
func (s Subject) cases(r *recording) []trial {
	all := []trial{{scenario: r.scenario}}
	for k := range troubles {
		rng := rand.New(rand.NewPCG(uint64(k), uint64(len(r.lines))^s.Seed<<32))
		places := rng.Perm(len(r.lines))
		places = places[:min(s.sample(), len(places))]
		for _, place := range places {
			all = append(all, trial{r.scenario, &troubles[k], place, s.Seed<<48 ^ uint64(k)<<32 ^ uint64(place)})
		}
	}
	return all
}

// run is one run, to its end.
func (s Subject) run(r *recording, c trial) *stage {
	st := newStage(s.Harness, r, c.seed, nil)
	st.free = s.Lent
	st.cfg = r.config(s.Harness.Info().ID)
	st.play(r, c)
	st.finish()
	if c.trouble == nil || !c.trouble.reopened || len(st.faults) > 0 {
		return st
	}
	again := newStage(s.Harness, r, c.seed, st)
	again.free, again.cfg = true, st.cfg
	again.play(r, trial{scenario: r.scenario})
	again.finish()
	again.log.WriteString(st.log.String())
	return again
}

// play feeds the recording with its trouble.
func (s *stage) play(r *recording, c trial) {
	at := -1
	if c.trouble != nil {
		at = r.lines[c.place]
	}
	for i, step := range r.steps {
		if i != at {
			s.feed(r, step)
			continue
		}
		line, given := s.fitted(r, step.Input).(session.NativeLine)
		s.free, s.now = true, max(s.now, step.At)
		if c.trouble.line != nil && given {
			c.trouble.line(s, line.Line)
		} else if given {
			s.step(line)
		}
		if c.trouble.do != nil {
			c.trouble.do(s)
		}
		s.cut = c.trouble.over
	}
}
