package client

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"agent-server/protocol"
	"agent-server/reducer"
	"agent-server/session"
)

// world is one simulated run: a host, clients, a clock, and one stream of chance that
// decides everything. The same seed is the same run.
type world struct {
	seed      uint64
	kind      kind
	r         *rand.Rand
	now       int64
	host      *host
	instances int
	clients   []*simClient
	tasks     []task
	// admitted counts each turn's beginnings, open are those that have not ended.
	admitted map[string]int
	open     map[string]bool
	// order are the turns in order of admission.
	order []string
	// healing: no more faults.
	healing bool
	// skips: a fault that is put in; what the assistant says reaches nobody.
	skips  bool
	broken error
}

// task is something that a host has yet to do.
type task struct {
	of *host
	do func()
}

// simClient is a core with a link that the world delivers, one message at a time.
type simClient struct {
	w    *world
	name string
	core *core
	// host is what it is linked to; nil: nothing. last is the one before.
	host, last *host
	epoch      int
	requests   int
	toServer   []simRequest
	toClient   []message
	// pending are the requests without an answer, and when they are given up.
	pending map[int]simRequest
	waits   []simWait
	// submitted are the turns in order; shown what the view had, by item id.
	submitted []string
	shown     map[string]string
}

type simRequest struct {
	id     int
	action action
	until  int64
}

type simWait struct {
	at int64
	in due
}

// message is one from the server: an event, or an answer.
type message struct {
	env     protocol.Envelope
	in      input
	answers int
}

func newWorld(seed uint64) *world {
	w := &world{seed: seed, kind: kinds[seed%uint64(len(kinds))], r: rand.New(rand.NewPCG(seed, 77)), now: 1_800_000_000_000, admitted: map[string]int{}, open: map[string]bool{}}
	w.host = newHost(w, nil, reducer.Folded{}, 0)
	for i := range 1 + w.r.IntN(3) {
		w.clients = append(w.clients, &simClient{w: w, name: fmt.Sprint("c", i), core: newCore("s"), pending: map[int]simRequest{}, shown: map[string]string{}})
	}
	return w
}

func (w *world) fail(format string, args ...any) {
	if w.broken == nil {
		w.broken = fmt.Errorf(format, args...)
	}
}

func (w *world) later(do func(), h *host) { w.tasks = append(w.tasks, task{h, do}) }

func (w *world) begun(turn string) {
	w.admitted[turn]++
	w.open[turn] = true
	w.order = append(w.order, turn)
}

func (w *world) over(turn string) { delete(w.open, turn) }

// refusal is a fault of the server's own, now and then.
func (w *world) refusal() protocol.Code {
	if w.healing || w.r.IntN(12) > 0 {
		return 0
	}
	codes := []protocol.Code{protocol.CodeInternalError, protocol.CodeOverloaded, protocol.CodeShuttingDown, protocol.CodeSessionClosing, protocol.CodeInvalidRequest}
	return codes[w.r.IntN(len(codes))]
}

// do lets one thing happen.
func (w *world) do() {
	c := w.clients[w.r.IntN(len(w.clients))]
	switch n := w.r.IntN(100); {
	case n < 8:
		c.submit()
	case n < 30:
		c.toHost(w.r.IntN(20) == 0 && w.kind.drops)
	case n < 60:
		c.fromHost(w.r.IntN(20) == 0 && w.kind.drops)
	case n < 78:
		w.host.speak(w.r)
	case n < 86:
		w.task()
	case n < 91:
		w.pass(int64(w.r.IntN(2000)))
	case n < 94:
		c.cut()
	case n < 98:
		c.connect()
	case n < 99 && !w.kind.lossy:
		w.kill()
	}
}

// task does one of what hosts have yet to do; what a dead one had is gone with it.
func (w *world) task() {
	if len(w.tasks) == 0 {
		return
	}
	t := w.tasks[0]
	w.tasks = w.tasks[1:]
	if t.of == w.host {
		t.do()
	}
}

// kill ends the host at once. Its log is there for the next one, or is not.
func (w *world) kill() {
	for _, c := range w.clients {
		c.cut()
	}
	old := w.host
	if w.kind.durable {
		w.host = newHost(w, old.log, old.fold, old.turns)
		return
	}
	clear(w.open)
	w.host = newHost(w, nil, reducer.Folded{}, 0)
}

// pass lets time pass, and what is due happen.
func (w *world) pass(ms int64) {
	w.now += ms
	for id, ok := w.host.rung(); ok; id, ok = w.host.rung() {
		delete(w.host.timers, id)
		w.host.step(session.Deadline{Timer: id})
	}
	for _, c := range w.clients {
		c.due()
	}
}

// connect links a client to the host.
func (c *simClient) connect() {
	if c.host != nil {
		return
	}
	h := c.w.host
	in := connected{base: c.w.kind.base, subscribe: !c.w.kind.base, snapshot: !c.w.kind.base}
	if c.last != nil && c.last.log != h.log {
		in.lost = &HostLostError{InstanceID: fmt.Sprint(c.last.instance), NewInstanceID: fmt.Sprint(h.instance)}
	}
	c.host, c.last = h, h
	c.epoch++
	c.step(in)
}

// cut ends the link, with everything that was on its way.
func (c *simClient) cut() {
	if c.host == nil {
		return
	}
	c.host, c.toServer, c.toClient, c.waits = nil, nil, nil, nil
	c.epoch++
	clear(c.pending)
	c.step(disconnected{})
}

// send puts a message on the link, if it is one to that host.
func (c *simClient) send(h *host, m message) {
	if c.host == h {
		c.toClient = append(c.toClient, m)
	}
}

// toHost delivers one request, or loses it.
func (c *simClient) toHost(lose bool) {
	if len(c.toServer) == 0 {
		return
	}
	req := c.toServer[0]
	c.toServer = c.toServer[1:]
	if !lose || c.w.healing {
		c.w.host.serve(c, req)
	}
}

// fromHost delivers one message, or loses it.
func (c *simClient) fromHost(lose bool) {
	if len(c.toClient) == 0 {
		return
	}
	m := c.toClient[0]
	c.toClient = c.toClient[1:]
	_, waited := c.pending[m.answers]
	_, marker := m.in.(synced)
	switch {
	case lose && !c.w.healing:
	case m.in == nil:
		if p, ok := m.env.Event.(*protocol.MessagePart); ok && c.w.skips && p.OutputIndex > 0 {
			m.env.Event = &protocol.Raw{}
		}
		c.step(received{m.env})
	case marker:
		c.step(m.in)
	case waited:
		delete(c.pending, m.answers)
		c.step(m.in)
	}
}

// due ends waits, and gives up requests that were not answered.
func (c *simClient) due() {
	for i := 0; i < len(c.waits); i++ {
		if wt := c.waits[i]; wt.at <= c.w.now {
			c.waits = slices.Delete(c.waits, i, i+1)
			c.step(wt.in)
			i--
		}
	}
	var late []int
	for id, req := range c.pending {
		if req.until <= c.w.now {
			late = append(late, id)
		}
	}
	slices.Sort(late)
	for _, id := range late {
		req := c.pending[id]
		delete(c.pending, id)
		c.step(unanswered(req.action))
	}
}

// unanswered is what an action comes to whose answer never comes.
func unanswered(a action) input {
	err := errors.New("no answer in time")
	switch a := a.(type) {
	case start:
		return started{epoch: a.epoch, turn: *a.params.TurnID, err: err}
	case subscribe:
		return subscribed{epoch: a.epoch, err: err}
	case snapshot:
		return snapshotted{epoch: a.epoch, err: err}
	}
	return replayed{epoch: a.(replay).epoch, err: err}
}

// scripts are what prompts make the harness do.
var scripts = []string{"done", "open;delta ab;delta cd;close;done", "open;delta x;close;open;delta y;delta z;close;done", "open;delta q;crash", "crash"}

func (c *simClient) submit() {
	if len(c.submitted) >= 8 {
		return
	}
	turn := fmt.Sprintf("%s.%d", c.name, len(c.submitted))
	c.submitted = append(c.submitted, turn)
	p := protocol.TurnStartParams{SessionID: new("s"), TurnID: &turn, Input: protocol.TextInput(scripts[c.w.r.IntN(len(scripts))]),
		Config: protocol.RunConfig{Harness: protocol.HarnessClaudeCode, Cwd: "/"}}
	if c.w.r.IntN(8) == 0 {
		p.Config.Cwd = "" // which the server will never take
	}
	c.step(submitted{p})
}

// step tells the core, and puts what it wants on the link.
func (c *simClient) step(in input) {
	for _, a := range c.core.step(c.w.now, in) {
		if wt, ok := a.(wait); ok {
			c.waits = append(c.waits, simWait{c.w.now + wt.after, due{wt.epoch, wt.what}})
			continue
		}
		if c.host == nil {
			c.w.fail("%s asks for %T without a link", c.name, a)
			return
		}
		c.requests++
		req := simRequest{c.requests, a, c.w.now + 25_000}
		c.pending[req.id] = req
		c.toServer = append(c.toServer, req)
	}
	c.look()
}

// look judges what is shown: nothing doubles, and nothing that was shown vanishes but
// what its user was told of; what turns from intended to known changes in nothing.
func (c *simClient) look() {
	v := c.core.view()
	now := map[string]string{}
	for _, it := range v.Items {
		if _, twice := now[it.ID]; twice {
			c.w.fail("law 2: %s is shown %s twice", c.name, it.ID)
		}
		now[it.ID] = ""
		if m, ok := it.Entry.(*reducer.Message); ok && slices.Contains(c.submitted, m.TurnID) && m.Role == protocol.RoleUser {
			now[it.ID] = fmt.Sprint(m.TurnID, m.Role, m.OutputIndex, string(protocol.Encode(m.Parts)))
		}
	}
	for id, was := range c.shown {
		is, there := now[id]
		switch {
		case !there && !c.failed(strings.TrimPrefix(id, "echo-")):
			c.w.fail("%s was shown %s, which vanished", c.name, id)
		case there && is != was:
			c.w.fail("law 2: %s: %s changed from %s to %s", c.name, id, was, is)
		}
	}
	c.shown = now
}

func (c *simClient) failed(turn string) bool {
	return slices.ContainsFunc(c.core.failures, func(f Failure) bool { return f.TurnID == turn })
}

// heal ends all faults, links everybody anew and lets everything come to its end.
func (w *world) heal() {
	w.healing = true
	for _, c := range w.clients {
		c.cut()
		c.connect()
	}
	for round := 0; w.broken == nil; round++ {
		busy := len(w.tasks) > 0 || len(w.host.script) > 0
		for len(w.tasks) > 0 {
			w.task()
		}
		w.host.speak(w.r)
		for _, c := range w.clients {
			for len(c.toServer) > 0 {
				c.toHost(false)
			}
			for len(c.toClient) > 0 {
				c.fromHost(false)
			}
			busy = busy || !c.core.settled() || len(c.toServer) > 0
		}
		if !busy {
			return
		}
		w.pass(100)
		if round > 5000 {
			for _, c := range w.clients {
				w.fail("law 9: %s does not settle: phase %d, seq %d, outbox %v; the host is at %d, open there %v", c.name, c.core.phase, c.core.folded.Seq, c.core.view().Outbox, w.host.fold.Seq, w.open)
			}
		}
	}
}

// judge checks what must hold in the end.
func (w *world) judge() {
	want := string(w.host.fold.Conversation.AppendJSON(nil))
	for _, c := range w.clients {
		if got := string(c.core.folded.Conversation.AppendJSON(nil)); got != want {
			w.fail("law 5: %s holds\n\t%s\nthe server\n\t%s", c.name, got, want)
		}
		at := -1
		for _, turn := range c.submitted {
			switch n, failed := w.admitted[turn], c.failed(turn); {
			case n > 1:
				w.fail("law 1: %s was admitted %d times", turn, n)
			case n == 0 && !failed:
				w.fail("law 1: %s was neither admitted nor rejected", turn)
			case n == 1 && failed && w.kind.durable:
				w.fail("law 6: %s was admitted and is said to have failed", turn)
			case n == 1:
				i := slices.Index(w.order, turn)
				if i < at {
					w.fail("law 4: %s was admitted before one submitted earlier", turn)
				}
				at = i
			}
		}
	}
	if len(w.open) > 0 {
		w.fail("law 14: turns that never ended: %v", w.open)
	}
	if len(w.host.owed) > 0 {
		w.fail("law 15: %d requests were never answered", len(w.host.owed))
	}
}
