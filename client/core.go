package client

import (
	"agent-server/protocol"
	"agent-server/reducer"
)

// core is what one Engine decides: it is told what happened and says what is to be
// done, and knows no connection, clock or goroutine. Engine performs it; the
// simulation performs it too, with faults.
//
//	step
//	├─ what the link did          recovery.go: attach, subscribe, replay, retry
//	│  └─ fold: an envelope in its place, or held until its place is reached
//	├─ what the user wants        outbox.go: submit, send, await the echo
//	└─ pump: whatever is to be sent now
//
// Between steps: folded is the fold of every event up to its seq; the outbox holds
// exactly the turns whose echo is not whole in it, in order of submission; at most
// one of them is on its way.
type core struct {
	session string
	// now is the time of the step, epoch ms.
	now int64

	folded reducer.Folded
	// shelf are the entries of folded as they are shown; past those of hosts that
	// died.
	shelf shelf
	past  []*Item
	// outbox are the turns that were submitted and not echoed; failures those that
	// left it otherwise, and what was lost.
	outbox   []*entry
	failures []Failure

	// link is what serves, while up; epoch counts the links, so that an answer of
	// an earlier one is known.
	link  connected
	up    bool
	epoch int
	phase phase
	// forced: the log was asked for a snapshot, whatever the cursor.
	forced bool
	// ready: the log's head was reached once on any link.
	ready bool
	// ahead are envelopes beyond a hole, by seq; live is the last seq that came
	// unasked on this link.
	ahead map[int64]protocol.Envelope
	live  int64
	// recoveries and sends count the tries in a row that failed.
	recoveries, sends int

	out []action
}

// phase is how far the fold is on this link.
type phase int

const (
	// down: there is no link.
	down phase = iota
	// asking: the log was asked; following: it has answered, and what it sends is
	// not there yet; waiting: it could not be asked, and is asked again later.
	asking
	following
	waiting
	// current: the head that the log named was reached.
	current
)

// maxAhead bounds what is held beyond a hole; the recovery brings it again.
const maxAhead = 4096

// input is what can happen to a core: a sealed union.
type input interface{ isInput() }

type (
	// connected: there is a link. lost: to another host than before, without its
	// logs; subscribe, snapshot: these methods are served; base: the server has
	// no additions.
	connected struct {
		subscribe, snapshot, base bool
		lost                      *HostLostError
	}
	// disconnected: there is none any more.
	disconnected struct{}
	// received is an event that came unasked, or after a subscribe.
	received struct{ env protocol.Envelope }
	// synced, lagged are the notifications of a subscription.
	synced struct{ seq int64 }
	lagged struct{}
	// subscribed, replayed, snapshotted and started answer what was asked; epoch is
	// the link's.
	subscribed struct {
		epoch  int
		result protocol.SessionSubscribeResult
		err    error
	}
	replayed struct {
		epoch int
		page  page
		err   error
	}
	snapshotted struct {
		epoch  int
		result protocol.SessionSnapshotResult
		err    error
	}
	started struct {
		epoch int
		turn  string
		err   error
	}
	// submitted: the user wants a turn.
	submitted struct{ params protocol.TurnStartParams }
	// due: a wait is over.
	due struct {
		epoch int
		what  errand
	}
)

func (connected) isInput()    {}
func (disconnected) isInput() {}
func (received) isInput()     {}
func (synced) isInput()       {}
func (lagged) isInput()       {}
func (subscribed) isInput()   {}
func (replayed) isInput()     {}
func (snapshotted) isInput()  {}
func (started) isInput()      {}
func (submitted) isInput()    {}
func (due) isInput()          {}

// errand is what is waited for.
type errand int

const (
	recoverAgain errand = iota
	sendAgain
)

// action is what must be done: a sealed union. All but wait are requests on the link
// of an epoch, answered by an input.
type action interface{ isAction() }

type (
	subscribe struct {
		epoch  int
		params protocol.SessionSubscribeParams
	}
	replay struct {
		epoch int
		from  int64
	}
	snapshot struct{ epoch int }
	start    struct {
		epoch  int
		params protocol.TurnStartParams
	}
	wait struct {
		epoch int
		what  errand
		// after is in ms.
		after int64
	}
)

func (subscribe) isAction() {}
func (replay) isAction()    {}
func (snapshot) isAction()  {}
func (start) isAction()     {}
func (wait) isAction()      {}

// newCore makes the engine of a session of which nothing is known yet.
func newCore(session string) *core {
	return &core{session: session, ahead: map[int64]protocol.Envelope{}}
}

// step is the one door. now is in epoch ms.
func (c *core) step(now int64, in input) []action {
	c.now, c.out = now, nil
	switch in := in.(type) {
	case connected:
		c.connect(in)
	case disconnected:
		c.disconnect()
	case received:
		c.receive(in.env)
	case synced:
		c.sync(in.seq)
	case lagged:
		c.lag()
	case subscribed:
		c.subscribed(in)
	case replayed:
		c.replayed(in)
	case snapshotted:
		c.snapshotted(in)
	case started:
		c.started(in)
	case submitted:
		c.submit(in.params)
	case due:
		c.due(in)
	}
	c.pump()
	return c.out
}

// do adds an action.
func (c *core) do(a action) { c.out = append(c.out, a) }

// due ends a wait of this link.
func (c *core) due(in due) {
	switch {
	case !c.up || in.epoch != c.epoch:
	case in.what == recoverAgain && c.phase == waiting:
		c.recover(protocol.SnapshotAuto)
	case in.what == sendAgain:
		c.release(func(e *entry) bool { return e.standing == resting || e.standing == blocked && !c.knows(e.behind) })
	}
}

// retryIn is the wait before the next try, in ms, after so many in a row that
// failed.
func retryIn(failed int) int64 { return min(int64(250)<<min(failed, 6), 15_000) }
