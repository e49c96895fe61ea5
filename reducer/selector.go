package reducer

import (
	"iter"

	"agent-server/protocol"
)

// Selectors read a conversation in the ways that views need. They are pure and
// keep nothing: what is costly says so, and who calls it for every delta should
// keep the answer until a change says that it may be another.

// PendingPermissions are the requests without an outcome, in order of first sight.
func PendingPermissions(c *Conversation) []Permission {
	pending := []Permission{}
	for _, p := range c.base().permissions.list.all() {
		if p.Outcome == nil {
			pending = append(pending, *p)
		}
	}
	return pending
}

// ConversationMessages are all messages in order of first sight, those of
// sub-agents among them. It costs the whole timeline.
func ConversationMessages(c *Conversation) []Message {
	messages := []Message{}
	for m := range c.whole().allMessages() {
		messages = append(messages, *m.read())
	}
	return messages
}

// allMessages walks the messages in order.
func (d *state) allMessages() iter.Seq[*message] {
	return func(yield func(*message) bool) {
		for _, i := range d.timeline.all() {
			if i.message != nil && !yield(i.message) {
				return
			}
		}
	}
}

// Group is a run of entries of one turn and one speaker.
type Group struct {
	// TurnID is the turn of every entry.
	TurnID string
	// Role is who speaks in every entry; a compaction counts as the assistant.
	Role protocol.Role
	// Entries are in order; never empty.
	Entries []Entry
	// IsLatest is true of the last group alone.
	IsLatest bool
}

// GroupIntoTurns cuts the timeline wherever the turn or the speaker changes. It
// costs the whole timeline.
func GroupIntoTurns(c *Conversation) []Group {
	groups := []Group{}
	for _, e := range c.Timeline() {
		turn, role := e.Turn(), speaker(e)
		if n := len(groups); n == 0 || groups[n-1].TurnID != turn || groups[n-1].Role != role {
			groups = append(groups, Group{TurnID: turn, Role: role})
		}
		last := &groups[len(groups)-1]
		last.Entries = append(last.Entries, e)
	}
	if n := len(groups); n > 0 {
		groups[n-1].IsLatest = true
	}
	return groups
}

// speaker is who an entry comes from.
func speaker(e Entry) protocol.Role {
	if m, ok := e.(*Message); ok {
		return m.Role
	}
	return protocol.RoleAssistant
}

// SubagentGroup is what the sub-agent of one tool call has said.
type SubagentGroup struct {
	// ToolCallID is the call that runs the sub-agent.
	ToolCallID string
	// Messages are its messages in order of first sight; never empty.
	Messages []Message
}

// SubagentGroups are the messages of sub-agents by their tool call, the calls in
// order of first sight. It costs the whole timeline.
func SubagentGroups(c *Conversation) []SubagentGroup {
	groups := []SubagentGroup{}
	places := map[string]int{} // tool call id → place in groups
	for m := range c.whole().allMessages() {
		if m.ParentToolCallID == nil {
			continue
		}
		i, known := places[*m.ParentToolCallID]
		if !known {
			i = len(groups)
			places[*m.ParentToolCallID] = i
			groups = append(groups, SubagentGroup{ToolCallID: *m.ParentToolCallID})
		}
		groups[i].Messages = append(groups[i].Messages, *m.read())
	}
	return groups
}

// ToolResultText is what the model read of the tool's result: its output, or why
// it failed; "" for any other state.
func ToolResultText(part *protocol.ToolPart) string {
	switch s := part.State.(type) {
	case *protocol.CompletedState:
		return s.Output
	case *protocol.FailedState:
		return s.Error
	}
	return ""
}

// IsCleanStop says whether a turn that ended so succeeded in the protocol's sense.
func IsCleanStop(r protocol.StopReason) bool { return r.Clean() }

// IsFailureStop is its opposite: an unknown or absent reason is a failure.
func IsFailureStop(r protocol.StopReason) bool { return !r.Clean() }
