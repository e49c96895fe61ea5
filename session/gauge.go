package session

import (
	"agent-server/harness"
	"agent-server/protocol"
)

// usage shows the context-window gauge.
func (m *Machine) usage(u harness.Usage) {
	m.emit(&protocol.SessionUsage{
		SessionID: m.o.SessionID, TurnID: m.turn.id, Used: u.Used, Size: u.Size, Cost: u.Cost, Timestamp: m.now,
	})
}

// compaction is one compaction of the open turn.
type compaction struct {
	key, id string
	open    bool
}

// statusOpen is the one status of a compaction after which another must come.
const statusOpen = "in_progress"

// compaction shows one compaction's state. One that is over stays over.
func (m *Machine) compaction(u harness.Compaction) {
	c := m.compactionOf(u.Key)
	if orWord(u.Status, "") == "" || !c.open {
		m.note("compaction update dropped", u.Status)
		return
	}
	c.open = u.Status == statusOpen
	m.emit(&protocol.SessionCompaction{
		SessionID: m.o.SessionID, TurnID: m.turn.id, CompactionID: c.id, Status: u.Status,
		Trigger: optional(orWord(u.Trigger, "")), PreTokens: u.PreTokens, PostTokens: u.PostTokens,
		Summary: optional(u.Summary), Timestamp: m.now,
	})
}

// compactionOf is the open turn's compaction of that key, new where it was not
// seen.
func (m *Machine) compactionOf(key string) *compaction {
	for _, c := range m.turn.compactions {
		if c.key == key {
			return c
		}
	}
	c := &compaction{key: key, id: m.newID(), open: true}
	m.turn.compactions = append(m.turn.compactions, c)
	return c
}

// closeCompactions ends what is left open when the turn ends: a compaction
// always has a last word.
func (m *Machine) closeCompactions(reason protocol.StopReason) {
	status := "failed"
	if reason == protocol.StopCancelled {
		status = "cancelled"
	}
	for _, c := range m.turn.compactions {
		if c.open {
			m.compaction(harness.Compaction{Key: c.key, Status: status})
		}
	}
}
