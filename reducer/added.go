package reducer

import (
	"agent-server/protocol"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The fold takes every added type as unknown, so that a base reducer and this one
// agree on every stream. Here such types are read, leniently: what does not fit
// is passed over, as a version that does not know it would.

// PlanEntry is one step of the agent's plan.
type PlanEntry struct {
	// Content is the step, for people.
	Content string `json:"content"`
	// Status is pending, in_progress or completed.
	Status string `json:"status"`
	// Priority is the harness's own word; nil when it has none.
	Priority *string `json:"priority"`
}

// Plan is the latest plan: of the last `plan` part in the timeline whose body
// fits. False when there is none; a plan may also have no entries.
func Plan(c *Conversation) ([]PlanEntry, bool) {
	timeline := c.base().timeline
	for i := timeline.size - 1; i >= 0; i-- {
		m := timeline.at(i).message
		if m == nil {
			continue
		}
		for j := m.slots.list.size - 1; j >= 0; j-- {
			if plan, ok := readPlan(m.slots.list.at(j).part); ok {
				return plan, true
			}
		}
	}
	return nil, false
}

// readPlan reads a part as a plan. The words of status are closed: with another one
// in it, the part is a plan of some later version.
func readPlan(part protocol.Part) ([]PlanEntry, bool) {
	p, ok := part.(*protocol.UnknownPart)
	if !ok || p.Kind != protocol.PartPlan {
		return nil, false
	}
	var body struct {
		Entries *[]PlanEntry `json:"entries"`
	}
	if json.Unmarshal(p.Raw, &body, loose) != nil || body.Entries == nil {
		return nil, false
	}
	for _, e := range *body.Entries {
		switch e.Status {
		case "pending", "in_progress", "completed":
		default:
			return nil, false
		}
	}
	return *body.Entries, true
}

// Session is what session.updated events have told beyond the base. Each member
// is that of the latest event that had it.
type Session struct {
	// Title is for people; nil when unknown.
	Title *string
	// Mode is the harness's mode that is set; nil when unknown.
	Mode *string
	// Model is what the harness runs on; nil when unknown.
	Model *string
	// Modes are those that the harness offers, as it described them; nil when
	// unknown.
	Modes jsontext.Value
	// Commands are those that the harness offers, as it described them; nil when
	// unknown.
	Commands jsontext.Value
	// BackgroundTasks are the tasks that run beside the turns, as the harness
	// described them; nil when unknown.
	BackgroundTasks jsontext.Value
}

// SessionInfo adds up the session.updated events. A member of a kind that does
// not fit leaves its whole event out. It costs all unknown events.
func SessionInfo(c *Conversation) Session {
	var s Session
	for _, e := range c.base().unknown.all() {
		if e.Kind == protocol.TypeSessionUpdated {
			s = s.updated(e.Raw)
		}
	}
	return s
}

// updated is the session info with one event's members put in.
func (s Session) updated(raw protocol.Object) Session {
	var body struct {
		Title           *string        `json:"title"`
		Mode            *string        `json:"mode"`
		Model           *string        `json:"model"`
		Modes           jsontext.Value `json:"modes"`
		Commands        jsontext.Value `json:"commands"`
		BackgroundTasks jsontext.Value `json:"backgroundTasks"`
	}
	if json.Unmarshal(raw, &body, loose) != nil {
		return s
	}
	s.Title = latest(s.Title, body.Title)
	s.Mode = latest(s.Mode, body.Mode)
	s.Model = latest(s.Model, body.Model)
	s.Modes = latestRaw(s.Modes, body.Modes)
	s.Commands = latestRaw(s.Commands, body.Commands)
	s.BackgroundTasks = latestRaw(s.BackgroundTasks, body.BackgroundTasks)
	return s
}

// latestRaw is latest of raw values; null is none.
func latestRaw(held, newer jsontext.Value) jsontext.Value {
	if newer == nil || newer.Kind() == 'n' {
		return held
	}
	return newer
}
