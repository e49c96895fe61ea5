package session

import (
	"agent-server/broker"
	"agent-server/harness"
	"agent-server/protocol"
)

// Options are what a machine is made of.
type Options struct {
	// SessionID is the logical session.
	SessionID string
	// Harness runs it; the session is bound to it until it is closed.
	Harness harness.Harness
	// Seed is the stream that every id is minted from.
	Seed [32]byte
	// NextSeq is the seq of the next event, as the log gave it at open; 0 is 1.
	NextSeq int64
	// HashKey keys the admission hashes; it lives as long as the log does.
	HashKey []byte
	// NativeID is the harness's own conversation that the session was in when its
	// last machine was lost; the first process goes on with it. "": none.
	NativeID string
	// Rules are the standing rules of the session's machine before, where it was lost
	// and the session was not closed.
	Rules []Rule
	// Admissions are those that the log holds for this session, across close
	// and reuse.
	Admissions []Admission
	// MaxPermissionMode caps what a client may ask; "": no cap.
	MaxPermissionMode protocol.PermissionMode
	// IdleTimeout is how long a process may have nothing to do before it is
	// stopped, in milliseconds; 0 is DefaultIdleTimeout, below 0 is for ever.
	IdleTimeout int64
	// Policy decides requests before anyone is asked; nil: none.
	Policy broker.Policy
	// PermissionTimeout rejects a request that nobody has answered for so long, in
	// milliseconds; 0: it waits for ever.
	PermissionTimeout int64
	// DenyWithoutClient denies requests while no client is there (Clients); until
	// told so, one is.
	DenyWithoutClient bool
	// RestateAfter is how long after its last snapshot a field that streams is
	// shown whole again, in milliseconds, for logs that store no deltas; 0: only
	// when it has doubled.
	RestateAfter int64
	// MaxEventBytes bounds each text of an event that may be cut: a tool's output,
	// error and content, and the data of raw; 0 is DefaultMaxEventBytes.
	MaxEventBytes int
}

// Policy decides requests before anyone is asked.
type Policy = broker.Policy

// Call is what a Policy is asked about, Ruling what it says.
type (
	Call   = broker.Call
	Ruling = broker.Ruling
)

// Rule is a standing rule of a session; see RuleOf.
type Rule = broker.Rule

// RuleOf reads the standing rule that an answered request has left behind out of the
// events; false where it left none.
func RuleOf(asked *protocol.PermissionRequested, answered *protocol.PermissionResolved) (Rule, bool) {
	return broker.RuleOf(asked, answered)
}

// DefaultIdleTimeout is five minutes, in milliseconds.
const DefaultIdleTimeout = 5 * 60 * 1000
