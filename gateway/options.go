package gateway

import (
	"crypto/rand"
	"os"
	"time"

	"go.uber.org/zap"

	"agent-server/eventlog"
	"agent-server/harness"
	"agent-server/protocol"
	"agent-server/session"
)

// Defaults of Options.
const (
	// DefaultDrainTimeout is how long running turns may go on at a shutdown.
	DefaultDrainTimeout = 10 * time.Second
	// DefaultMaxLagBytes is how far a connection may fall behind.
	DefaultMaxLagBytes = 64 << 20
	// DefaultMaxSessions is how many sessions may be open at once.
	DefaultMaxSessions = 10_000
	// shutdownBound is what a shutdown may take beyond its drain: cancel, stop
	// ladder, leftovers.
	shutdownBound = 25 * time.Second
	// closeBound is what Close waits for processes that were killed.
	closeBound = 30 * time.Second
)

// Registration is a harness as the operator installed it.
type Registration struct {
	// Harness is its adapter.
	Harness harness.Harness
	// Path is its executable; "": Info().Executable, looked up on PATH.
	Path string
	// Args stand before the adapter's own arguments.
	Args []string
	// Version is that of an executable which need not be asked; "": it is asked as
	// its adapter says (Info().Install).
	Version string
}

// Observer sees every step of every session, under the session's lock, before
// it is performed: recordings are made from it.
type Observer interface {
	// Opened: a machine was made.
	Opened(o session.Options)
	// Stepped: a machine took an input at a time (epoch ms) and gave an output.
	// A line in the input is valid during the call only.
	Stepped(sessionID string, at int64, in session.Input, out session.Output)
}

// Options are what a gateway is made of. The zero value of each member but
// Harnesses is useful.
type Options struct {
	// Harnesses are what turns can be run on.
	Harnesses []Registration
	// DefaultACP is the id that plain "acp" stands for as config.harness; "":
	// it is not available.
	DefaultACP protocol.HarnessID
	// Log holds the events; nil: a memory log of its own.
	Log eventlog.Log
	// Durability is what initialize says of Log; "": what Log says of itself.
	Durability string
	// Version is what initialize says; "" leaves it out.
	Version string
	// Environ is what children inherit from, through the allow-list; nil: the
	// process's own.
	Environ []string
	// PassEnv names further variables that children inherit.
	PassEnv []string
	// MaxPermissionMode caps what a client may ask; "": no cap.
	MaxPermissionMode protocol.PermissionMode
	// WorkspaceRoots are the directories that every cwd and additional directory
	// must lie under, symlinks followed; absolute. None: anywhere.
	WorkspaceRoots []string
	// AllowMCPStdio lets clients beyond this machine name stdio MCP servers, which
	// are commands that a harness runs.
	AllowMCPStdio bool
	// Policy decides permission requests before anyone is asked; nil: all are asked.
	Policy session.Policy
	// PermissionTimeout rejects a request that nobody has answered for so long; the
	// turn goes on; 0: it waits for ever.
	PermissionTimeout time.Duration
	// DenyWithoutClient denies permission requests while no client receives the
	// session, and has not for 10 s; false: they wait.
	DenyWithoutClient bool
	// MaxEventBytes bounds each text of an event that may be cut (a tool's output,
	// raw data); 0: 8 MiB.
	MaxEventBytes int
	// DrainTimeout is how long running turns may go on at a shutdown; 0: 10 s,
	// negative: not at all.
	DrainTimeout time.Duration
	// IdleTimeout is how long a process is kept without a turn; 0: 5 min.
	IdleTimeout time.Duration
	// MaxMessageBytes is what initialize says of a line from a client; 0: 10 MiB.
	MaxMessageBytes int64
	// MaxLineBytes bounds a line from a harness; 0: 64 MiB.
	MaxLineBytes int
	// MaxLagBytes is how far a connection may fall behind in one session before the log
	// no longer spares what it has yet to read, or, where the connection pauses, before
	// that session's harness is no longer read; 0: 64 MiB.
	MaxLagBytes int64
	// MaxSessions bounds the sessions that are open at once: started, and not
	// closed; 0: 10,000. A turn/start beyond it is refused as overloaded.
	MaxSessions int64
	// Seed gives each machine its entropy; nil: crypto/rand.
	Seed func() [32]byte
	// Observer sees every step; nil: nobody does.
	Observer Observer
	// Metrics takes the gateway's metrics; nil: nobody looks at them.
	Metrics Metrics
	// Logger takes the log; nil: nothing is logged.
	Logger *zap.Logger
}

// withDefaults is the one place where Options are completed.
func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = eventlog.NewMemory(eventlog.MemoryOptions{})
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = protocol.DefaultMaxMessageBytes
	}
	if o.MaxLagBytes == 0 {
		o.MaxLagBytes = DefaultMaxLagBytes
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = DefaultMaxSessions
	}
	if o.Seed == nil {
		o.Seed = randomSeed
	}
	if o.Metrics == nil {
		o.Metrics = unmeasured{}
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	return o
}

func randomSeed() (s [32]byte) {
	fill(s[:])
	return s
}

// fill reads from the system's entropy, which does not fail.
func fill(b []byte) { _, _ = rand.Read(b) }

// restateAfter is how long a field that streams may stand on deltas alone, which a
// durable log does not store.
const restateAfter = 5 * time.Second

// machineOptions are what every machine is made of.
func (g *Gateway) machineOptions() session.Options {
	o := session.Options{Seed: g.o.Seed(), HashKey: g.hashKey, MaxPermissionMode: g.o.MaxPermissionMode, Policy: placed(g.o.Policy),
		IdleTimeout: g.o.IdleTimeout.Milliseconds(), PermissionTimeout: g.o.PermissionTimeout.Milliseconds(), MaxEventBytes: g.o.MaxEventBytes,
		DenyWithoutClient: g.o.DenyWithoutClient}
	if g.durable() {
		o.RestateAfter = restateAfter.Milliseconds()
	}
	return o
}
