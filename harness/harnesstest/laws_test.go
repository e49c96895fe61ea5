package harnesstest_test

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"agent-server/harness/harnesstest"
	"agent-server/internal/harnesses"
)

var (
	// exhaustive tries every trouble at every place; it takes minutes.
	exhaustive = flag.Bool("exhaustive", false, "try every trouble at every place")
	// seed draws others than those that are drawn always.
	seed = flag.Uint64("seed", 0, "draw other places and other changes")
)

// subject is a row of the table, as it is judged.
func subject(e harnesses.Entry) harnesstest.Subject {
	dir := filepath.Join("..", "..", "fixtures")
	s := harnesstest.Subject{Harness: e.Harness, Fixtures: filepath.Join(dir, string(e.ID())), Exhaustive: *exhaustive, Seed: *seed}
	if _, err := os.Stat(s.Fixtures); err != nil {
		s.Fixtures, s.Lent = filepath.Join(dir, string(cmp.Or(e.Lent, e.ID()))), true
	}
	return s
}

// Law 190: whatever a harness writes, repeats, loses or garbles, wherever it dies or
// falls silent, and whatever a user does meanwhile: nothing panics, no law of the
// stream is broken, every turn ends, and nothing is left.
func TestLaw190_everyHarness(t *testing.T) {
	t.Parallel()
	for _, e := range harnesses.All() {
		t.Run(string(e.ID()), func(t *testing.T) {
			t.Parallel()
			harnesstest.Run(t, subject(e))
		})
	}
}

// Law 192: what a harness declares that it can do, a recording or its own bytes show;
// what it denies, it does not do.
func TestLaw192_capabilitiesAreShown(t *testing.T) {
	t.Parallel()
	for _, e := range harnesses.All() {
		s := subject(e)
		if s.Lent {
			continue // nothing was recorded of it
		}
		p, err := harnesstest.NewProbe(s.Fixtures, s.Harness)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Capabilities(); err != nil {
			t.Error(err)
		}
	}
}

// Law 193: each member of a config is obeyed, refused, or said to be ignored; no
// secret of it is where others can read it; and a process is given no variable that
// is none of its business.
func TestLaw193_everyMemberCounts(t *testing.T) {
	t.Parallel()
	for _, e := range harnesses.All() {
		s := subject(e)
		p, err := harnesstest.NewProbe(s.Fixtures, s.Harness)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range p.Contract() {
			t.Errorf("%s: %s", e.ID(), fault)
		}
	}
}
