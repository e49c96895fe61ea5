package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/harness/process"
	"agent-server/protocol"
	"agent-server/session"
)

// Gateway runs many sessions for many connections.
type Gateway struct {
	// What does not change once it is made.
	o        Options
	registry *registry
	methods  map[string]method
	log      eventlog.Log
	catalog  eventlog.Catalog
	zap      *zap.Logger
	instance string
	logID    string
	// hashKey keys the admissions' hashes: prompts and secrets can not be
	// guessed from what is kept of them.
	hashKey []byte

	// wg counts what the gateway has started: alarms that are set, the end that
	// is being waited for.
	wg     sync.WaitGroup
	tokens tokens
	// admitting is held while a turn is admitted: a shutdown, once it has had it
	// whole, sees every session that was let in before it. Only the goroutine that
	// tells the sessions waits for it.
	admitting sync.RWMutex
	// stopping is set, and halted closed, when a shutdown begins; told is closed
	// when every session has heard of it.
	stopping atomic.Bool
	halted   chan struct{}
	told     chan struct{}
	// ending guards until: how long running turns may go on, once stopping is set.
	ending sync.Mutex
	until  time.Time
	// telling is held while the sessions are told: the last word is the soonest end.
	telling  sync.Mutex
	toldOnce sync.Once

	// stat, inspectBound and inspecting are inspect's; replaying holds a place for
	// each replay under way; live counts the machines.
	stat         stat
	inspectBound time.Duration
	inspecting   chan struct{}
	replaying    chan struct{}
	// installed is what executables have said of themselves.
	installed *installed
	live      atomic.Int64
	// broken counts the sessions whose log takes nothing.
	broken  atomic.Int64
	metrics *metrics
	// run starts a harness's process: runChild, or what a simulation has in its place.
	run func(process.Spec, process.Sink) (running, error)
	// maxStdin bounds what a harness leaves unread; 0: the process package's default.
	maxStdin int64
	// spawnBound bounds a start, closeBound what Close waits for processes.
	spawnBound, closeBound time.Duration
	natives                natives
	// clientGrace is presence's.
	clientGrace time.Duration
	// done is closed when every session has ended, or its time is up.
	done chan struct{}

	// mu guards what follows. A session stays in the map when it is closed: its
	// log, its seq and its admissions outlive its machine.
	mu          sync.RWMutex
	sessions    map[string]*Session
	subscribers map[*Subscriber]struct{}
}

// New makes a gateway; Shutdown, then Close, ends it. An error is the operator's:
// a harness without an id, an id twice, a default that is none, a relative root.
func New(o Options) (*Gateway, error) {
	o = o.withDefaults()
	registry, err := newRegistry(o)
	if err != nil {
		return nil, err
	}
	if err := rootsAreAbsolute(o.WorkspaceRoots); err != nil {
		return nil, err
	}
	g := &Gateway{o: o, registry: registry, methods: methodTable(), log: o.Log, zap: o.Logger,
		done: make(chan struct{}), halted: make(chan struct{}), told: make(chan struct{}),
		stat: os.Stat, inspectBound: inspectBound, inspecting: make(chan struct{}, inspectors), replaying: make(chan struct{}, replays), installed: newInstalled(),
		run: runChild, spawnBound: spawnBound, closeBound: closeBound, clientGrace: clientGrace, sessions: map[string]*Session{}, subscribers: map[*Subscriber]struct{}{}}
	g.instance = g.mint()
	g.identify()
	g.metrics = newMetrics(o.Metrics, g)
	if err := g.recover(); err != nil {
		return nil, fmt.Errorf("recovering the sessions of the log: %w", err)
	}
	return g, nil
}

// identify takes from the log what lives as long as it does; one that says nothing of
// itself lives as long as we do.
func (g *Gateway) identify() {
	g.catalog = noCatalog{}
	if c, ok := g.log.(eventlog.Catalog); ok {
		g.catalog = c
	}
	if log, ok := g.log.(eventlog.Identity); ok {
		g.logID, g.hashKey = log.ID(), log.HashKey()
		return
	}
	g.logID, g.hashKey = eventlog.NewIdentity()
}

// durability is what initialize says of the log.
func (g *Gateway) durability() string {
	switch {
	case g.o.Durability != "":
		return g.o.Durability
	case g.durable():
		return "durable"
	}
	return "ephemeral"
}

// InstanceID is the UUIDv7 that initialize tells: one for each process.
func (g *Gateway) InstanceID() string { return g.instance }

// Done is closed when a shutdown, asked for by a client or by Shutdown, has
// ended every session.
func (g *Gateway) Done() <-chan struct{} { return g.done }

// Connect makes what one connection pulls from and calls. From now on it is sent
// every session's events: those that exist from their head, later ones from
// their first.
func (g *Gateway) Connect(o ConnectOptions) *Subscriber {
	sub := newSubscriber(g, o)
	// Under the one lock that new sessions are made under: each of them either is
	// seen here or sees this connection.
	g.mu.Lock()
	defer g.mu.Unlock()
	g.subscribers[sub] = struct{}{}
	for _, s := range g.sessions {
		s.subscribe(sub)
	}
	return sub
}

// disconnect takes a connection's cursors away; what it had asked for goes on, and
// is answered to nobody.
func (g *Gateway) disconnect(sub *Subscriber) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.subscribers, sub)
	for _, s := range g.sessions {
		s.unsubscribe(sub)
	}
}

// Shutdown ends every session: running turns may go on for drain, then they are
// cancelled; permissions are cancelled, harnesses stopped, session.ended said. It
// returns when all that has happened, or an error that names what is left when
// ctx ends or the bound has passed. A second call waits for the first.
func (g *Gateway) Shutdown(ctx context.Context, drain time.Duration) error {
	g.begin(drain)
	select {
	case <-g.done:
		return g.leftovers()
	case <-ctx.Done():
		return fmt.Errorf("shutting down: %w", ctx.Err())
	}
}

// begin starts the end, once. A later call may allow less time, never more: who
// asks again and again must not keep a turn alive.
func (g *Gateway) begin(drain time.Duration) {
	drain = max(drain, 0)
	until := time.Now().Add(drain)
	g.ending.Lock()
	defer g.ending.Unlock()
	first := g.stopping.CompareAndSwap(false, true)
	if !first && !until.Before(g.until) {
		return
	}
	g.until = until
	g.wg.Go(g.tell)
	if first {
		close(g.halted)
		g.wg.Go(func() { g.finish(drain + shutdownBound) })
	}
}

// tell tells every session of the end. It may have to wait for a session that is
// busy: whoever asked for the end does not.
func (g *Gateway) tell() {
	g.admitting.Lock() // whoever was let in before has its session now
	sessions := g.all()
	g.admitting.Unlock()
	g.telling.Lock()
	defer g.telling.Unlock()
	g.ending.Lock()
	left := max(time.Until(g.until), 0)
	g.ending.Unlock()
	for _, s := range sessions {
		s.step(session.Shutdown{Drain: left.Milliseconds()})
	}
	g.toldOnce.Do(func() { close(g.told) })
}

// finish waits for every session's end, at most for bound. The sessions end side
// by side: that one is waited for after another costs no time.
func (g *Gateway) finish(bound time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	select {
	case <-g.told:
	case <-ctx.Done():
		close(g.done)
		return
	}
	for _, s := range g.all() {
		s.wait(ctx)
	}
	close(g.done)
}

// leftovers names what outlived the bound.
func (g *Gateway) leftovers() error {
	var errs []error
	for _, s := range g.all() {
		if !s.ended() {
			errs = append(errs, fmt.Errorf("session %s did not end in time", s.id))
		}
	}
	return errors.Join(errs...)
}

// Close ends by force what a shutdown has left, waits for what the gateway has
// started, and closes the log. Shutdown comes first, and no connection may call
// anything any more. A harness whose start never comes back is not waited for beyond
// a bound; the error then names its session.
func (g *Gateway) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), g.closeBound)
	defer cancel()
	var errs []error
	for _, s := range g.all() {
		errs = append(errs, s.release(ctx))
	}
	g.wg.Wait()
	if err := g.log.Close(); err != nil {
		errs = append(errs, fmt.Errorf("closing the log: %w", err))
	}
	return errors.Join(errs...)
}

// all lists the sessions of this moment, closed ones too.
func (g *Gateway) all() []*Session {
	g.mu.RLock()
	defer g.mu.RUnlock()
	out := make([]*Session, 0, len(g.sessions))
	for _, s := range g.sessions {
		out = append(out, s)
	}
	return out
}

// lookup gives a session that exists; nil: none does.
func (g *Gateway) lookup(id string) *Session {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.sessions[id]
}

// obtain gives a session, made where there is none: one that the log knows goes
// on where the log ends. Everyone connected is sent it from its head.
func (g *Gateway) obtain(id string) (*Session, error) {
	if s := g.lookup(id); s != nil {
		return s, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sessions[id]; s != nil {
		return s, nil // another request was quicker
	}
	info, err := g.openLog(id)
	if err != nil {
		return nil, err
	}
	s := newSession(g, id, info)
	if info.State == eventlog.StateClosed {
		s.letLogGo() // who only reads it does not keep it
	}
	g.sessions[id] = s
	for sub := range g.subscribers {
		s.subscribe(sub)
	}
	return s, nil
}

// forget drops a session that has never said anything, and every connection's
// cursor on it: refused turns must not fill the memory, under however many ids.
func (g *Gateway) forget(s *Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sessions[s.id] == s {
		delete(g.sessions, s.id)
	}
	for sub := range g.subscribers {
		s.unsubscribe(sub)
	}
}

// mint makes a UUIDv7.
func (g *Gateway) mint() string {
	var r [10]byte
	fill(r[:])
	return protocol.UUIDv7(time.Now().UnixMilli(), r)
}
