package gateway

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/protocol"
	"agent-server/session"
)

// Session is one session's owner: the lock around its machine, and the one place
// where what the machine decides is performed. It outlives the machine: after
// session/close the log goes on under the same id.
type Session struct {
	gw *Gateway
	id string

	// head is the last visible seq; what lies above it is stored, not yet shown.
	// Writers read it without the lock.
	head atomic.Int64
	// published counts the bytes that became visible, so that a cursor knows its
	// lag in bytes.
	published atomic.Int64
	cursors   cursors
	// ran is what runs it, or ran it last in this process; busy: a turn runs.
	ran  atomic.Pointer[Registration]
	busy atomic.Bool
	kept kept

	// mu guards everything below. step, ask, start and a child's sink take it.
	mu sync.Mutex
	// machine decides; nil between lives. reg is the harness it is bound to.
	machine *session.Machine
	reg     *Registration
	encoder encoder
	// next is the seq of the next event; state is what the log was told with the last
	// one.
	next  int64
	state eventlog.State
	// children are the live processes: one, or one on its way out with waiting
	// behind it.
	children []*child
	waiting  *pendingSpawn
	timers   map[session.TimerID]*alarm
	// queue is what performing a step has brought about; it is fed before
	// anything else is.
	queue []session.Input
	// over is closed when the machine has ended; a new machine brings a new one.
	over chan struct{}
	// ranAs is the id of the harness it was bound to last; "": none yet. pending is how many of
	// its permission requests are counted as open.
	ranAs   protocol.HarnessID
	pending int
	// alone: the machine was told that nobody is there.
	alone bool
	// turn is the turn that lines of the log belong to now; "": none.
	turn string
	// cwd is the directory of the turn asked for last.
	cwd string
	// broken is set while the log has not taken what was to be said; mender is the
	// next try's alarm. See mend.
	broken bool
	mender *alarm
	// released is set when the gateway closes: nothing is set to ring any more.
	released bool
	// gone is set when the gateway has forgotten this object: obtain another.
	gone bool
}

// newSession is the owner of a session of which the log knows this; it has no machine
// until a turn is started.
func newSession(g *Gateway, id string, info eventlog.Info) *Session {
	s := &Session{gw: g, id: id, next: info.NextSeq, state: info.State, ranAs: protocol.HarnessID(info.Facts.Harness),
		encoder: newEncoder(id), timers: map[session.TimerID]*alarm{}}
	s.head.Store(info.NextSeq - 1)
	return s
}

// door says what became of an input.
type door int

const (
	// absent: there is no machine; the session is closed, or was never started.
	absent door = iota
	// taken: the machine has it.
	taken
	// barred: the session's log takes nothing; see poison.
	barred
	// crowded: there are as many sessions as there may be.
	crowded
)

// step gives the machine an input that nobody waits for.
func (s *Session) step(in session.Input) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine != nil {
		s.run(in)
	}
}

// ask gives the machine a request. Where it is not taken, nothing has answered
// the request's token. One whose token was answered on its way here is over: what
// the client was told has failed must not happen after all.
func (s *Session) ask(token session.Token, in session.Input) door {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gw.tokens.isOpen(token) {
		return taken
	}
	if !s.usable() {
		return barred
	}
	if s.machine == nil {
		return absent
	}
	s.run(in)
	return taken
}

// start gives a StartTurn, to a new machine where there is none. moved is true
// where the gateway has forgotten this object meanwhile. Binding a harness and
// feeding the turn are one act under the lock: of two first turns on different
// harnesses the second meets a session that is bound.
func (s *Session) start(reg *Registration, in session.StartTurn) (d door, moved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return absent, true
	}
	if !s.gw.tokens.isOpen(in.Token) {
		return taken, false // as for ask
	}
	fresh := s.machine == nil
	if !s.usable() {
		return barred, false
	}
	if fresh {
		if d := s.open(reg); d != taken {
			return d, false
		}
	}
	full, closed := s.overBudget(), fresh && s.state == eventlog.StateClosed
	if !closed {
		in.Refusal = full
	}
	before := s.next
	s.run(in)
	switch begun := s.next != before; {
	case fresh && !begun && !s.broken:
		s.unopen()
	case full != nil && closed && begun:
		s.kept.shed()
	}
	return taken, false
}

// open makes a machine, if there is room for another. The log's seq and
// admissions go on.
func (s *Session) open(reg *Registration) door {
	info, err := s.gw.openLog(s.id)
	if err != nil {
		s.gw.zap.Error("session log cannot be opened", s.about(zap.Error(err))...)
		return barred
	}
	if s.gw.live.Add(1) > s.gw.o.MaxSessions {
		s.gw.live.Add(-1)
		s.unopen()
		return crowded
	}
	from := s.origin(info)
	if from.reg != nil {
		reg = from.reg // another one that was asked for is refused by the machine
	}
	o := s.gw.machineOptions()
	o.SessionID, o.Harness, o.NativeID, o.Rules, o.NextSeq = s.id, reg.Harness, from.native, from.rules, info.NextSeq
	for _, a := range info.Admissions {
		o.Admissions = append(o.Admissions, session.Admission(a))
	}
	s.next, s.state, s.ranAs = info.NextSeq, info.State, reg.Harness.Info().ID
	s.reg, s.machine, s.over, s.alone = reg, session.New(o), make(chan struct{}), false
	s.ran.Store(reg)
	if s.gw.o.Observer != nil {
		s.gw.o.Observer.Opened(o)
	}
	return taken
}

// unopen lets a machine go that has said nothing, its first turn being refused or
// a retry: it must not bind the session to a harness. Where nothing was ever said
// the session was never seen, and is forgotten.
func (s *Session) unopen() {
	s.letGo()
	if s.next == 1 {
		s.gone = true
		s.gw.forget(s)
	}
}

// run feeds an input, and then what performing it has brought about.
func (s *Session) run(in session.Input) {
	s.queue = append(s.queue, in)
	s.drain()
}

// drain feeds what is queued, in order. A fault in it (a translator that
// panics, for instance) costs this session its process, and no other anything.
func (s *Session) drain() {
	defer s.caught()
	// A step may end the machine: what was queued for it then concerns nobody.
	for len(s.queue) > 0 && s.machine != nil {
		s.greet()
		in := s.queue[0]
		s.queue = s.queue[1:]
		s.hear(in)
		s.mind()
		now := time.Now().UnixMilli()
		out := s.machine.Step(now, in)
		if s.gw.o.Observer != nil {
			s.gw.o.Observer.Stepped(s.id, now, in, out)
		}
		s.mind()
		s.perform(out)
		s.nameNative()
		s.countPending()
	}
	s.queue = s.queue[:0]
	s.unmind()
}

// caught gives up a session in which something has panicked; deferred.
func (s *Session) caught() {
	if fault := recover(); fault != nil {
		s.gw.zap.Error("a session panicked", s.about(kindOfFault(fault), zap.Stack("stack"))...)
		s.poison("internal error in session " + s.id)
	}
}

// perform does what a step asks for, in the order that Output documents. Nothing
// of it happens before its records are stored: an effect that a crash could leave
// without its cause would be a lie.
func (s *Session) perform(out session.Output) {
	records := s.encoder.records(out.Events)
	if err := s.append(out.Admit, s.going(), records); err != nil {
		s.gw.zap.Error("session log cannot be written", s.about(zap.Error(err))...)
		s.poison(logFault(s.id))
		return
	}
	s.gw.metrics.observe(s.ranAs, out.Events)
	for _, a := range out.Acks {
		s.gw.answer(a, s.id, a.Barrier)
	}
	s.publish(records)
	barrier := int64(0)
	if len(records) > 0 {
		barrier = s.next - 1
	}
	for _, r := range out.Replies {
		s.gw.answer(r, s.id, barrier)
	}
	s.drive(out)
	s.setTimers(out.Timers)
	s.remark(out)
	if out.Ended { // its process was told to stop above, and is waited for by spawnIfFree
		s.letGo()
	}
}

// append makes a step durable, admission and events together or neither. A step
// that says nothing appends nothing.
func (s *Session) append(admit *session.Admission, state eventlog.State, records []eventlog.Record) error {
	if len(records) == 0 && admit == nil {
		return nil
	}
	b := eventlog.Batch{Admission: (*eventlog.Admission)(admit), Facts: s.facts(admit), State: state, Records: records, Running: s.encoder.running,
		Unread: s.unread, Restated: s.restated(), Beside: s.kept.bytes()}
	began := time.Now()
	if err := s.gw.log.Append(s.id, b); err != nil {
		return err
	}
	s.gw.metrics.appended(len(records), size(records), began)
	s.next, s.state = s.next+int64(len(records)), state
	return nil
}

// size is how many bytes of lines records hold.
func size(records []eventlog.Record) (n int) {
	for i := range records {
		n += len(records[i].Line)
	}
	return n
}

// publish moves the head: everyone connected may now read up to it. The bytes are
// counted first, so that a lag is never found too small.
func (s *Session) publish(records []eventlog.Record) {
	if len(records) == 0 {
		return
	}
	s.busy.Store(s.encoder.running != 0)
	s.published.Add(int64(size(records)))
	s.head.Store(records[len(records)-1].Seq)
	s.cursors.wake()
	s.settleFold()
}

// letGo parts with the machine, which has ended or is given up; its process, if
// any, is being stopped, and speaks to nobody from here on.
func (s *Session) letGo() {
	if s.machine == nil {
		return
	}
	s.machine, s.reg, s.waiting = nil, nil, nil
	s.countPending()
	s.gw.live.Add(-1)
	s.stopTimers()
	close(s.over)
	s.letLogGo()
}

// remark logs what a machine or a translator found worth a remark.
func (s *Session) remark(out session.Output) {
	for _, d := range out.Diagnostics {
		s.gw.zap.Info(d.Message, s.about(zap.String("detail", d.Detail))...)
	}
}

// bound gives the registration the session is bound to; nil: it is not open, or its
// harness is not here any more.
func (s *Session) bound() *Registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dormant() {
		return s.gw.registry.find(s.ranAs)
	}
	return s.reg
}

// ended says whether the machine and every process are gone.
func (s *Session) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine == nil && len(s.children) == 0
}

// wait waits for the machine's end and for its processes', or for ctx. No new
// machine comes meanwhile: a gateway that waits admits no turn.
func (s *Session) wait(ctx context.Context) {
	s.mu.Lock()
	over := s.over
	if s.machine == nil {
		over = nil
	}
	s.mu.Unlock()
	if over != nil {
		select {
		case <-over:
		case <-ctx.Done():
			return
		}
	}
	for _, c := range s.living() {
		select {
		case <-c.gone:
		case <-ctx.Done():
			return
		}
	}
}

// release ends whatever a shutdown has left, by force, and waits for it, as long as
// ctx lasts.
func (s *Session) release(ctx context.Context) error {
	s.mu.Lock()
	s.letGo()
	for _, c := range s.children {
		c.stop(true)
	}
	s.mender.stop(s.gw)
	s.mender, s.released = nil, true
	s.mu.Unlock()
	for _, c := range s.living() {
		select {
		case <-c.gone:
		case <-ctx.Done():
			return fmt.Errorf("ending the harness of session %s: %w", s.id, ctx.Err())
		}
	}
	return nil
}

// living lists the processes of this moment.
func (s *Session) living() []*child {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*child(nil), s.children...)
}

// logFault is the text of a request's -32603 where the log is at fault.
func logFault(session string) string { return "the log of session " + session + " cannot be written" }

// refusal is what a barred request is answered with.
func refusal(session string) *protocol.Error { return protocol.ErrInternal(logFault(session)) }
