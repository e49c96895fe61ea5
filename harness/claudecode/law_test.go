package claudecode

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"agent-server/harness"
)

// Law 71: whatever the CLI writes, in whatever order, a turn that was begun ends
// at most once, and nothing is said outside one but of what runs in the background. The test plays pieces of whole
// turns, cut, repeated and out of order, behind one that is whole.
func TestLaw71_oneEndATurn(t *testing.T) {
	t.Parallel()
	all := scripts(t)
	names := slices.Sorted(maps.Keys(all))
	ends := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 71))
		d := &driver{t: t, b: newBooks(), tr: New(Options{}).New(harness.Launch{NativeID: "native"}, ids())}
		d.play(all["text"])
		for range 30 {
			script := all[names[rng.IntN(len(names))]]
			from := rng.IntN(len(script))
			d.play(script[from:min(len(script), from+1+rng.IntN(9))])
			d.input([]string{"begin", "begin", "begin", "cancel", "settle", "allow", "steer"}[rng.IntN(7)])
		}
		for _, fault := range d.b.faults {
			if strings.Contains(fault, "outside a turn") {
				t.Errorf("seed %d: %s", seed, fault)
			}
		}
		if d.b.finished > d.b.begun {
			t.Errorf("seed %d: %d ends of %d turns", seed, d.b.finished, d.b.begun)
		}
		ends += d.b.finished
	}
	if ends < 1000 {
		t.Errorf("only %d turns have ended", ends)
	}
}

// play gives the driver lines of a script. What they say of its only prompt they
// say of the turn that is open.
func (d *driver) play(lines []string) {
	for _, line := range lines {
		if word, ok := strings.CutPrefix(line, "!"); ok {
			d.input(word)
			continue
		}
		if turn := d.tr.(*translator).turn; turn != nil {
			line = strings.ReplaceAll(line, `"id-1"`, `"`+turn.uuid+`"`)
		}
		d.take(d.tr.Line([]byte(line)))
	}
}
