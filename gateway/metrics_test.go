package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"agent-server/gateway"
	"agent-server/protocol"
)

// ledger is a Metrics that can be asked.
type ledger struct {
	mu     sync.Mutex
	values map[string]float64
	kinds  map[string]string
	reads  map[string]func() float64
	t      *testing.T
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, values: map[string]float64{}, kinds: map[string]string{}, reads: map[string]func() float64{}}
}

func (l *ledger) family(kind, name, help string, labels []string) func(float64, ...string) {
	if l.kinds[name] != "" || help == "" || !strings.HasPrefix(name, "agent_server_") || (kind == "counter") != strings.HasSuffix(name, "_total") {
		l.t.Errorf("%s %s %q is no family, or there twice", kind, name, help)
	}
	l.kinds[name] = kind
	return func(by float64, values ...string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(values) != len(labels) || kind == "counter" && by < 0 {
			l.t.Errorf("%s: %v by %v", name, values, by)
		}
		l.values[name+fmt.Sprint(values)] += by
	}
}

func (l *ledger) Counter(name, help string, labels ...string) func(float64, ...string) {
	return l.family("counter", name, help, labels)
}

func (l *ledger) Gauge(name, help string, labels ...string) func(float64, ...string) {
	return l.family("gauge", name, help, labels)
}

func (l *ledger) GaugeFunc(name, help string, read func() float64) {
	l.family("gauge", name, help, nil)
	l.reads[name] = read
}

func (l *ledger) Histogram(name, help string, bounds []float64) func(float64) {
	if !slices.IsSorted(bounds) || len(bounds) == 0 {
		l.t.Errorf("%s: bounds %v", name, bounds)
	}
	count := l.family("histogram", name, help, nil)
	return func(v float64) {
		if v < 0 {
			l.t.Errorf("%s: %v", name, v)
		}
		count(1)
	}
}

// value is what a family stands at, its name without our prefix.
func (l *ledger) value(name string, labels ...string) float64 {
	if read := l.reads["agent_server_"+name]; read != nil {
		return read()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.values["agent_server_"+name+fmt.Sprint(labels)]
}

// want compares what one stands at.
func (l *ledger) want(v float64, name string, labels ...string) {
	l.t.Helper()
	if got := l.value(name, labels...); got != v {
		l.t.Errorf("%s%v is %v, want %v", name, labels, got, v)
	}
}

// TestLaw122_metrics: what happens is counted, under labels that no client can
// make more of.
func TestLaw122_metrics(t *testing.T) {
	t.Parallel()
	l, log := newLedger(t), &failing{}
	g := open(t, withLog(log), func(o *gateway.Options) { o.Metrics = l })
	p := connect(t, g, gateway.ConnectOptions{})
	l.want(1, "subscribers")
	p.run(turn("s", "a", "say hi", puppetID))
	p.run(turn("s", "b", "end _made-up-"+strings.Repeat("x", 100), puppetID))
	p.run(turn("s", "c", "exit 3", puppetID))
	p.run(turn("s", "d", "say hi", puppetID))
	p.begin(turn("u", "a", "ask", puppetID))
	asked, _ := event[*protocol.PermissionRequested](p, "u", nil)
	waitUntil(t, "the request is counted", func() bool { return l.value("permissions_pending") == 1 })
	l.want(2, "sessions_open")
	l.want(5, "turns_started_total", "puppet")
	p.call("permission/respond", map[string]any{"sessionId": "u", "requestId": asked.RequestID, "outcome": map[string]any{"outcome": "selected", "optionId": "allow"}})
	p.turnEnded("u", "a")
	for reason, n := range map[string]float64{"end_turn": 3, "other": 1, "error": 1, "cancelled": 0} {
		l.want(n, "turns_ended_total", "puppet", reason)
	}
	waitUntil(t, "the answer is counted", func() bool { return l.value("permissions_pending") == 0 })
	l.want(3, "harness_starts_total", "puppet")
	l.want(1, "harness_restarts_total", "puppet")
	l.want(2, "harness_processes", "puppet")
	events, bytes := 0, 0
	for _, s := range p.lines {
		if s.Method == "event" {
			events, bytes = events+1, bytes+len(s.Raw)+1
		}
	}
	l.want(float64(events), "events_total")
	if n := l.value("log_append_seconds"); n < 5 || n > float64(events) {
		t.Errorf("%v appends of %d events", n, events)
	}
	// What is shown to us as acp is shorter in the log.
	if n := l.value("event_bytes_total"); n <= 0 || n > float64(bytes) {
		t.Errorf("%v bytes, of which %d were sent", n, bytes)
	}
	for name := range l.values {
		if strings.Contains(name, "made-up") {
			t.Errorf("a client's word is a label: %s", name)
		}
	}
	if err := g.Shutdown(context.Background(), 0); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	l.want(0, "harness_processes", "puppet")
	l.want(0, "sessions_open")
}

// TestLag: who does not read is behind, and no longer once it is gone.
func TestLag(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	g := open(t, func(o *gateway.Options) { o.Metrics = l })
	p := connect(t, g, gateway.ConnectOptions{})
	stuck := g.Connect(gateway.ConnectOptions{})
	p.run(turn("s", "a", "say hi", puppetID))
	if l.value("lag_bytes") == 0 {
		t.Error("who reads nothing does not lag")
	}
	l.want(2, "subscribers")
	stuck.Close()
	l.want(1, "subscribers")
	waitUntil(t, "nobody lags", func() bool { return l.value("lag_bytes") == 0 })
}

// TestProbes: alive is who answers; ready is who takes turns.
func TestProbes(t *testing.T) {
	t.Parallel()
	l, log := newLedger(t), &failing{}
	g := open(t, withLog(log), func(o *gateway.Options) { o.Metrics = l })
	ask := func(h http.HandlerFunc) string {
		w := httptest.NewRecorder()
		h(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
	}
	check := func(when, ready string) {
		t.Helper()
		if got := ask(g.Health); got != "200 ok" {
			t.Errorf("%s: alive: %s", when, got)
		}
		if got := ask(g.Ready); got != ready {
			t.Errorf("%s: ready: %s, want %s", when, got, ready)
		}
	}
	check("at first", "200 ok")
	p := connect(t, g, gateway.ConnectOptions{})
	p.begin(turn("s", "a", "say one;wait", puppetID))
	event(p, "s", func(e *protocol.MessagePart) bool { return e.OutputIndex > 0 })
	log.full.Store(true)
	p.call("turn/cancel", map[string]any{"sessionId": "s"})
	check("with a log that is full", "503 a log cannot be written")
	l.want(1, "sessions_broken")
	log.full.Store(false)
	p.call("turn/cancel", map[string]any{"sessionId": "s"})
	check("when it works again", "200 ok")
	l.want(0, "sessions_broken")
	l.want(1, "turns_ended_total", "puppet", "error")
	p.call("shutdown", nil)
	check("while it ends", "503 shutting down")
}
