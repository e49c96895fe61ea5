package client

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent-server/protocol"
	"agent-server/reducer"
)

// stage is a world in which the test lets things happen, and nothing goes wrong by
// itself.
func stage(t *testing.T, k kind, clients int) *world {
	t.Helper()
	w := newWorld(1)
	w.kind, w.healing, w.clients = k, true, nil
	w.host = newHost(w, nil, reducer.Folded{}, 0)
	for i := range clients {
		c := &simClient{w: w, name: fmt.Sprint("c", i), core: newCore("s"), pending: map[int]simRequest{}, shown: map[string]string{}}
		w.clients = append(w.clients, c)
		c.connect()
		c.settle()
	}
	t.Cleanup(func() {
		if w.broken != nil {
			t.Error(w.broken)
		}
	})
	return w
}

// want submits a prompt.
func (c *simClient) want(prompt string) (turn string) {
	turn = fmt.Sprintf("%s.%d", c.name, len(c.submitted))
	c.submitted = append(c.submitted, turn)
	c.step(submitted{protocol.TurnStartParams{SessionID: new("s"), TurnID: &turn, Input: protocol.TextInput(prompt),
		Config: protocol.RunConfig{Harness: protocol.HarnessClaudeCode, Cwd: "/"}}})
	return turn
}

// settle delivers everything both ways.
func (c *simClient) settle() {
	for len(c.toServer)+len(c.toClient) > 0 {
		c.toHost(false)
		for len(c.toClient) > 0 {
			c.fromHost(false)
		}
	}
}

// run lets the host work until it has nothing to do.
func (w *world) run() {
	for len(w.tasks)+len(w.host.script) > 0 {
		w.task()
		w.host.speak(w.r)
	}
}

// all lets everything come to its end.
func (w *world) all() {
	for range 20 {
		w.run()
		for _, c := range w.clients {
			c.settle()
		}
		w.pass(500)
	}
}

const talk = "open;delta ab;delta cd;close;done"

// TestLaw01_lostResponse: whichever message of a turn/start is lost with its link, the
// turn is admitted once.
func TestLaw01_lostResponse(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]func(c *simClient){
		"the request":        func(*simClient) {},
		"the answer":         func(c *simClient) { c.toHost(false) },
		"the echo":           func(c *simClient) { c.toHost(false); c.fromHost(false) },
		"a part of the echo": func(c *simClient) { c.toHost(false); c.fromHost(false); c.fromHost(false); c.fromHost(false) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := stage(t, kind{durable: true}, 1)
			c := w.clients[0]
			turn := c.want(talk)
			lost(c)
			c.cut()
			if got := c.core.view().Outbox; !slices.Equal(got, []string{turn}) {
				t.Errorf("the outbox holds %v, want %s: its fate is unknown", got, turn)
			}
			c.connect()
			w.all()
			if w.admitted[turn] != 1 || len(c.core.outbox) > 0 || len(c.core.failures) > 0 {
				t.Errorf("admitted %d times, outbox %v, failures %v", w.admitted[turn], c.core.view().Outbox, c.core.failures)
			}
		})
	}
}

// rendered is what is seen of the user's messages: no times.
func rendered(v *View) (out []string) {
	for _, it := range v.Items {
		if m, ok := it.Entry.(*reducer.Message); ok {
			out = append(out, fmt.Sprintln(it.ID, m.TurnID, m.Role, m.OutputIndex, m.Model, string(protocol.Encode(m.Parts))))
		}
	}
	return out
}

// TestLaw02_echoChangesNothing: from the submission until its echo is whole, nothing
// that is rendered changes: not by the answer, nor by any event of the echo.
func TestLaw02_echoChangesNothing(t *testing.T) {
	t.Parallel()
	w := stage(t, kind{}, 1)
	c := w.clients[0]
	c.want(talk)
	w.all()
	turn := c.want("open;delta x;close;done")
	c.want("done")
	want := rendered(c.core.view())
	c.toHost(false)
	for n := 0; c.core.entry(turn) != nil; n++ {
		if len(c.toClient) == 0 || n > 10 {
			t.Fatalf("after %d messages the echo is not whole", n)
		}
		c.fromHost(false)
		if diff := cmp.Diff(want, rendered(c.core.view())); diff != "" {
			t.Errorf("message %d changed (-want +got):\n%s", n, diff)
		}
	}
}

// TestLaw03_foldKnowsNoIntents: the fold imports nothing that knows what somebody
// wants.
func TestLaw03_foldKnowsNoIntents(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../reducer/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, im := range f.Imports {
			if path := strings.Trim(im.Path.Value, `"`); strings.HasPrefix(path, "agent-server/") && path != "agent-server/protocol" {
				t.Errorf("%s imports %s", file, path)
			}
		}
	}
}

// TestLaw04_burstInOrder: what is submitted in a burst is sent one at a time and
// admitted in that order, though the session takes one turn at a time.
func TestLaw04_burstInOrder(t *testing.T) {
	t.Parallel()
	w := stage(t, kind{}, 1)
	c := w.clients[0]
	var turns []string
	for range 5 {
		turns = append(turns, c.want(talk))
	}
	for range 200 {
		underway := 0
		for _, req := range c.pending {
			if _, ok := req.action.(start); ok {
				underway++
			}
		}
		if underway > 1 {
			t.Fatalf("%d turns are under way at once", underway)
		}
		c.toHost(false)
		c.fromHost(false)
		w.task()
		w.host.speak(w.r)
		w.pass(50)
	}
	if !slices.Equal(w.order, turns) {
		t.Errorf("admitted %v, submitted %v", w.order, turns)
	}
}

// TestLaw05_drainedClientsEqual: clients that came by events and by a snapshot hold
// what the server holds, byte for byte.
func TestLaw05_drainedClientsEqual(t *testing.T) {
	t.Parallel()
	w := stage(t, kind{}, 2)
	w.clients[1].cut()
	for i, prompt := range []string{talk, "open;delta x;crash", talk} {
		w.clients[0].want(prompt)
		w.all()
		if i == 1 {
			w.clients[1].connect()
			w.all()
		}
	}
	want := string(w.host.fold.Conversation.AppendJSON(nil))
	for _, c := range w.clients {
		if got := string(c.core.folded.Conversation.AppendJSON(nil)); got != want || len(want) < 1000 {
			t.Errorf("%s holds\n\t%s\nthe server\n\t%s", c.name, got, want)
		}
	}
}

// direct is a core on a link that serves subscriptions, current and empty.
func direct(t *testing.T) *core {
	t.Helper()
	c := newCore("s")
	c.step(1, connected{subscribe: true, snapshot: true})
	c.step(1, subscribed{epoch: 1, err: protocol.ErrUnknownSession("s")})
	if c.phase != current || !c.ready {
		t.Fatalf("phase %d", c.phase)
	}
	return c
}

func wanted(turn string) submitted {
	return submitted{protocol.TurnStartParams{SessionID: new("s"), TurnID: &turn, Input: protocol.TextInput("hi")}}
}

// TestLaw06_typedRejections: each typed rejection takes the turn out and gives its
// input back; after every other error it stays and is sent again with the same ids.
func TestLaw06_typedRejections(t *testing.T) {
	t.Parallel()
	for code, rejection := range map[protocol.Code]bool{
		protocol.CodeInvalidParams: true, protocol.CodeHarnessNotAvailable: true, protocol.CodeProtocolVersionMismatch: true, protocol.CodeTurnConflict: true,
		protocol.CodeTurnActive: false, protocol.CodeShuttingDown: false, protocol.CodeSessionClosing: false, protocol.CodeOverloaded: false,
		protocol.CodeInternalError: false, protocol.CodeInvalidRequest: false, protocol.CodeParseError: false, -1: false,
	} {
		c := direct(t)
		first := c.step(2, wanted("t"))
		out := c.step(3, started{1, "t", &protocol.Error{Code: code}})
		if rejection {
			if len(c.outbox) != 0 || len(c.failures) != 1 || c.failures[0].TurnID != "t" || c.failures[0].Input.Text != "hi" || len(out) != 0 {
				t.Errorf("%d: outbox %v, failures %+v, then %v", code, c.view().Outbox, c.failures, out)
			}
			continue
		}
		w, ok := out[0].(wait)
		if len(c.outbox) != 1 || len(c.failures) != 0 || !ok || w.after <= 0 {
			t.Errorf("%d: outbox %v, failures %+v, then %v", code, c.view().Outbox, c.failures, out)
			continue
		}
		if again := c.step(4, due{1, sendAgain}); !cmp.Equal(again, first, cmp.AllowUnexported(start{})) {
			t.Errorf("%d: sent again %+v, first %+v", code, again, first)
		}
	}
}

// TestLaw07_lossyHistory: a cursor that the log no longer serves recovers by a
// snapshot, to the same state as everybody's.
func TestLaw07_lossyHistory(t *testing.T) {
	t.Parallel()
	w := stage(t, kind{lossy: true}, 2)
	away := w.clients[1]
	w.clients[0].want(talk)
	w.all()
	away.cut()
	seq := away.core.folded.Seq
	for range 8 {
		w.clients[0].want(talk)
	}
	w.all()
	if first, _, _ := w.host.log.Range("s"); first <= seq+1 {
		t.Fatalf("the log still holds %d, the cursor is %d: nothing is tried", first, seq)
	}
	away.connect()
	w.all()
	if got, want := string(away.core.folded.Conversation.AppendJSON(nil)), string(w.host.fold.Conversation.AppendJSON(nil)); got != want || len(away.core.failures) > 0 {
		t.Errorf("failures %v, state\n\t%s\nwant\n\t%s", away.core.failures, got, want)
	}
}

// TestLaw08_markerPastTheFold: a marker that the fold has not reached shows a loss, and
// forces a snapshot; nothing is sent before it is there.
func TestLaw08_markerPastTheFold(t *testing.T) {
	t.Parallel()
	c := newCore("s")
	c.step(1, wanted("t"))
	out := c.step(1, connected{subscribe: true})
	out = append(out, c.step(1, subscribed{epoch: 1, result: protocol.SessionSubscribeResult{Mode: protocol.SubscribedSuffix}})...)
	got := c.step(2, synced{7})
	want := []action{subscribe{1, protocol.SessionSubscribeParams{SessionID: "s", Snapshot: protocol.SnapshotAlways}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(subscribe{})); diff != "" || c.phase == current || len(out) != 1 {
		t.Errorf("phase %d, before %v (-want +got):\n%s", c.phase, out, diff)
	}
	c.step(3, subscribed{epoch: 1, result: protocol.SessionSubscribeResult{Mode: protocol.SubscribedSnapshot, Seq: 7, State: (*reducer.Conversation)(nil).AppendJSON(nil)}})
	if out = c.step(4, synced{7}); c.phase != current || len(out) != 1 || c.folded.Seq != 7 {
		t.Errorf("phase %d at seq %d, then %v", c.phase, c.folded.Seq, out)
	}
}

// TestLaw09_outage: a recovery that fails is tried again, ever more seldom, until the
// server is back; what was submitted waits for it.
func TestLaw09_outage(t *testing.T) {
	t.Parallel()
	c := newCore("s")
	c.step(1, wanted("t"))
	c.step(1, connected{subscribe: true})
	last := int64(0)
	for n := range 50 {
		out := c.step(2, subscribed{epoch: 1, err: errors.New("down")})
		w, ok := out[0].(wait)
		if len(out) != 1 || !ok || w.after < last || w.after > 15_000 {
			t.Fatalf("after failure %d: %v", n, out)
		}
		last = w.after
		if out = c.step(3, due{1, recoverAgain}); len(out) != 1 || c.phase != asking {
			t.Fatalf("try %d: %v", n, out)
		}
	}
	out := c.step(4, subscribed{epoch: 1, err: protocol.ErrUnknownSession("s")})
	if _, ok := out[0].(start); !ok || c.phase != current {
		t.Errorf("back again: phase %d, %v", c.phase, out)
	}
}

// history is the events of a run, and the folds after each.
func history(t *testing.T) (envs []protocol.Envelope, states []string) {
	t.Helper()
	w := stage(t, kind{}, 1)
	w.clients[0].want(talk)
	w.clients[0].want("open;delta q;crash")
	w.all()
	var f reducer.Folded
	states = append(states, string(f.Conversation.AppendJSON(nil)))
	envs = w.host.read(0)
	for _, env := range envs {
		f, _ = reducer.FoldEnvelope(f, env)
		states = append(states, string(f.Conversation.AppendJSON(nil)))
	}
	if len(envs) < 15 {
		t.Fatalf("only %d events", len(envs))
	}
	return envs, states
}

func stateOf(c *core) string { return string(c.folded.Conversation.AppendJSON(nil)) }

// snapshotAt answers a subscribe with the state at a seq.
func snapshotAt(seq int, states []string) subscribed {
	return subscribed{epoch: 1, result: protocol.SessionSubscribeResult{Mode: protocol.SubscribedSnapshot, Seq: int64(seq), State: protocol.Object(states[seq])}}
}

// TestLaw10_staleSnapshotIsNotTaken: a snapshot older than the fold moves nothing.
func TestLaw10_staleSnapshotIsNotTaken(t *testing.T) {
	t.Parallel()
	envs, states := history(t)
	for n := range envs {
		c := newCore("s")
		c.step(1, connected{subscribe: true})
		for _, env := range envs {
			c.step(1, received{env})
		}
		c.step(2, snapshotAt(n, states))
		if c.folded.Seq != int64(len(envs)) || stateOf(c) != states[len(envs)] || len(c.view().Items) != c.folded.Conversation.Len() {
			t.Fatalf("a snapshot at %d moved the fold to %d", n, c.folded.Seq)
		}
	}
}

// TestLaw11_joinedAtEveryCut: a snapshot at any seq and what follows it, overlapping as
// it may, is the fold from the first event, and is shown so.
func TestLaw11_joinedAtEveryCut(t *testing.T) {
	t.Parallel()
	envs, states := history(t)
	for n := range len(envs) + 1 {
		c := newCore("s")
		c.step(1, connected{subscribe: true})
		c.step(2, snapshotAt(n, states))
		for _, env := range envs[max(0, n-3):] {
			c.step(3, received{env})
		}
		c.step(4, synced{int64(len(envs))})
		if stateOf(c) != states[len(envs)] || c.phase != current {
			t.Fatalf("cut at %d: phase %d, state\n\t%s", n, c.phase, stateOf(c))
		}
		for i, it := range c.view().Items {
			if !sameEntry(it.Entry, c.folded.Conversation.EntryAt(i)) {
				t.Errorf("cut at %d: item %d is shown as it was", n, i)
			}
		}
	}
}

// TestLaw12_prefixTwice: any prefix that comes twice changes nothing, and in the view
// not even a pointer.
func TestLaw12_prefixTwice(t *testing.T) {
	t.Parallel()
	envs, states := history(t)
	for n := range len(envs) + 1 {
		c := direct(t)
		for _, env := range envs[:n] {
			c.step(1, received{env})
		}
		before := c.view()
		for _, env := range envs[:n] {
			if out := c.step(2, received{env}); len(out) > 0 {
				t.Errorf("a duplicate makes the engine do %v", out)
			}
		}
		if stateOf(c) != states[n] || c.view().Conversation != before.Conversation || !slices.Equal(before.Items, c.view().Items) {
			t.Errorf("delivering %d events twice changed the view", n)
		}
	}
}

// TestLaw13_everyDeltaLost: without any delta, chained, the end is the same, byte for
// byte.
func TestLaw13_everyDeltaLost(t *testing.T) {
	t.Parallel()
	envs, states := history(t)
	c := direct(t)
	last, lost := int64(0), 0
	for _, env := range envs {
		if env.Event.Type() == protocol.TypeMessagePartDelta {
			lost++
			continue
		}
		env.PrevSeq = new(last)
		last = env.Seq
		c.step(1, received{env})
	}
	if stateOf(c) != states[len(envs)] || c.phase != current || lost < 3 {
		t.Errorf("without %d deltas, phase %d:\n\t%s\nwant\n\t%s", lost, c.phase, stateOf(c), states[len(envs)])
	}
}

// TestLaw14_everythingEnds: a host that dies at any step leaves nothing that goes on
// for ever at its clients: its next life, on the log that survived it, says the ends
// of what it had begun.
func TestLaw14_everythingEnds(t *testing.T) {
	t.Parallel()
	for steps := range 40 {
		w := stage(t, kind{durable: true}, 2)
		c := w.clients[0]
		c.want(talk)
		c.want("open;delta q;crash")
		for n := range steps {
			c.toHost(false)
			c.fromHost(false)
			if n%2 == 0 {
				w.task()
				w.host.speak(w.r)
			}
		}
		w.kill()
		for _, c := range w.clients {
			c.connect()
		}
		w.all()
		for _, c := range w.clients {
			if !c.core.settled() || len(w.open) > 0 || w.admitted["c0.0"] != 1 || w.admitted["c0.1"] != 1 {
				t.Fatalf("killed after %d steps: %s is in phase %d with %v; open %v, admitted %v", steps, c.name, c.core.phase, c.core.view().Outbox, w.open, w.admitted)
			}
			for _, m := range reducer.ConversationMessages(c.core.folded.Conversation) {
				if m.EndedAt == nil {
					t.Errorf("killed after %d steps: message %s never ends", steps, m.MessageID)
				}
			}
		}
	}
}
