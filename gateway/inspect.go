package gateway

import (
	"os"
	"time"

	"go.uber.org/zap"

	"agent-server/protocol"
)

const (
	// inspectBound is how long a turn/start waits for the file system.
	inspectBound = 10 * time.Second
	// inspectors is how many looks may be under way: those at a file system that
	// hangs stay, and what waits for one of them has the same bound.
	inspectors = 64
)

// stat is os.Stat; the tests of a file system that hangs put another in a
// gateway's place.
type stat func(path string) (os.FileInfo, error)

// inspection is what a turn meets on this machine.
type inspection struct {
	// runnable: its harness's executable is there; available lists those that are,
	// where it is not.
	runnable  bool
	available []protocol.HarnessID
	// faults are what is wrong with its config. That is not said at once: a retry is
	// recognised first.
	faults []protocol.Fault
	// broken: the harness has panicked.
	broken bool
}

// inspect looks at this machine for a turn, for inspectBound at most, and not
// beyond the beginning of a shutdown. Nothing ends a look at a dead network's
// directory: its goroutine is left behind, and is no one's to wait for. The
// connection's next request does wait: a turn/cancel must not overtake its
// turn/start.
func (g *Gateway) inspect(from Reach, reg *Registration, cfg protocol.RunConfig) inspection {
	late := time.NewTimer(g.inspectBound)
	defer late.Stop()
	tardy := inspection{runnable: true, faults: []protocol.Fault{{Path: "config.cwd", Message: "cannot be looked at in time"}}}
	select {
	case g.inspecting <- struct{}{}:
	case <-late.C:
		return tardy
	case <-g.halted:
		return tardy
	}
	seen := make(chan inspection, 1)
	go func() {
		defer func() { <-g.inspecting }()
		defer func() {
			if fault := recover(); fault != nil {
				g.zap.Error("a harness panicked", kindOfFault(fault), zap.Stack("stack"))
				seen <- inspection{broken: true}
			}
		}()
		seen <- g.look(from, reg, cfg)
	}()
	select {
	case i := <-seen:
		return i
	case <-late.C:
	case <-g.halted:
	}
	return tardy
}

// look is the look itself; it takes as long as it takes.
func (g *Gateway) look(from Reach, reg *Registration, cfg protocol.RunConfig) inspection {
	if reg == nil {
		return inspection{available: g.registry.available()}
	}
	if _, err := reg.resolve(); err != nil {
		return inspection{available: g.registry.available()}
	}
	faults := append(nameFaults(cfg), g.reachFaults(from, reg, cfg)...)
	return inspection{runnable: true, faults: append(faults, g.placeFaults(cfg)...)}
}
