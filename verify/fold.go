package verify

import (
	"fmt"
	"strings"

	"agent-server/protocol"
	"agent-server/reducer"
)

// folds are two folds of the stream at once, so that at its end nothing has to
// be folded again: as it came, and with everything twice that may come twice.
type folds struct {
	reduce      func(*reducer.Conversation, protocol.Event) *reducer.Conversation
	once, twice *reducer.Conversation
	// shown is the latest snapshot of each part by its id, in whatever message.
	shown map[string]snapshot
	// broken says what the fold died of; "" while it lives.
	broken string
}

// snapshot is a part as the stream last showed it.
type snapshot struct {
	part protocol.Part
	// grown: a text or reasoning delta of it came after.
	grown bool
}

// newFolds folds nothing yet, with the reducer that everyone ships.
func newFolds() *folds { return &folds{reduce: reducer.Reduce, shown: map[string]snapshot{}} }

// add folds an event. A fold that panics is reported, not passed on.
func (f *folds) add(ev protocol.Event) {
	if f.broken != "" {
		return
	}
	defer f.survive()
	f.once = f.reduce(f.once, ev)
	f.twice = f.reduce(f.twice, ev)
	switch ev := ev.(type) {
	case *protocol.MessagePart:
		f.shown[ev.Part.Head().ID] = snapshot{part: ev.Part}
		f.twice = f.reduce(f.twice, ev)
	case *protocol.TurnEnded, *protocol.PermissionResolved:
		f.twice = f.reduce(f.twice, ev)
	case *protocol.MessagePartDelta:
		f.grow(ev)
	}
}

// survive notes a panic of the fold.
func (f *folds) survive() {
	if r := recover(); r != nil {
		f.broken = fmt.Sprintf("the fold panics: %v", r)
	}
}

// grow notes that a part's text may be longer than its snapshot. Input that
// grows is not held to anything: it is no text of the part.
func (f *folds) grow(ev *protocol.MessagePartDelta) {
	if _, input := ev.Delta.(*protocol.ToolInputDelta); input {
		return
	}
	if s, ok := f.shown[ev.PartID]; ok {
		s.grown = true
		f.shown[ev.PartID] = s
	}
}

// judge gives what is wrong with the fold, by rule, in the order of the rules.
func (f *folds) judge() []Violation {
	projection, idempotent := f.compare()
	if f.broken != "" {
		return []Violation{{ReducerTotal, -1, f.broken}}
	}
	var found []Violation
	for _, why := range projection {
		found = append(found, Violation{ProjectionAgrees, -1, why})
	}
	if idempotent != "" {
		found = append(found, Violation{ReducerIdempotent, -1, idempotent})
	}
	return found
}

// compare reads both folds; reading, too, may find one broken.
func (f *folds) compare() (projection []string, idempotent string) {
	if f.broken != "" {
		return nil, ""
	}
	defer f.survive()
	return f.disagreements(), f.doubled()
}

// disagreements lists the parts of the fold that are not what was last shown.
func (f *folds) disagreements() []string {
	over := map[string]bool{}
	for _, t := range f.once.Turns() {
		over[t.TurnID] = t.Status == reducer.TurnOver
	}
	var found []string
	for _, m := range messages(f.once) {
		for _, p := range m.Parts {
			if why := f.shown[p.Head().ID].disagrees(p, over[m.TurnID]); why != "" {
				found = append(found, fmt.Sprintf("part %s of message %s: %s", p.Head().ID, m.MessageID, why))
			}
		}
	}
	return found
}

// disagrees says how the part in the fold differs from what was shown; over:
// the turn of its message has ended. Unknown types and pairs of different type
// are not compared.
func (s snapshot) disagrees(folded protocol.Part, over bool) string {
	switch p := folded.(type) {
	case *protocol.TextPart:
		if shown, ok := s.part.(*protocol.TextPart); ok {
			return s.textDiffers(p.Text, shown.Text)
		}
	case *protocol.ReasoningPart:
		if shown, ok := s.part.(*protocol.ReasoningPart); ok {
			return s.textDiffers(p.Text, shown.Text)
		}
	case *protocol.ToolPart:
		if shown, ok := s.part.(*protocol.ToolPart); ok {
			return statusDiffers(p.State.Status(), shown.State.Status(), over)
		}
	}
	return ""
}

// textDiffers compares texts; one that has grown need only begin as shown.
func (s snapshot) textDiffers(folded, shown string) string {
	if folded == shown || s.grown && strings.HasPrefix(folded, shown) {
		return ""
	}
	return "its text is not what was last shown"
}

// statusDiffers compares statuses; the end of a turn cancels what is open.
func statusDiffers(folded, shown protocol.ToolStatus, over bool) string {
	if folded == shown || folded == protocol.ToolCancelled && !shown.Terminal() && over {
		return ""
	}
	return fmt.Sprintf("its status is %s, last shown was %s", folded, shown)
}

// doubled says in what the two folds differ; "" where they agree. What is
// compared is what a second delivery could add to; a state that it merely
// overwrites may differ in nothing.
func (f *folds) doubled() string {
	a, b := messages(f.once), messages(f.twice)
	if f.once.Len() != f.twice.Len() || len(a) != len(b) {
		return "the timeline grows when events are delivered twice"
	}
	for i := range a {
		if len(a[i].Parts) != len(b[i].Parts) {
			return fmt.Sprintf("message %s grows when events are delivered twice", a[i].MessageID)
		}
	}
	if outcomes(f.once) != outcomes(f.twice) {
		return "an outcome changes when events are delivered twice"
	}
	if sums(f.once) != sums(f.twice) {
		return "the totals change when events are delivered twice"
	}
	return ""
}

// messages are the messages of the timeline.
func messages(c *reducer.Conversation) []*reducer.Message {
	var found []*reducer.Message
	for _, e := range c.Timeline() {
		if m, ok := e.(*reducer.Message); ok {
			found = append(found, m)
		}
	}
	return found
}

// outcomes spells every request with its answer.
func outcomes(c *reducer.Conversation) string {
	var b strings.Builder
	for _, p := range c.Permissions() {
		fmt.Fprintf(&b, "%q", p.RequestID)
		if p.Outcome != nil {
			fmt.Fprintf(&b, " %q %q %q", p.Outcome.Outcome, p.Outcome.OptionID, p.Outcome.UpdatedInput)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// sums spells what all turns cost.
func sums(c *reducer.Conversation) string {
	t := c.Totals()
	cost, known := c.TotalCost()
	return fmt.Sprint(t.Input, t.Output, t.Reasoning, t.Cache.Read, t.Cache.Write,
		value(t.Cache.WriteEphemeral5m), value(t.Cache.WriteEphemeral1h), cost, known)
}

// value is the number, or nil where there is none.
func value(n *protocol.Number) any {
	if n == nil {
		return nil
	}
	return *n
}
