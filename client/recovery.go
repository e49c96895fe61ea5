package client

import (
	"errors"

	"agent-server/protocol"
	"agent-server/reducer"
)

// connect takes up a link, on which everything begins with a recovery, a hole or
// none.
func (c *core) connect(in connected) {
	c.epoch++
	c.up, c.link, c.live = true, in, 0
	c.recoveries, c.sends = 0, 0
	clear(c.ahead)
	if in.lost != nil {
		c.loseHost(in.lost)
	}
	c.recover(protocol.SnapshotAuto)
}

// disconnect forgets what was on its way: its fate is unknown, and what was
// acknowledged is not echoed yet, so it is asked for again.
func (c *core) disconnect() {
	c.up, c.phase = false, down
	c.release(func(*entry) bool { return true })
}

// recover asks the log for what is missing: by the cursor first, by a snapshot where
// that cannot be served, or mode says so.
func (c *core) recover(mode protocol.SnapshotMode) {
	c.phase, c.forced = asking, mode == protocol.SnapshotAlways
	switch p := (protocol.SessionSubscribeParams{SessionID: c.session}); {
	case c.link.subscribe && mode == protocol.SnapshotAlways:
		p.Snapshot = mode
		c.do(subscribe{c.epoch, p})
	case c.link.subscribe:
		if c.folded.Seq > 0 {
			p.AfterSeq = new(c.folded.Seq)
		}
		c.do(subscribe{c.epoch, p})
	case c.link.snapshot && mode == protocol.SnapshotAlways:
		c.do(snapshot{c.epoch})
	default:
		c.do(replay{c.epoch, c.folded.Seq + 1})
	}
}

// lag asks anew for what the server has stopped sending.
func (c *core) lag() {
	if c.up {
		c.recover(protocol.SnapshotAuto)
	}
}

// again tries the recovery once more, later: until the server is back.
func (c *core) again() {
	c.phase = waiting
	c.do(wait{c.epoch, recoverAgain, retryIn(c.recoveries)})
	c.recoveries++
}

// subscribed takes the answer of a subscribe; what follows the cursor comes as
// events.
func (c *core) subscribed(in subscribed) {
	switch {
	case in.epoch != c.epoch || c.phase != asking:
		return
	case in.err != nil:
		c.unserved(in.err)
		return
	case in.result.Mode == protocol.SubscribedSnapshot && !c.take(in.result.Seq, in.result.State):
		c.again()
		return
	}
	c.phase = following
}

// snapshotted takes the answer of a snapshot, behind which the log is asked on.
func (c *core) snapshotted(in snapshotted) {
	switch {
	case in.epoch != c.epoch || c.phase != asking:
	case in.err != nil:
		c.unserved(in.err)
	case !c.take(in.result.Seq, in.result.State):
		c.again()
	default:
		c.do(replay{c.epoch, c.folded.Seq + 1})
	}
}

// unserved is a recovery that was refused. A session that the server does not know
// has no events to wait for: it has not begun, or it is gone.
func (c *core) unserved(err error) {
	var wire *protocol.Error
	switch known := errors.As(err, &wire); {
	case known && wire.Code == protocol.CodeSeqUnavailable && !c.forced:
		c.recover(protocol.SnapshotAlways)
		return
	case !known || wire.Code != protocol.CodeUnknownSession:
		c.again()
		return
	}
	if c.folded.Seq > 0 {
		c.report(Failure{Err: &GapError{SessionID: c.session, AfterSeq: c.folded.Seq, Cause: err}})
	}
	c.reached()
}

// take loads a snapshot, unless the fold is newer: a stale one never moves it back.
// false: it cannot be read.
func (c *core) take(seq int64, state []byte) bool {
	conv, err := reducer.Load(state)
	if err != nil {
		c.report(Failure{Err: &UnreadableError{What: "a snapshot of session " + c.session, Cause: err}})
		return false
	}
	was := c.folded.Seq
	c.folded = reducer.Join(c.folded, reducer.Folded{Conversation: conv, Seq: seq})
	if c.folded.Seq != was {
		c.shelf.reload(c.folded.Conversation)
		c.settleOutbox()
		c.drain()
	}
	return true
}

// sync is the marker of a subscription: the head of its moment was passed. Where the
// fold is not there something was lost on the way, and only a snapshot is sure to
// have it.
func (c *core) sync(seq int64) {
	if c.phase != following {
		return
	}
	if c.folded.Seq < seq {
		c.recover(protocol.SnapshotAlways)
		return
	}
	c.reached()
}

// reached is the end of a recovery. What stands beyond a hole even now shows the
// next one.
func (c *core) reached() {
	c.phase, c.ready, c.recoveries = current, true, 0
	c.drain()
	if len(c.ahead) > 0 {
		c.recover(protocol.SnapshotAuto)
		return
	}
	c.release(func(e *entry) bool { return e.standing == admitted || e.standing == blocked && !c.runs(e.behind) })
}

// replayed takes a page of a base server's log, which is all it has.
func (c *core) replayed(in replayed) {
	if in.epoch != c.epoch || c.phase != asking {
		return
	}
	if in.err != nil {
		c.unserved(in.err)
		return
	}
	p := in.page
	switch last := c.folded.Seq; {
	case c.link.base && p.latest > 0 && p.latest < last:
		// It has dropped the log and begun the numbers anew.
		c.report(Failure{Err: &GapError{SessionID: c.session, AfterSeq: last, FirstAvailableSeq: p.first}})
		c.anew()
		c.recover(protocol.SnapshotAuto)
		return
	case len(p.events) > 0 && p.events[0].env.Seq > last+1:
		if c.link.snapshot {
			c.recover(protocol.SnapshotAlways)
			return
		}
		c.pass(p.events[0].env.Seq-1, p.first)
	}
	for _, a := range p.events {
		c.fold(a.env)
	}
	if p.next > c.folded.Seq {
		c.do(replay{c.epoch, p.next})
		return
	}
	if first := c.first(); len(p.events) == 0 && first > c.folded.Seq+1 {
		c.pass(first-1, p.first) // the log does not give what it was asked for, and will not
	}
	c.reached()
}

// pass goes on behind a hole that nothing can fill, and says so.
func (c *core) pass(to, first int64) {
	c.report(Failure{Err: &GapError{SessionID: c.session, AfterSeq: c.folded.Seq, FirstAvailableSeq: first}})
	c.folded.Seq = to
}

// receive takes an event that was sent: whatever it is, the fold stays a fold of all
// events up to its seq.
func (c *core) receive(env protocol.Envelope) {
	if !c.up || env.SessionID != c.session {
		return
	}
	back := env.Seq == 1 && c.live > 1
	c.live = env.Seq
	if back && c.link.base && c.folded.Seq > 1 {
		c.anew()
	}
	if c.fold(env) {
		return
	}
	if len(c.ahead) < maxAhead {
		c.ahead[env.Seq] = env
	}
	if c.phase == current {
		c.recover(protocol.SnapshotAuto)
	}
}

// fold folds an envelope that is next, and those behind it that wait; false: it is
// not next. One that was folded before changes nothing.
func (c *core) fold(env protocol.Envelope) bool {
	last := c.folded.Seq
	if env.Seq <= last {
		return true
	}
	if next := env.Seq == last+1 || env.PrevSeq != nil && *env.PrevSeq <= last; !next {
		return false
	}
	c.apply(env)
	c.drain()
	return true
}

// drain folds what was held and is next by now.
func (c *core) drain() {
	for {
		for seq := range c.ahead {
			if seq <= c.folded.Seq {
				delete(c.ahead, seq)
			}
		}
		first := c.first()
		env, ok := c.ahead[first]
		if !ok || env.Seq != c.folded.Seq+1 && (env.PrevSeq == nil || *env.PrevSeq > c.folded.Seq) {
			return
		}
		delete(c.ahead, first)
		c.apply(env)
	}
}

// first is the lowest seq that is held; 0: none.
func (c *core) first() (low int64) {
	for seq := range c.ahead {
		if low == 0 || seq < low {
			low = seq
		}
	}
	return low
}

// apply folds one event, and in the same step takes out of the outbox what it
// echoes.
func (c *core) apply(env protocol.Envelope) {
	var changes []reducer.Change
	c.folded, changes = reducer.FoldEnvelope(c.folded, env)
	c.shelf.changed(c.folded.Conversation, changes)
	c.heed(env.Event)
}

// anew puts a life of the session away whose numbers are used again.
func (c *core) anew() {
	c.past = append(c.past, c.shelf.all(c.folded.Conversation)...)
	c.folded, c.shelf = reducer.Folded{}, shelf{}
}

// loseHost puts away what a dead host's sessions were. What was open there is shown
// as ended in a way that nobody knows, and what was to be sent there is not sent to
// another.
func (c *core) loseHost(lost *HostLostError) {
	for _, it := range c.items() {
		if t, ok := c.folded.Conversation.Turn(it.Turn); it.Standing == Intended || ok && t.Status == reducer.TurnActive {
			gone := *it
			gone.Standing = Lost
			it = &gone
		}
		c.past = append(c.past, it)
	}
	for _, e := range c.outbox {
		c.report(Failure{TurnID: e.turn(), Input: e.params.Input, Err: lost})
	}
	c.outbox = nil
	c.folded, c.shelf = reducer.Folded{}, shelf{}
}
