package verify

import (
	"fmt"
	"slices"

	"agent-server/protocol"
)

// permissions is what the stream has told of requests and answers.
type permissions struct {
	// open are the requests without an answer since they were last asked.
	open map[string]request
	// resolved are the ids that were ever answered, asked or not.
	resolved map[string]bool
	// known are the ids that were ever asked.
	known map[string]bool
}

// request is one request as it was last asked.
type request struct {
	// index is that of its latest permission.requested.
	index int
	// turnID is the turn which that one names.
	turnID string
}

// asks is what a turn's permissions tell of a cancel.
type asks struct {
	// cancelled: someone who knows has said that a cancel was accepted.
	cancelled bool
	// drained: a request was cancelled by nobody in particular, as an accepted
	// cancel does it. A harness may withdraw one too: the turn's end decides.
	drained bool
	// late are the requests first asked after that, by index.
	late []int
}

// newPermissions has heard of no request.
func newPermissions() permissions {
	return permissions{open: map[string]request{}, resolved: map[string]bool{}, known: map[string]bool{}}
}

// asked opens a request; t is its turn, nil where it was not started.
func (p *permissions) asked(t *turn, ev *protocol.PermissionRequested, at int) {
	if t != nil && t.asks.drained && !p.known[ev.RequestID] {
		t.asks.late = append(t.asks.late, at)
	}
	p.open[ev.RequestID] = request{at, ev.TurnID}
	p.known[ev.RequestID] = true
}

// answered closes a request. A choice that a client made proves that no cancel
// had been accepted until then.
func (p *permissions) answered(t *turn, ev *protocol.PermissionResolved) {
	delete(p.open, ev.RequestID)
	p.resolved[ev.RequestID] = true
	if t == nil || has(ev.Meta, protocol.MetaBy) {
		return
	}
	t.asks.drained = ev.Outcome.Outcome == protocol.OutcomeCancelled
	if !t.asks.drained {
		t.asks.late = nil
	}
}

// resolvedOnce is the first half of PermissionResolvesOnce: also for a request
// that was never asked, or asked again since.
func resolvedOnce(s *story, ev *protocol.PermissionResolved) string {
	if s.permissions.resolved[ev.RequestID] {
		return fmt.Sprintf("request %s was resolved before", ev.RequestID)
	}
	return ""
}

// requestsResolve is its second half. That the fold cancels what is open at the
// end of a turn is no answer: nobody was told.
func requestsResolve(s *story) []blame {
	var found []blame
	for id, r := range s.permissions.open {
		found = append(found, blame{r.index, fmt.Sprintf("request %s is never resolved", id)})
	}
	return inOrder(found)
}

// askedBeforeEnd is the first half of PermissionBeforeTurnEnd.
func askedBeforeEnd(s *story, ev *protocol.PermissionRequested) string {
	if s.ended(ev.TurnID) != nil {
		return fmt.Sprintf("request %s comes after the end of turn %s", ev.RequestID, ev.TurnID)
	}
	return ""
}

// resolvedBeforeEnd is its second half, one breach for all that is open.
func resolvedBeforeEnd(s *story, ev *protocol.TurnEnded) string {
	if s.ending(ev.TurnID) == nil {
		return ""
	}
	open := 0
	for _, r := range s.permissions.open {
		if r.turnID == ev.TurnID {
			open++
		}
	}
	if open > 0 {
		return fmt.Sprintf("turn %s ends with %d requests open", ev.TurnID, open)
	}
	return ""
}

// askedAfterCancel is NoAskAfterCancel where the cancel was told. A request that
// is delivered again does not open.
func askedAfterCancel(s *story, ev *protocol.PermissionRequested) string {
	t := s.turns[ev.TurnID]
	if t == nil || !t.asks.cancelled || s.permissions.known[ev.RequestID] {
		return ""
	}
	return fmt.Sprintf("request %s comes after turn %s was cancelled", ev.RequestID, ev.TurnID)
}

// askedAfterDrain finds from the stream alone what askedAfterCancel is told: the
// turn's requests were cancelled, others were asked, none of those was answered
// by choice, and the turn ended cancelled.
func askedAfterDrain(s *story, ev *protocol.TurnEnded, _ int) []blame {
	t := s.ending(ev.TurnID)
	if t == nil || t.asks.cancelled || ev.StopReason != protocol.StopCancelled {
		return nil
	}
	var found []blame
	for _, at := range t.asks.late {
		found = append(found, blame{at, fmt.Sprintf("this request comes after the cancel of turn %s", ev.TurnID)})
	}
	return found
}

// inOrder sorts what was found in a map, so that a verdict is the same each time.
func inOrder(found []blame) []blame {
	slices.SortFunc(found, func(a, b blame) int { return a.index - b.index })
	return found
}
