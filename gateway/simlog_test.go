package gateway

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"agent-server/eventlog"
	"agent-server/eventlog/sqlite"
)

// engine is what every storage engine is.
type engine interface {
	eventlog.Log
	eventlog.Identity
	eventlog.Catalog
}

// errNoDisk is what an append meets while the disk is full.
var errNoDisk = errors.New("no space left on device")

// simLog is a log that dies with its gateway, or before it: of what the one that holds
// it does after its death nothing is stored.
type simLog struct {
	engine
	w       *simWorld
	durable bool
	budget  int64
	// dead: its gateway was killed. failing: the disk is full.
	dead, failing atomic.Bool
	// dir is where it lies on disk; "": in memory.
	dir string
}

// newSimLog is an empty log of the world's kind.
func newSimLog(w *simWorld) *simLog {
	l := &simLog{w: w, durable: w.kind.durable, budget: eventlog.DefaultMaxSessionBytes}
	if w.kind.budget > 0 {
		l.budget = w.kind.budget
	}
	if w.kind.disk {
		l.openDisk(w.dir())
		return l
	}
	l.engine = eventlog.NewMemory(eventlog.MemoryOptions{MaxSessionBytes: l.budget})
	return l
}

// openDisk opens what lies in a directory.
func (l *simLog) openDisk(dir string) {
	log, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		l.w.fail("opening the log: %v", err)
		l.engine = eventlog.NewMemory(eventlog.MemoryOptions{})
		return
	}
	l.engine, l.dir = log, dir
}

// next is what the gateway after a killed one finds: on a disk exactly what was
// written, which is read before anybody could tidy up.
func (l *simLog) next() *simLog {
	switch {
	case !l.durable:
		return newSimLog(l.w)
	case l.dir == "":
		return &simLog{engine: l.w.plant.log(l.engine), w: l.w, durable: true, budget: l.budget}
	}
	image := &simLog{w: l.w, durable: true, budget: l.budget}
	dir := l.w.dir()
	for _, name := range []string{"log.db", "log.db-wal"} {
		content, err := os.ReadFile(filepath.Join(l.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			l.w.fail("copying the log: %v", err)
		}
	}
	l.shut()
	image.openDisk(dir)
	return image
}

// shut lets the engine go.
func (l *simLog) shut() {
	if err := l.engine.Close(); err != nil {
		l.w.fail("closing the log: %v", err)
	}
}

func (l *simLog) Durable() bool        { return l.durable }
func (l *simLog) SessionBudget() int64 { return l.budget }

// FoldBudget is none: a session that has no room left converges on nothing (that it is
// told is law 198), and the budget is so small that most would come to that.
func (l *simLog) FoldBudget() int64 { return math.MaxInt64 }

// Close implements eventlog.Log; the world closes the engine itself.
func (l *simLog) Close() error { return nil }

func (l *simLog) Open(session string) (eventlog.Info, error) {
	if l.dead.Load() {
		return eventlog.Info{}, errNoDisk
	}
	return l.engine.Open(session)
}

func (l *simLog) Append(session string, b eventlog.Batch) error {
	if l.dead.Load() || l.failing.Load() {
		return errNoDisk
	}
	if err := l.engine.Append(session, b); err != nil {
		l.w.fail("appending to session %s: %v", session, err)
		return err
	}
	l.w.appended(b)
	return nil
}

// forgetful is a planted fault: a log that forgets, with its gateway, which turns it
// has admitted.
type forgetful struct{ engine }

func (f forgetful) Open(session string) (eventlog.Info, error) {
	info, err := f.engine.Open(session)
	info.Admissions = nil
	return info, err
}

// plant is a fault that is put in to see it found; "": none.
type plant string

const (
	// forgets: see forgetful. skips: see skipping.
	forgets plant = "the admissions are forgotten"
	skips   plant = "an event is never sent"
)

// log gives the log that a restarted gateway finds.
func (p plant) log(e engine) engine {
	if p == forgets {
		return forgetful{e}
	}
	return e
}

// skipping is a planted fault: a connection whose pump puts a filler in the place of a
// part's last snapshot, so that no number shows what is missing.
type skipping struct{ *Subscriber }

func (s skipping) Read(dst []byte, session string, seq int64, budget int) ([]byte, bool, error) {
	from := len(dst)
	dst, more, err := s.Subscriber.Read(dst, session, seq, budget)
	var kept []byte
	for line := range strings.Lines(string(dst[from:])) {
		head, event, _ := strings.Cut(line, `"event":`)
		if strings.HasPrefix(event, `{"type":"message.part",`) && strings.Contains(event, `"state":"done"`) && !strings.Contains(event, "echo-") {
			line = head + `"event":{"type":"raw","sessionId":"s","turnId":"t","harness":"claude-code","data":null,"timestamp":1}}}` + "\n"
		}
		kept = append(kept, line...)
	}
	return append(dst[:from], kept...), more, err
}
