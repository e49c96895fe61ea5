// Package harnesstest is what every harness is held to: one suite, run over a
// harness's adapter and its recordings.
//
//	harnesstest.Run(t, harnesstest.Subject{Harness: h, Fixtures: dir})
//
// A recording is fed to the session machine with the real translator, as it was and
// with one trouble at one place: the process dies there, a line is lost, repeated,
// cut, changed or too long, a user cancels or closes, the gateway shuts down. After
// each the same must hold: nothing panics, package verify finds nothing, each request
// has one answer, every turn ends, and no timer, process or question is left.
// Beside that an adapter is held to what it promises: see Probe.
//
// It decides what is tried and what must hold. It refuses to know any harness. A run
// draws from fixed seeds, so that what fails once fails again. It runs on the test's
// goroutine.
package harnesstest

import (
	"os"
	"path/filepath"
	"testing"

	"agent-server/harness"
)

// Subject is a harness that is to be judged.
type Subject struct {
	// Harness is its adapter.
	Harness harness.Harness
	// Fixtures is the folder that holds its recordings, one folder a scenario.
	Fixtures string
	// Lent: they are another harness's that speaks the same protocol, so that what
	// was written then is not what is written now.
	Lent bool
	// Seed draws other places, and other lines that are cut and changed.
	Seed uint64
	// Exhaustive: every trouble at every place; else a few places each.
	Exhaustive bool
}

// Run judges a harness. It fails where there is no recording: nothing would have
// been judged.
func Run(t *testing.T, s Subject) {
	files, err := filepath.Glob(filepath.Join(s.Fixtures, "*", "native.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", s.Fixtures, err)
	}
	for _, file := range files {
		scenario := filepath.Base(filepath.Dir(file))
		native, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(scenario, func(t *testing.T) {
			r, err := newRecording(scenario, native)
			if err != nil {
				t.Fatal(err)
			}
			s.play(t, r)
		})
	}
}

// play runs a recording as it was, and once for each trouble and place.
func (s Subject) play(t *testing.T, r *recording) {
	again := map[string]string{}
	for _, c := range s.cases(r) {
		first := s.run(r, c)
		for _, fault := range first.faults {
			t.Errorf("%s: %s\n%s", c, fault, first.tail())
		}
		if c.place%7 == 0 { // the same again, now and then: a run can be replayed exactly
			again[c.String()] = first.log.String()
			if second := s.run(r, c); second.log.String() != again[c.String()] {
				t.Errorf("%s: two runs differ", c)
			}
		}
		if t.Failed() {
			return
		}
	}
}
