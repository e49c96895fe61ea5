package gateway

import (
	"slices"
	"time"

	"agent-server/protocol"
	"agent-server/session"
)

// Metrics takes what an operator's monitoring is told; the wiring shows it in its
// own way, so that this package needs no library of it. Each family is made once,
// by New, under a name in Prometheus's spelling; what is given back is called from
// any goroutine, often under a session's lock, and must not wait.
type Metrics interface {
	// Counter makes a family that only grows: by so much, for the labels' values, in
	// the order of the labels.
	Counter(name, help string, labels ...string) func(by float64, values ...string)
	// Gauge makes one that goes up and down, by so much.
	Gauge(name, help string, labels ...string) func(by float64, values ...string)
	// GaugeFunc makes one that is read when somebody asks.
	GaugeFunc(name, help string, read func() float64)
	// Histogram makes one of observations, counted up to each of the bounds.
	Histogram(name, help string, bounds []float64) func(value float64)
}

// unmeasured is where nobody looks.
type unmeasured struct{}

// Counter implements Metrics.
func (unmeasured) Counter(string, string, ...string) func(float64, ...string) {
	return func(float64, ...string) {}
}

// Gauge implements Metrics.
func (unmeasured) Gauge(string, string, ...string) func(float64, ...string) {
	return func(float64, ...string) {}
}

// GaugeFunc implements Metrics.
func (unmeasured) GaugeFunc(string, string, func() float64) {}

// Histogram implements Metrics.
func (unmeasured) Histogram(string, string, []float64) func(float64) {
	return func(float64) {}
}

// appendBounds are those of an append's latency, in seconds: from a memory log's
// microseconds to a disk that hangs.
var appendBounds = []float64{1e-6, 4e-6, 16e-6, 64e-6, 256e-6, 1e-3, 4e-3, 16e-3, 64e-3, 256e-3, 1, 4, 16}

// metrics are the families. Labels are bounded: harness ids are the operator's, of
// the stop reasons only the known ones stand for themselves. No session, turn, client
// or path is ever a label.
type metrics struct {
	turnsStarted, turnsEnded    func(by float64, values ...string)
	events, bytes               func(by float64, values ...string)
	processes, starts, restarts func(by float64, values ...string)
	pending, broken             func(by float64, values ...string)
	append                      func(seconds float64)
}

// stopReasons are the words that stand for themselves in a label.
var stopReasons = []protocol.StopReason{protocol.StopEndTurn, protocol.StopMaxTokens, protocol.StopMaxTurnRequests,
	protocol.StopRefusal, protocol.StopCancelled, protocol.StopError}

// newMetrics makes them; what is read when somebody asks is read from g.
func newMetrics(to Metrics, g *Gateway) *metrics {
	const prefix = "agent_server_"
	to.GaugeFunc(prefix+"sessions_open", "Sessions that were started and not closed.", func() float64 { return float64(g.live.Load()) })
	to.GaugeFunc(prefix+"subscribers", "Connections that are served.", g.countSubscribers)
	to.GaugeFunc(prefix+"lag_bytes", "How far the connection that is furthest behind lags, in one session.", g.worstLag)
	return &metrics{
		turnsStarted: to.Counter(prefix+"turns_started_total", "Turns that were started.", "harness"),
		turnsEnded:   to.Counter(prefix+"turns_ended_total", "Turns that have ended, by why; a word unknown here is other.", "harness", "stop_reason"),
		events:       to.Counter(prefix+"events_total", "Events that were stored."),
		bytes:        to.Counter(prefix+"event_bytes_total", "Their bytes, as lines of the wire."),
		processes:    to.Gauge(prefix+"harness_processes", "Harness processes that run.", "harness"),
		starts:       to.Counter(prefix+"harness_starts_total", "Harness processes that were started.", "harness"),
		restarts:     to.Counter(prefix+"harness_restarts_total", "Those of them that went on with a session that had had one.", "harness"),
		pending:      to.Gauge(prefix+"permissions_pending", "Permission requests that nobody has answered."),
		broken:       to.Gauge(prefix+"sessions_broken", "Sessions whose log cannot be written."),
		append:       to.Histogram(prefix+"log_append_seconds", "How long the log took for one step's records.", appendBounds),
	}
}

// appended counts one append.
func (m *metrics) appended(events, bytes int, since time.Time) {
	m.append(time.Since(since).Seconds())
	m.events(float64(events))
	m.bytes(float64(bytes))
}

// observe counts what a step's events say of turns.
func (m *metrics) observe(id protocol.HarnessID, events []session.Stamped) {
	for _, e := range events {
		switch ev := e.Event.(type) {
		case *protocol.TurnStarted:
			m.turnsStarted(1, string(id))
		case *protocol.TurnEnded:
			m.turnsEnded(1, string(id), reasonLabel(ev.StopReason))
		}
	}
}

// reasonLabel bounds an open vocabulary.
func reasonLabel(r protocol.StopReason) string {
	if slices.Contains(stopReasons, r) {
		return string(r)
	}
	return "other"
}

// countSubscribers is how many connections there are.
func (g *Gateway) countSubscribers() float64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return float64(len(g.subscribers))
}

// worstLag looks at every cursor, when it is asked.
func (g *Gateway) worstLag() float64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	worst := int64(0)
	for sub := range g.subscribers {
		sub.mu.Lock()
		for _, c := range sub.byID {
			worst = max(worst, c.lag())
		}
		sub.mu.Unlock()
	}
	return float64(worst)
}

// countPending brings the count of open requests up to date with the machine, which
// may be gone; called under the session's lock.
func (s *Session) countPending() {
	open := 0
	if s.machine != nil {
		open = len(s.machine.PendingPermissions())
	}
	if open != s.pending {
		s.gw.metrics.pending(float64(open - s.pending))
		s.pending = open
	}
}

// setBroken notes whether the log takes what the session says; called under its
// lock.
func (s *Session) setBroken(broken bool) {
	if s.broken == broken {
		return
	}
	s.broken = broken
	n := int64(-1)
	if broken {
		n = 1
	}
	s.gw.broken.Add(n)
	s.gw.metrics.broken(float64(n))
}

// born counts a process that was started; a generation behind the first is one
// that goes on where another was.
func (m *metrics) born(id protocol.HarnessID, gen int) {
	m.processes(1, string(id))
	m.starts(1, string(id))
	if gen > 1 {
		m.restarts(1, string(id))
	}
}
