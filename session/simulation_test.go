package session_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
)

var (
	simSeeds = flag.Int("sim.seeds", 2000, "how many random runs the simulation makes")
	simSeed  = flag.Uint64("sim.seed", 0, "the one seed to run; 0: all of sim.seeds")
)

// action is one thing that happens to a session. What it means is read against
// the world when it happens (the n-th open request, the live process), so that a
// list with actions left out is a run as well.
type action struct {
	kind string
	a, b uint32
}

// kinds are the actions, the frequent ones several times.
var kinds = []string{
	"start", "start", "start", "start", "cancel", "cancel stamped", "resolve", "resolve", "resolve", "line", "line", "line", "line", "line", "line",
	"line", "line", "calm", "calm", "calm", "calm", "calm", "stale", "spawned", "dropped", "exit", "spawn failed", "pass", "pass", "timer", "close", "shutdown", "gone", "gone", "refused", "clients",
}

// draw is the run of a seed.
func draw(seed uint64) []action {
	r := rand.New(rand.NewPCG(seed, 1))
	actions := make([]action, 20+r.IntN(60))
	for i := range actions {
		actions[i] = action{kinds[r.IntN(len(kinds))], r.Uint32(), r.Uint32()}
		if rare := actions[i].kind; (rare == "close" || rare == "shutdown") && r.IntN(4) > 0 {
			actions[i].kind = "line"
		}
	}
	return actions
}

// simulate runs actions, then brings everything to its end.
func simulate(seed uint64, actions []action) *world {
	w := newWorld(seed)
	for _, a := range actions {
		if w.broken == nil {
			w.do(a)
		}
	}
	if w.broken == nil {
		w.finish()
	}
	return w
}

// do does one action.
func (w *world) do(a action) {
	live := w.m.Generation()
	switch a.kind {
	case "start":
		w.start(a)
	case "cancel":
		w.step(session.CancelTurn{Token: w.owe("cancel")})
	case "cancel stamped":
		turn := turnName(a.a)
		if len(w.queue) > 0 && a.b%2 == 0 {
			turn = w.queue[int(a.a)%len(w.queue)]
		}
		w.step(session.CancelTurn{Token: w.owe("cancel"), TurnID: turn})
	case "resolve":
		w.step(session.ResolvePermission{Token: w.owe("resolve"), RequestID: w.request(a.a), Outcome: outcome(a.b)})
	case "line":
		w.step(session.NativeLine{Gen: live, Line: fmt.Appendf(nil, "%d %d", a.a, a.b)})
	case "refused":
		w.refuse(live)
	case "clients":
		w.step(session.Clients{Present: a.a%3 > 0})
	case "calm":
		w.step(session.NativeLine{Gen: live, Line: fmt.Appendf(nil, "calm %d", a.a%7)})
	case "stale":
		w.step(session.NativeLine{Gen: int(a.a%5) + 100*int(a.b%2), Line: fmt.Appendf(nil, "%d %d", a.a, a.b)})
	case "spawned":
		w.step(session.Spawned{Gen: live})
	case "dropped":
		w.step(session.LineDropped{Gen: live, Bytes: int64(a.a)})
	case "exit":
		w.exitLive(live, session.Exited{Gen: live, Status: harness.ExitStatus{Code: int(a.a % 2), Stderr: "bye"}})
	case "spawn failed":
		w.exitLive(live, session.SpawnFailed{Gen: live, Message: "no such file", InUse: a.a%2 == 0})
	case "pass":
		w.pass(int64(a.a % 400_000 >> (a.b % 12)))
	case "timer":
		w.step(session.Deadline{Timer: session.TimerID{Gen: int(a.a % 3), Name: pickName(a.b)}})
	case "close":
		w.step(session.Close{Token: w.owe("close"), Force: a.a%2 == 0})
	case "shutdown":
		w.step(session.Shutdown{Drain: int64(a.a % 3 * 4000)})
	case "gone":
		w.exitStopped()
	}
}

// refuse reports that a prompt went nowhere; its turn may then be begun again, once.
func (w *world) refuse(live int) {
	if live == 0 || w.prompt != live {
		w.step(session.WriteRefused{Gen: live + 50})
		return
	}
	turn, written := w.open, w.h.written[w.open]
	if w.prompt = 0; !w.refused[turn] {
		delete(w.h.written, turn)
	}
	if out := w.step(session.WriteRefused{Gen: live}); out.Spawn != nil {
		w.refused[turn] = true
	} else if written {
		w.h.written[turn] = true
	}
}

// exitLive reports that the live process has ended; half the time there is none.
func (w *world) exitLive(live int, in session.Input) {
	delete(w.gens, live)
	w.step(in)
}

// start asks for a turn: new, again, or with other content.
func (w *world) start(a action) {
	cfg := config(func(c *protocol.RunConfig) {
		c.Model = []*string{nil, nil, new("m1"), new("")}[a.b%4]
		c.ResumeSessionID = []*string{nil, nil, nil, new("n1"), new("old")}[a.b/4%5]
		c.ResumeSessionAt = []*string{nil, new("5")}[a.b/32%2]
		c.IncludeRaw = []*bool{nil, new(true)}[a.b/64%2]
		c.MaxTurns = []*int64{nil, nil, nil, nil, nil, nil, new(int64(13)), new(int64(14))}[a.b/128%8]
	})
	if a.b%31 == 0 {
		cfg.Harness = protocol.HarnessCodexSDK
	}
	in := session.StartTurn{TurnID: turnName(a.a), Input: protocol.TextInput("do it"), Config: cfg}
	in.IfBusy = []protocol.IfBusy{"", "", protocol.BusyReject, protocol.BusyQueue, protocol.BusyQueue, protocol.BusySteer}[a.b/1024%6]
	if running, ok := w.admitted[w.open]; ok && in.IfBusy == protocol.BusySteer {
		in.Config = running.Config
	}
	if w.own && a.b%2 == 0 { // one that nothing but what is open can refuse
		in.TurnID, in.Config = "u"+strconv.Itoa(len(w.admitted)), config()
	}
	if before, ok := w.admitted[in.TurnID]; ok {
		switch a.b % 4 {
		case 0: // as it comes: conflict or not
		case 1:
			in.Input = protocol.TextInput("do something else")
		default:
			in = before
		}
	}
	in.Token = w.owe("start")
	w.step(in)
}

func turnName(n uint32) string { return "t" + strconv.Itoa(int(n%20)) }

func pickName(n uint32) string {
	return []string{"cancel-answer", "cancel-stop", "startup", "drain", "idle", "t0", "t1", "restate", "quiet"}[n%9]
}

// request is an open request, one that is over, or none at all.
func (w *world) request(n uint32) string {
	switch {
	case n%8 == 0 && len(w.known) > 0:
		return w.known[int(n/8)%len(w.known)]
	case len(w.asking) > 0:
		return w.asking[int(n)%len(w.asking)]
	}
	return "unknown"
}

func outcome(n uint32) protocol.PermissionOutcome {
	options := []string{"allow", "allow_always", "reject", "reject_always", "yes", "odd", "never offered"}
	o := protocol.PermissionOutcome{Outcome: protocol.OutcomeSelected, OptionID: options[n%7]}
	if n%5 == 0 {
		o.UpdatedInput = protocol.Object(`{"a":2}`)
	}
	if n%11 == 0 {
		return protocol.PermissionOutcome{Outcome: protocol.OutcomeCancelled}
	}
	return o
}

// shrink drops actions for as long as the run still breaks.
func shrink(seed uint64, actions []action) []action {
	for size := len(actions) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(actions); {
			fewer := slices.Delete(slices.Clone(actions), i, i+size)
			if simulate(seed, fewer).broken != nil {
				actions = fewer
			} else {
				i += size
			}
		}
	}
	return actions
}

// report fails the test with what reproduces a broken run.
func report(t *testing.T, seed uint64, actions []action) {
	t.Helper()
	least := shrink(seed, actions)
	w := simulate(seed, least)
	t.Errorf("seed %d (-sim.seed %d): %v\nafter %d actions: %v\n%s", seed, seed, w.broken, len(least), least, w.tail())
}

// seeds are those to run.
func seeds(most int) []uint64 {
	if *simSeed != 0 {
		return []uint64{*simSeed}
	}
	all := make([]uint64, min(most, *simSeeds))
	for i := range all {
		all[i] = uint64(i) + 1
	}
	return all
}

func TestSimulation(t *testing.T) {
	t.Parallel()
	var all reached
	for _, seed := range seeds(*simSeeds) {
		actions := draw(seed)
		w := simulate(seed, actions)
		if w.broken != nil {
			report(t, seed, actions)
			return
		}
		all.add(w.reached)
	}
	if *simSeed == 0 && *simSeeds >= 2000 && all.least() < 5 {
		t.Errorf("the runs hardly reach something that they are to judge: %+v", all)
	}
}

// The stream of every run is one in which verify finds nothing.
func TestLaw32_verified(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(300) {
		actions := draw(seed)
		if simulate(seed, actions).broken != nil {
			report(t, seed, actions)
			return
		}
	}
}

func TestLaw31_replay(t *testing.T) {
	t.Parallel()
	events := 0
	for _, seed := range seeds(200) {
		first, second := simulate(seed, draw(seed)), simulate(seed, draw(seed))
		if !bytes.Equal(first.log.Bytes(), second.log.Bytes()) {
			t.Fatalf("seed %d: two runs differ\n%s\n---\n%s", seed, first.tail(), second.tail())
		}
		events += int(first.next)
	}
	if *simSeed == 0 && events < 2000 {
		t.Errorf("the runs have %d events only", events)
	}
}
