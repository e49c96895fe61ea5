package session

import (
	"math/rand/v2"

	"agent-server/protocol"
)

// ids mints every id of a session from one seeded stream, so that a run can be
// replayed to the byte.
type ids struct{ random *rand.ChaCha8 }

func newIDs(seed [32]byte) ids { return ids{rand.NewChaCha8(seed)} }

// mint is a fresh UUIDv7 of the time given.
func (s ids) mint(now int64) string {
	var entropy [10]byte
	// The stream never fails and never ends.
	_, _ = s.random.Read(entropy[:])
	return protocol.UUIDv7(now, entropy)
}

// newID is a fresh id of the step that runs.
func (m *Machine) newID() string { return m.ids.mint(m.now) }
