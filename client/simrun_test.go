package client

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agent-server/internal/shrink"
)

var (
	simSeeds = flag.Int("sim.seeds", 200, "how many random runs the simulation makes")
	simSeed  = flag.Uint64("sim.seed", 0, "the one seed to run; 0: all of sim.seeds")
)

// run is a simulation: the same one is the same run. Each step draws from chance of
// its own, so that it means the same without those before it.
type run struct {
	seed  uint64
	steps []int
	skips bool
}

// runOf is a seed's whole run.
func runOf(seed uint64) run {
	r := run{seed: seed}
	for n := range 100 + rand.New(rand.NewPCG(seed, 78)).IntN(400) {
		r.steps = append(r.steps, n)
	}
	return r
}

// simulate makes a run.
func simulate(r run) *world {
	w := newWorld(r.seed)
	w.skips = r.skips
	for _, n := range r.steps {
		if w.r = rand.New(rand.NewPCG(r.seed, uint64(1000+n))); w.broken == nil {
			w.do()
		}
	}
	if w.heal(); w.broken == nil {
		w.judge()
	}
	return w
}

// report says why a run has failed, how it is made again, and which of its steps are
// enough to fail.
func report(r run) (text string, least run) {
	whole := simulate(r)
	least = r
	least.steps = shrink.Steps(r.steps, 0, func(steps []int) bool {
		return simulate(run{r.seed, steps, r.skips}).broken != nil
	})
	return fmt.Sprintf("%s: %v\nagain with: go test ./client -run TestSimulation$ -sim.seed %d\nsteps %v are enough: %v",
		whole.kind.name, whole.broken, r.seed, least.steps, simulate(least).broken), least
}

// TestSimulation: many random runs of several clients against a real session machine
// and log, with lost, late and cut everything. A run that breaks a law says its seed,
// and the fewest steps that break it.
func TestSimulation(t *testing.T) {
	t.Parallel()
	if *simSeed != 0 {
		w := simulate(runOf(*simSeed))
		t.Logf("%s: %d turns admitted: %v", w.kind.name, len(w.order), w.broken)
		if w.broken != nil {
			text, _ := report(runOf(*simSeed))
			t.Fatal(text)
		}
		return
	}
	var admitted, failures int
	for seed := range uint64(*simSeeds) {
		w := simulate(runOf(seed + 1))
		if w.broken != nil {
			text, _ := report(runOf(seed + 1))
			t.Fatal(text)
		}
		admitted += len(w.order)
		for _, c := range w.clients {
			failures += len(c.core.failures)
		}
	}
	if admitted < *simSeeds || failures < *simSeeds/10 {
		t.Errorf("only %d turns were admitted and %d failed: the simulation tried nothing", admitted, failures)
	}
}

// TestSimulationShrinks: a fault that is put in is found, and few steps are left of the
// run that shows it.
func TestSimulationShrinks(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 200; seed++ {
		r := runOf(seed)
		r.skips = true
		if simulate(r).broken == nil {
			continue
		}
		text, least := report(r)
		if t.Log(text); len(least.steps) > 12 || !strings.Contains(text, "law 5:") {
			t.Errorf("%d of %d steps are left", len(least.steps), len(r.steps))
		}
		return
	}
	t.Error("it was not found")
}
