package gateway

import (
	"context"
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
	head atomic.Int64
	// published counts the bytes that became visible, so that a cursor knows its
	// lag in bytes.
	published atomic.Int64
	cursors   cursors

	// mu guards everything below. step takes it.
	mu         sync.Mutex
	machine    *session.Machine
	reg        *Registration
	encoder    encoder
	next       int64
	admissions []session.Admission
	children   []*child
	waiting    *pendingSpawn
	timers     map[session.TimerID]*time.Timer
	queue      []session.Input
	// over is closed when the machine has ended; a new machine brings a new one.
	over chan struct{}
	// gone is set when the gateway has forgotten this object: obtain another.
	gone bool
}

func newSession(g *Gateway, id string, info eventlog.Info) *Session {
	s := &Session{gw: g, id: id, next: info.NextSeq, encoder: newEncoder(id), timers: map[session.TimerID]*time.Timer{}}
	s.head.Store(info.NextSeq - 1)
	for _, a := range info.Admissions {
		s.admissions = append(s.admissions, session.Admission(a))
	}
	return s
}

// step is the only door to the machine. It gives false where there is none to
// take the input: the session is closed, or was never started.
func (s *Session) step(in session.Input) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine == nil {
		return false
	}
	s.run(in)
	return true
}

// run feeds an input, and then what performing it has brought about.
func (s *Session) run(in session.Input) {
	s.queue = append(s.queue, in)
	s.drain()
}

// drain feeds what is queued, in order.
func (s *Session) drain() {
	for len(s.queue) > 0 && s.machine != nil {
		in := s.queue[0]
		s.queue = s.queue[1:]
		now := time.Now().UnixMilli()
		out := s.machine.Step(now, in)
		if s.gw.o.Observer != nil {
			s.gw.o.Observer.Stepped(s.id, now, in, out)
		}
		s.perform(out)
	}
	s.queue = s.queue[:0]
}

// start feeds a StartTurn, to a new machine where there is none. It gives false
// where the gateway has forgotten this object meanwhile.
func (s *Session) start(reg *Registration, in session.StartTurn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return false
	}
	if s.machine == nil {
		s.open(reg)
	}
	s.run(in)
	s.forgetIfEmpty()
	return true
}

// open makes a machine. The log's seq and admissions go on.
func (s *Session) open(reg *Registration) {
	o := session.Options{SessionID: s.id, Harness: reg.Harness, Seed: s.gw.o.Seed(), NextSeq: s.next,
		HashKey: s.gw.hashKey, Admissions: s.admissions, MaxPermissionMode: s.gw.o.MaxPermissionMode,
		IdleTimeout: s.gw.o.IdleTimeout.Milliseconds()}
	s.reg, s.machine, s.over = reg, session.New(o), make(chan struct{})
	if s.gw.o.Observer != nil {
		s.gw.o.Observer.Opened(o)
	}
}

// forgetIfEmpty drops a session whose first turn was refused: to a client it was
// never seen.
func (s *Session) forgetIfEmpty() {
	if s.next > 1 || s.machine == nil {
		return
	}
	s.letGo()
	s.gone = true
	s.gw.forget(s)
}

// perform does what a step asks for, in the order that Output documents.
func (s *Session) perform(out session.Output) {
	records := s.encoder.records(out.Events)
	if err := s.append(out, records); err != nil {
		s.poison(out, err)
		return
	}
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
	if out.Ended {
		s.letGo()
	}
}

// append makes a step durable. A step that says nothing appends nothing.
func (s *Session) append(out session.Output, records []eventlog.Record) error {
	if len(records) == 0 && out.Admit == nil {
		return nil
	}
	b := eventlog.Batch{Records: records, Running: s.encoder.running}
	if out.Admit != nil {
		b.Admission = (*eventlog.Admission)(out.Admit)
	}
	if err := s.gw.log.Append(s.id, b); err != nil {
		return err
	}
	s.next += int64(len(records))
	if out.Admit != nil {
		s.admissions = append(s.admissions, *out.Admit)
	}
	return nil
}

// publish moves the head: everyone connected may now read up to it.
func (s *Session) publish(records []eventlog.Record) {
	if len(records) == 0 {
		return
	}
	n := 0
	for i := range records {
		n += len(records[i].Line)
	}
	s.published.Add(int64(n))
	s.head.Store(records[len(records)-1].Seq)
	s.cursors.wake()
}

// poison ends a session whose log cannot be written: nothing of the step has
// happened, every open request is told, the harness is stopped.
func (s *Session) poison(out session.Output, err error) {
	s.gw.zap.Error("session log cannot be written", zap.String("session", s.id), zap.Error(err))
	s.letGo()
	for _, c := range s.children {
		c.stop(true)
	}
	s.gw.refuseAll(s.id, protocol.ErrInternal("the log of session "+s.id+" cannot be written"))
}

// letGo parts with the machine; its process, if any, is being stopped.
func (s *Session) letGo() {
	if s.machine == nil {
		return
	}
	s.machine, s.reg, s.waiting = nil, nil, nil
	s.setTimers(s.stopAll())
	close(s.over)
}

func (s *Session) remark(out session.Output) {
	for _, d := range out.Diagnostics {
		s.gw.zap.Info(d.Message, zap.String("session", s.id), zap.String("detail", d.Detail))
	}
}

// bound gives the registration the session is bound to; nil: it has no machine.
func (s *Session) bound() *Registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reg
}

// ended says whether the machine and every process are gone.
func (s *Session) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine == nil && len(s.children) == 0
}

// wait waits for the machine's end and for its processes', or for ctx.
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

// release ends whatever a shutdown has left, and waits for it.
func (s *Session) release() {
	s.mu.Lock()
	s.letGo()
	s.mu.Unlock()
	for _, c := range s.living() {
		c.stop(true)
		<-c.gone
	}
}

func (s *Session) living() []*child {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*child(nil), s.children...)
}
