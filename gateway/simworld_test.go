package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"agent-server/eventlog"
	"agent-server/harness/process"
	"agent-server/protocol"
)

// simKind is what a simulated gateway stands on; seeds take turns.
type simKind struct {
	name string
	// durable: the log outlives the gateway. disk: it is SQLite's. lossy: single lines
	// are lost or doubled without the connection's end.
	durable, disk, lossy bool
	// budget is the memory log's, in bytes; lag is MaxLagBytes; 0: the defaults.
	budget, lag int64
}

var simKinds = []simKind{
	{name: "durable log, gateways killed", durable: true},
	{name: "pruned log, connections that lag", budget: 24 << 10, lag: 6 << 10},
	{name: "log that dies with its gateway"},
	{name: "lines lost and doubled", durable: true, lossy: true},
}

// onDisk is the kind of every 25th seed: it takes as long as ten others.
var onDisk = simKind{name: "SQLite, gateways killed", durable: true, disk: true}

// simPlan is a run: the same plan is the same run, to the byte of what is sent. Each
// step draws from chance of its own, so that it means the same without those before it.
type simPlan struct {
	seed  uint64
	steps []int
	plant plant
}

// simWorld is one simulated run, in a bubble of its own: a gateway, clients, the
// connections between them, and a clock that moves when the world lets it.
//
// The world does one thing, waits until everybody waits again, and looks. Whatever
// runs side by side meanwhile ends in queues that are apart: which of them is
// taken from next is the world's choice, and so the seed's.
type simWorld struct {
	simPlan
	kind     simKind
	sessions []string
	scratch  func() string

	log     *simLog
	g       *Gateway
	seeds   atomic.Int64
	clients []*simClient
	calls   sync.WaitGroup
	// healing: no more faults.
	healing bool

	mu     sync.Mutex
	actors []*actor
	spawns int
	// admitted counts the beginnings of each turn; order are they in order.
	admitted map[string]int
	order    []string
	// accepted counts the first answers to each request; resolved are those of which a
	// log knows.
	accepted map[string]int
	resolved map[string]bool
	open     int
	// trace is what happened, ids named by their order; broken why the run is over.
	trace  strings.Builder
	names  map[string]string
	broken error
}

// newSimWorld is a world at its beginning, its clients connected.
func newSimWorld(p simPlan, scratch func() string) *simWorld {
	w := &simWorld{simPlan: p, scratch: scratch, kind: simKinds[p.seed%uint64(len(simKinds))], sessions: []string{"a", "b"},
		admitted: map[string]int{}, accepted: map[string]int{}, resolved: map[string]bool{}, names: map[string]string{}}
	if p.seed%25 == 24 {
		w.kind = onDisk
	}
	w.log = newSimLog(w)
	w.start()
	r := w.chance(-1)
	for i := range 2 + r.IntN(2) {
		w.clients = append(w.clients, newSimClient(w, fmt.Sprint("c", i), w.sessions[r.IntN(3)/2]))
	}
	return w
}

// chance is a step's own.
func (w *simWorld) chance(step int) *rand.Rand {
	return rand.New(rand.NewPCG(w.seed, uint64(step+1_000)))
}

// dir is an empty directory of this run.
func (w *simWorld) dir() string { return w.scratch() }

// fail notes the first fault.
func (w *simWorld) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken == nil {
		w.broken = errors.New(w.named(fmt.Sprintf(format, args...)))
	}
}

// failed says whether one was noted.
func (w *simWorld) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken != nil
}

// note writes into the trace.
func (w *simWorld) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace.WriteString(w.named(fmt.Sprintf(format, args...)) + "\n")
}

// uuid finds ids that were minted.
var uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// named gives minted ids names, in order of appearance: they are the one thing that
// differs between two runs. The lock is held.
func (w *simWorld) named(text string) string {
	return uuid.ReplaceAllStringFunc(text, func(id string) string {
		if w.names[id] == "" {
			w.names[id] = fmt.Sprint("#", len(w.names)+1)
		}
		return w.names[id]
	})
}

// settle waits until everybody waits for the world.
func (w *simWorld) settle() {
	synctest.Wait()
	time.Sleep(time.Nanosecond) // what is due now happens now
	synctest.Wait()
	for _, c := range w.clients {
		c.link.up.order()
		c.link.down.order()
	}
}

// start starts a gateway on the log.
func (w *simWorld) start() {
	g, err := New(Options{Log: w.log, Harnesses: []Registration{{Harness: parrot{}, Path: os.Args[0]}}, Environ: []string{}, MaxLagBytes: w.kind.lag,
		Seed: func() (s [32]byte) { s[0], s[1] = byte(w.seed), byte(w.seeds.Add(1)); return s }})
	if err != nil {
		w.fail("starting a gateway: %v", err)
		return
	}
	g.run = w.spawn
	w.g = g
}

// spawn starts an actor; now and then it fails.
func (w *simWorld) spawn(_ process.Spec, sink process.Sink) (running, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spawns++
	r := w.chance(-1000 + w.spawns)
	if r.IntN(12) == 0 && !w.healing {
		return nil, errors.New("no such file")
	}
	a := newActor(w.spawns, time.Duration(r.IntN(3000))*time.Millisecond)
	w.actors = append(w.actors, a)
	go a.live(sink)
	return a, nil
}

// appended counts what a log has taken.
func (w *simWorld) appended(b eventlog.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range b.Records {
		env, err := protocol.DecodeEnvelope(r.Envelope())
		if err != nil {
			panic(err)
		}
		switch ev := env.Event.(type) {
		case *protocol.TurnStarted:
			if w.admitted[ev.TurnID]++; w.admitted[ev.TurnID] > 1 && w.broken == nil {
				w.broken = errors.New(w.named("law 1: " + ev.TurnID + " was admitted twice"))
			}
			w.order = append(w.order, ev.TurnID)
			w.open++
		case *protocol.TurnEnded:
			w.open--
		case *protocol.PermissionResolved:
			w.resolved[ev.RequestID] = true
		}
	}
}

// kill ends the gateway at once, with its processes and connections. Its log is there
// for the next one, or is not.
func (w *simWorld) kill() {
	w.log.dead.Store(true)
	for _, c := range w.clients {
		c.cut()
	}
	for _, a := range w.actors {
		a.Kill()
	}
	w.settle()
	if err := w.g.Close(); err != nil {
		w.fail("closing a killed gateway: %v", err)
	}
	w.settle()
	w.actors = nil
	old := w.log
	if w.log = old.next(); old.dir == "" && !old.durable {
		old.shut()
	}
	w.start()
}

// speaking are the processes that could say something.
func (w *simWorld) speaking() []*actor {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*actor(nil), w.actors...)
}

// finish ends everything in order; what then still runs is a leak, and the bubble's end
// says so.
func (w *simWorld) finish() {
	w.log.failing.Store(false)
	for _, c := range w.clients {
		c.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	if err := w.g.Shutdown(ctx, 0); err != nil {
		w.fail("law 14: %v", err)
	}
	w.calls.Wait()
	if err := w.g.Close(); err != nil {
		w.fail("closing the gateway: %v", err)
	}
	if !w.failed() {
		w.judgeLogs()
	}
	w.log.shut()
}
