package gateway

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent-server/internal/shrink"
)

var (
	simSeeds = flag.Int("sim.seeds", 200, "how many random runs the simulation makes")
	simSeed  = flag.Uint64("sim.seed", 0, "the one seed to run; 0: all of sim.seeds")
)

// simOdds are what can happen in a step, and how often in a hundred.
var simOdds = []struct {
	name   string
	weight int
	do     func(w *simWorld, c *simClient, r *rand.Rand) bool
}{
	{"a user submits a turn", 7, func(_ *simWorld, c *simClient, r *rand.Rand) bool { return c.submit(r) }},
	{"a turn is queued", 3, func(_ *simWorld, c *simClient, r *rand.Rand) bool { return c.queue(r) }},
	{"a user cancels", 2, func(_ *simWorld, c *simClient, r *rand.Rand) bool { return c.cancel(r) }},
	{"a user answers a permission request", 6, func(_ *simWorld, c *simClient, r *rand.Rand) bool {
		return c.respond([]string{"allow", "allow_always", "reject", "nonsense"}[r.IntN(4)])
	}},
	{"a user closes the session", 1, func(_ *simWorld, c *simClient, _ *rand.Rand) bool { return c.closeSession() }},
	{"requests arrive", 16, func(w *simWorld, c *simClient, r *rand.Rand) bool { return w.arrive(c, c.link.up, ">", r) }},
	{"lines arrive", 25, func(w *simWorld, c *simClient, r *rand.Rand) bool { return w.arrive(c, c.link.down, "<", r) }},
	{"a process speaks", 22, func(w *simWorld, _ *simClient, r *rand.Rand) bool { return w.speak(r) }},
	{"a process dies", 1, func(w *simWorld, _ *simClient, r *rand.Rand) bool { return w.crash(r) }},
	{"time passes", 4, func(_ *simWorld, _ *simClient, r *rand.Rand) bool {
		time.Sleep(time.Duration(r.IntN(1<<r.IntN(16))) * time.Millisecond)
		return true
	}},
	{"a client connects", 7, func(_ *simWorld, c *simClient, _ *rand.Rand) bool { return c.link.ended() && c.connect() }},
	{"a connection is cut", 3, func(_ *simWorld, c *simClient, _ *rand.Rand) bool { return c.cut() }},
	{"the gateway is killed", 1, func(w *simWorld, _ *simClient, r *rand.Rand) bool { w.kill(); return true }},
	{"the disk fills, or is well again", 2, func(w *simWorld, _ *simClient, _ *rand.Rand) bool {
		w.log.failing.Store(w.kind.durable && !w.log.failing.Load())
		return w.kind.durable
	}},
}

// arrive lets up to eight lines of a direction arrive; a lossy link loses or doubles one
// in twenty.
func (w *simWorld) arrive(c *simClient, l *lane, sign string, r *rand.Rand) bool {
	moved := false
	for range 1 + r.IntN(8) {
		times := 1
		if n := r.IntN(40); w.kind.lossy && n < 2 {
			times = 2 * n
		}
		moved = c.carry(l, sign, times) || moved
		w.settle()
	}
	return moved
}

// speak lets one process say up to eight things.
func (w *simWorld) speak(r *rand.Rand) bool {
	all := w.speaking()
	if len(all) == 0 {
		return false
	}
	a, moved := all[len(all)-1-r.IntN(min(len(all), 3))], false
	for range 1 + r.IntN(8) {
		moved = a.speak() || moved
		w.settle()
	}
	return moved
}

// crash lets a process die, which may be at rest.
func (w *simWorld) crash(r *rand.Rand) bool {
	all := w.speaking()
	if len(all) == 0 {
		return false
	}
	all[len(all)-1-r.IntN(min(len(all), 3))].die(1)
	return true
}

// step does one step, whatever was done before.
func (w *simWorld) step(n int) {
	r := w.chance(n)
	c := w.clients[r.IntN(len(w.clients))]
	at := r.IntN(100)
	for _, o := range simOdds {
		if at -= o.weight; at >= 0 {
			continue
		}
		if o.do(w, c, r) {
			w.note("step %d, %s: %s", n, c.name, o.name)
		}
		break
	}
	w.settle()
	for _, c := range w.clients {
		c.look()
	}
}

// simulate is the run of a plan.
func simulate(t *testing.T, p simPlan) (w *simWorld) {
	t.Helper()
	dirs := 0
	root := t.TempDir()
	scratch := func() string {
		dirs++
		dir := fmt.Sprintf("%s/%d", root, dirs)
		if err := os.Mkdir(dir, 0o700); err != nil {
			panic(err)
		}
		return dir
	}
	synctest.Test(t, func(*testing.T) {
		w = newSimWorld(p, scratch)
		for _, n := range p.steps {
			if !w.failed() {
				w.step(n)
			}
		}
		if w.heal(); !w.failed() {
			w.judge()
		}
		w.finish()
	})
	return w
}

// planOf is a seed's whole run.
func planOf(seed uint64) simPlan {
	p := simPlan{seed: seed}
	for n := range 60 + rand.New(rand.NewPCG(seed, 77)).IntN(240) {
		p.steps = append(p.steps, n)
	}
	return p
}

// report makes of a failed run what its reader needs: the seed, and the fewest steps
// that still fail.
func report(t *testing.T, w *simWorld) (text string, least *simWorld) {
	t.Helper()
	p := w.simPlan
	p.steps = shrink.Steps(p.steps, 400, func(steps []int) bool {
		fewer := p
		fewer.steps = steps
		return simulate(t, fewer).broken != nil
	})
	least = simulate(t, p)
	return fmt.Sprintf("%s: %v\nagain with: go test ./gateway -run 'TestLaw203' -sim.seed %d\n%d of %d steps are left, %v: %v\n%s",
		w.kind.name, w.broken, w.seed, len(p.steps), len(w.steps), p.steps, least.broken, brief(least.trace.String())), least
}

// TestLaw203_everythingConverges: many random runs of real clients against the real gateway, over
// connections, processes, disks and a clock that fail and lag as the seed says. A run
// that breaks a law says its seed, and the fewest steps that break it.
func TestLaw203_everythingConverges(t *testing.T) {
	t.Parallel()
	if *simSeed != 0 {
		w := simulate(t, planOf(*simSeed))
		t.Log(brief(w.trace.String()))
		if w.broken != nil {
			text, _ := report(t, w)
			t.Fatal(text)
		}
		return
	}
	var admitted, accepted atomic.Int64
	t.Run("seeds", func(t *testing.T) {
		for lane := range simLanes {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				for seed := lane + 1; seed <= *simSeeds; seed += simLanes {
					w := simulate(t, planOf(uint64(seed)))
					if w.broken != nil {
						text, _ := report(t, w)
						t.Fatal(text)
					}
					admitted.Add(int64(len(w.order)))
					accepted.Add(int64(len(w.accepted)))
				}
			})
		}
	})
	if a, r, n := admitted.Load(), accepted.Load(), int64(*simSeeds); a < n || r < n/20 {
		t.Errorf("only %d turns were admitted and %d requests answered: the simulation tried nothing", a, r)
	}
}

// simLanes is how many runs are made side by side.
const simLanes = 4

// TestSimulationIsDeterministic: the same seed is the same run, to the byte of what
// passes over every connection.
func TestSimulationIsDeterministic(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 2, 3, 4, 5, 6, 7, 8, 24} {
		first, again := simulate(t, planOf(seed)), simulate(t, planOf(seed))
		if diff := cmp.Diff(first.trace.String(), again.trace.String()); diff != "" || first.trace.Len() < 1000 {
			t.Errorf("seed %d, run again (-first +again):\n%s", seed, diff)
		}
	}
}

// TestSimulationFinds: a fault that is put in is found, and few steps are left of a run
// that shows it.
func TestSimulationFinds(t *testing.T) {
	t.Parallel()
	for fault, law := range map[plant]string{forgets: "law 1:", skips: "law 5:"} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); ; seed++ {
				p := planOf(seed)
				if p.plant = fault; seed > 200 {
					t.Fatal("it was not found")
				}
				if w := simulate(t, p); w.broken != nil {
					text, least := report(t, w)
					t.Log(text)
					if len(least.steps) > 12 || !strings.HasPrefix(least.broken.Error(), law) || !strings.Contains(text, fmt.Sprintf("-sim.seed %d", seed)) {
						t.Errorf("%d steps are left, which show %v", len(least.steps), least.broken)
					}
					return
				}
			}
		})
	}
}

// brief is a trace to be read: each line's beginning, without what all events have,
// and without deltas.
func brief(trace string) string {
	var b strings.Builder
	for line := range strings.Lines(trace) {
		if strings.Contains(line, `"type":"message.part.delta"`) {
			continue
		}
		line = strings.ReplaceAll(line, `{"jsonrpc":"2.0",`, "")
		if _, event, is := strings.Cut(line, `"method":"event","params":{`); is {
			line = line[:strings.Index(line, `"method"`)] + event
		}
		if len(line) > 150 {
			line = line[:150] + "…\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
