package gateway

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"agent-server/client"
	"agent-server/protocol"
	"agent-server/verify"
)

// accept notes that a client was told that its answer to a request was the first.
func (w *simWorld) accept(request string) {
	w.mu.Lock()
	w.accepted[request]++
	again := w.accepted[request] > 1
	w.mu.Unlock()
	if again {
		w.fail("law 33: two answers to request %s were the first", request)
	}
}

// heal ends all faults, links everybody anew and lets everything come to its end.
func (w *simWorld) heal() {
	w.healing = true
	w.log.failing.Store(false)
	for _, c := range w.clients {
		c.cut()
	}
	w.settle()
	for round := 0; !w.failed(); round++ {
		if busy := w.drain(); !busy && w.calm() {
			return
		}
		w.help(round)
		time.Sleep(time.Duration(100+10*round) * time.Millisecond)
		if round > 300 {
			w.complain()
			w.fail("law 9: something goes on for ever") // and nobody waits for it
		}
	}
}

// drain lets everything arrive and every process speak; it says whether any did.
func (w *simWorld) drain() (busy bool) {
	for moved := true; moved && !w.failed(); busy = busy || moved {
		w.settle()
		moved = false
		for _, c := range w.clients {
			moved = c.link.ended() && c.connect() || moved
			for c.carry(c.link.up, ">", 1) {
				moved = true
			}
			for c.carry(c.link.down, "<", 1) {
				moved = true
			}
			c.look()
		}
		w.settle()
		for _, a := range w.speaking() {
			moved = a.speak() || moved
			w.settle()
		}
	}
	return busy
}

// help answers what is asked, and after a while cancels what would go on for ever.
func (w *simWorld) help(round int) {
	for _, c := range w.clients {
		c.respond("allow")
		if round%8 == 7 && !c.settled() {
			c.cancel(w.chance(1_000_000 + round))
		}
	}
}

// calm says whether nothing is to be expected any more.
func (w *simWorld) calm() bool {
	return !slices.ContainsFunc(w.clients, func(c *simClient) bool { return !c.settled() || c.waits() })
}

// complain says who does not come to an end.
func (w *simWorld) complain() {
	for _, c := range w.clients {
		v := c.e.View()
		for _, k := range c.calls {
			if done, _ := k.answered(); !done {
				w.fail("law 15: %s was never answered: %s", c.name, k.what)
			}
		}
		if !c.settled() {
			w.fail("law 9: %s does not settle: connected %v, current %v, seq %d, outbox %v", c.name, v.Connected, v.Current, v.Seq, v.Outbox)
		}
	}
}

// judge checks what must hold once all have come to their end.
func (w *simWorld) judge() {
	for _, c := range w.clients {
		w.judgeState(c)
		w.judgeTurns(c)
		w.judgeCalls(c)
	}
	for request := range w.accepted {
		if !w.resolved[request] {
			w.fail("law 33: an answer to request %s was taken, and no log has it", request)
		}
	}
	if w.open != 0 && w.kind.durable {
		w.fail("law 14: %d turns never ended", w.open)
	}
}

// judgeState compares a client's fold with the gateway's.
func (w *simWorld) judgeState(c *simClient) {
	want, v := "null", c.e.View()
	if s := w.g.lookup(c.session); s != nil {
		f, err := s.fold(s.head.Load())
		if err != nil {
			w.fail("law 7: the gateway cannot fold session %s: %v", c.session, err)
			return
		}
		want = string(f.Conversation.AppendJSON(nil))
	}
	if got := string(v.Conversation.AppendJSON(nil)); want != "null" && got != want {
		w.fail("law 5: %s holds at %d what the gateway does not: %s", c.name, v.Seq, parting(got, want))
	}
}

// judgeTurns: each turn was admitted once, in order, or its user was told.
func (w *simWorld) judgeTurns(c *simClient) {
	at := -1
	for _, turn := range c.submitted {
		failed := c.failed(turn)
		switch n := w.admitted[turn]; {
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
	for _, f := range c.e.Failures() {
		var gap *client.GapError
		if errors.As(f.Err, &gap) && w.kind.durable {
			w.fail("law 99: %s has lost events: %v", c.name, gap)
		}
	}
}

// judgeCalls: each call has an answer, or an error that says what became of it.
func (w *simWorld) judgeCalls(c *simClient) {
	for _, k := range c.calls {
		_, err := k.answered()
		var wire *protocol.Error
		var fate *client.FateError
		var lost *client.HostLostError
		if err != nil && !errors.As(err, &wire) && !errors.As(err, &fate) && !errors.As(err, &lost) {
			w.fail("law 133: %s: %s came to %v", c.name, k.what, err)
		}
	}
}

// judgeLogs reads what the last gateway leaves.
func (w *simWorld) judgeLogs() {
	for _, s := range w.sessions {
		first, last, ok := w.log.Range(s)
		if !ok {
			continue
		}
		v := verify.New(verify.Options{})
		for at := first - 1; at < last; {
			records, err := w.log.Read(s, at, 1<<20)
			if err != nil || len(records) == 0 {
				w.fail("the log of %s gives nothing behind %d of %d: %v", s, at, last, err)
				return
			}
			for _, r := range records {
				env, err := protocol.DecodeEnvelope(r.Envelope())
				if err != nil {
					w.fail("the log of %s: %v", s, err)
					return
				}
				// Numbers that a log has let go are no fault of it.
				env.PrevSeq = new(at)
				at = r.Seq
				for _, f := range v.Add(env) {
					w.fail("law 32: in the log of %s at seq %d: %s: %s", s, r.Seq, f.Rule, f.Message)
				}
			}
		}
		for _, f := range v.Finish() {
			w.fail("law 32: at the end of the log of %s: %s: %s", s, f.Rule, f.Message)
		}
	}
}

// parting is where two texts begin to differ.
func parting(got, want string) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	from := max(at-60, 0)
	return fmt.Sprintf("…%s… for …%s…", got[from:min(at+120, len(got))], want[from:min(at+120, len(want))])
}
