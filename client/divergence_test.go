package client

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"agent-server/eventlog"
	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/session"
)

// The catalogue of divergences: what goes wrong with a client and a log that do the
// obvious thing. Each test lets the naive one go wrong first, so that it is known to
// show the fault, and then gives the same to ours.

// naive is a client that folds what comes, as it comes, and takes what it fetches.
type naive struct{ conv *reducer.Conversation }

func (n *naive) receive(env protocol.Envelope)       { n.conv = reducer.Reduce(n.conv, env.Event) }
func (n *naive) fetched(state *reducer.Conversation) { n.conv = state }
func (n *naive) state() string                       { return string(n.conv.AppendJSON(nil)) }

// naiveFan hands events to readers through queues of a fixed length, and lets go what
// does not fit.
type naiveFan struct{ queue []int64 }

func (f *naiveFan) publish(seq int64) {
	if len(f.queue) < 4 {
		f.queue = append(f.queue, seq)
	}
}

// TestDivergence_droppedEvent: an event that is lost is a silent desync for ever; ours
// sees the hole with the next event and asks for what is missing.
func TestDivergence_droppedEvent(t *testing.T) {
	t.Parallel()
	envs, states := history(t)
	silent := 0
	for lost := range len(envs) - 1 {
		var n naive
		c := direct(t)
		var asked []action
		for i, env := range envs {
			if i != lost {
				n.receive(env)
				asked = append(asked, c.step(1, received{env})...)
			}
		}
		if n.state() != states[len(envs)] {
			silent++
		}
		if s, ok := asked[0].(subscribe); !ok || lost > 0 && *s.params.AfterSeq != int64(lost) || c.phase == current {
			t.Errorf("without event %d ours does %v", lost+1, asked)
		}
	}
	if silent < 8 {
		t.Errorf("the naive client shows the fault for %d events only", silent)
	}
}

// TestDivergence_lateDelta: a delta that comes again, behind the message's end, corrupts
// what was finished; for ours it is older than the fold.
func TestDivergence_lateDelta(t *testing.T) {
	t.Parallel()
	envs, states := history(t)
	var n naive
	c := direct(t)
	var delta protocol.Envelope
	for _, env := range envs {
		n.receive(env)
		c.step(1, received{env})
		if env.Event.Type() == protocol.TypeMessagePartDelta {
			delta = env
		}
	}
	n.receive(delta)
	c.step(2, received{delta})
	if want := states[len(envs)]; n.state() == want || stateOf(c) != want {
		t.Errorf("naive corrupted: %v, ours: %v", n.state() != want, stateOf(c) != want)
	}
}

// TestDivergence_slowFetch: a fetch that was overtaken by events rewinds the view; ours
// knows how old it is.
func TestDivergence_slowFetch(t *testing.T) {
	t.Parallel()
	envs, states := history(t)
	var n naive
	c := newCore("s")
	c.step(1, connected{subscribe: true})
	for _, env := range envs {
		n.receive(env)
		c.step(1, received{env})
	}
	old := len(envs) / 2
	n.fetched(must1(reducer.Load([]byte(states[old]))))
	c.step(2, snapshotAt(old, states))
	if n.state() != states[old] || stateOf(c) != states[len(envs)] {
		t.Error("the naive client shows no fault, or ours does")
	}
}

// TestDivergence_retryAdmitsTwice: who mints ids with each try runs the prompt twice
// when only the answer was lost.
func TestDivergence_retryAdmitsTwice(t *testing.T) {
	t.Parallel()
	w := stage(t, kind{durable: true}, 1)
	c := w.clients[0]
	for try := range 2 {
		turn := fmt.Sprint("try-", try)
		w.host.tokens++
		w.host.owed[w.host.tokens] = func(session.Answer) {} // which is lost
		w.host.step(startOf(w.host.tokens, turn))
		w.all()
	}
	if w.admitted["try-0"]+w.admitted["try-1"] != 2 {
		t.Errorf("the naive client shows no fault: %v", w.admitted)
	}
	turn := c.want("done")
	c.toHost(false)
	c.cut()
	c.connect()
	w.all()
	if w.admitted[turn] != 1 {
		t.Errorf("ours was admitted %d times", w.admitted[turn])
	}
}

// TestDivergence_spinnerForEver: what a dead host had begun goes on for ever for who
// waits for its events; ours is told the ends, or that nobody knows them.
func TestDivergence_spinnerForEver(t *testing.T) {
	t.Parallel()
	for _, k := range []kind{{durable: true}, {base: true}} {
		w := stage(t, k, 1)
		c := w.clients[0]
		turn := c.want("open;delta ab;delta cd;close;done")
		c.settle()
		for range 4 {
			w.task()
			w.host.speak(w.r)
		}
		c.settle()
		var n naive
		n.fetched(c.core.folded.Conversation)
		w.kill()
		c.connect()
		w.all()
		if spins, ok := n.conv.Turn(turn); !ok || spins.Status != reducer.TurnActive {
			t.Fatalf("the naive client shows no fault: %+v", spins)
		}
		now, ok := c.core.folded.Conversation.Turn(turn)
		lost := slices.ContainsFunc(c.core.view().Items, func(it *Item) bool { return it.Turn == turn && it.Standing == Lost })
		if k.durable && (!ok || now.Status == reducer.TurnActive) || !k.durable && (ok || !lost) {
			t.Errorf("%+v: ours shows %+v, lost %v", k, now, lost)
		}
	}
}

// TestDivergence_lossyFanOut: a queue that lets go what does not fit leaves holes that
// nobody marks; a cursor over the log has all of it, and where the log has let go, it
// says so.
func TestDivergence_lossyFanOut(t *testing.T) {
	t.Parallel()
	w := stage(t, kind{lossy: true}, 1)
	w.clients[0].want(talk)
	w.all()
	var fan naiveFan
	var got []int64
	envs := w.host.read(0)
	for i, env := range envs {
		fan.publish(env.Seq)
		if i%3 == 2 { // a slow reader
			got, fan.queue = append(got, fan.queue[0]), fan.queue[1:]
		}
		if env.Seq != int64(i+1) {
			t.Errorf("the log gives %d in place %d", env.Seq, i)
		}
	}
	if got = append(got, fan.queue...); len(got) >= len(envs) || len(envs) < 10 {
		t.Errorf("the naive queue shows no fault: it gave %v of %d", got, len(envs))
	}
	for range 8 {
		w.clients[0].want(talk)
	}
	w.all()
	if _, err := w.host.log.Read("s", 0, 1<<20); !errors.Is(err, eventlog.ErrGone) {
		t.Errorf("what the log no longer holds is read as %v", err)
	}
}
