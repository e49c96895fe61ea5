// Package harnesses is the table of every harness that there is. Who judges,
// records or describes harnesses goes through it: a new one has all of that for its
// line here.
//
// It decides which recordings a harness is judged by. It refuses to know
// executables and flags, which are the wiring's, and what the harnesses do. It is
// immutable and safe for concurrent use.
package harnesses

import (
	"agent-server/harness"
	"agent-server/harness/acp"
	"agent-server/harness/claudecode"
	"agent-server/harness/codexappserver"
	"agent-server/harness/codexexec"
	"agent-server/protocol"
)

// Entry is one harness.
type Entry struct {
	// Harness is its adapter, as it is wired where the operator says nothing.
	Harness harness.Harness
	// Lent names the folder of fixtures whose recordings it is played where it has
	// none of its own: those of another that speaks its protocol. "": none are.
	Lent protocol.HarnessID
}

// ID is the harness id as clients write it; its own fixtures are in the folder of
// that name.
func (e Entry) ID() protocol.HarnessID { return e.Harness.Info().ID }

// All is the table.
func All() []Entry {
	all := []Entry{
		{Harness: acp.New(acp.Agent{ID: protocol.HarnessDemo})},
		{Harness: claudecode.New(claudecode.Options{})},
		{Harness: codexappserver.New(codexappserver.Options{})},
		{Harness: codexexec.New()},
		{Harness: acp.New(acp.Agent{ID: protocol.HarnessACP}), Lent: protocol.HarnessDemo},
	}
	for _, agent := range acp.Known() {
		all = append(all, Entry{Harness: acp.New(agent), Lent: protocol.HarnessDemo})
	}
	return all
}

// Find is the harness of an id; nil where there is none.
func Find(id protocol.HarnessID) harness.Harness {
	for _, e := range All() {
		if e.ID() == id {
			return e.Harness
		}
	}
	return nil
}
