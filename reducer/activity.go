package reducer

import "agent-server/protocol"

// Activity is what the agent is doing, in one word.
type Activity string

// The activities.
const (
	Thinking    Activity = "thinking"
	Generating  Activity = "generating"
	ToolRunning Activity = "tool_running"
	ToolFailed  Activity = "tool_failed"
	Idle        Activity = "idle"
)

// AgentActivity is what a status line shows. It is told by the last part of the last top-level assistant message
// of the last active turn. It looks at the end of the timeline first, and so costs
// little while that turn is the latest.
func AgentActivity(c *Conversation) Activity {
	s := c.base()
	turnID, ok := s.lastActiveTurn()
	if !ok {
		return Idle
	}
	for i := s.timeline.size - 1; i >= 0; i-- {
		m := s.timeline.at(i).message
		if m != nil && m.TurnID == turnID && m.Role == protocol.RoleAssistant && m.ParentToolCallID == nil {
			return m.activity()
		}
	}
	return Idle
}

// lastActiveTurn is the latest of the turns that have not ended.
func (d *state) lastActiveTurn() (string, bool) {
	turns := d.turns.list
	for i := turns.size - 1; i >= 0; i-- {
		if t := turns.at(i); t.Status == TurnActive {
			return t.TurnID, true
		}
	}
	return "", false
}

// activity is told by the last part: a tool speaks also after the message's end,
// since it runs on when the model has stopped writing; text and reasoning do not.
// Their own state is not asked: a harness may show a block whole, done from the
// start, while the model writes on.
func (m *message) activity() Activity {
	n := m.slots.list.size
	if n == 0 {
		return Idle
	}
	switch p := m.slots.list.at(n - 1).part.(type) {
	case *protocol.ToolPart:
		return toolActivity(p.State.Status())
	case *protocol.TextPart:
		if m.EndedAt == nil {
			return Generating
		}
	case *protocol.ReasoningPart:
		if m.EndedAt == nil {
			return Thinking
		}
	}
	return Idle
}

// toolActivity is what a tool in this state says of the agent.
func toolActivity(status protocol.ToolStatus) Activity {
	switch status {
	case protocol.ToolPending, protocol.ToolInProgress:
		return ToolRunning
	case protocol.ToolFailed:
		return ToolFailed
	}
	return Idle
}
