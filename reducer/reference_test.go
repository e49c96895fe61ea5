package reducer

import (
	"encoding/json"
	"testing"

	"agent-server/fixtures/vectors"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// selectors is what the selectors say of a state, in brief.
type selectors struct {
	Groups    []group  `json:"groups"`
	Activity  Activity `json:"activity"`
	Pending   []string `json:"pending"`   // request ids
	Subagents [][2]any `json:"subagents"` // tool call id, message ids
}

type group struct {
	TurnID   string        `json:"turnId"`
	Role     protocol.Role `json:"role"`
	Entries  int           `json:"entries"`
	IsLatest bool          `json:"isLatest"`
}

// canonical spells JSON in its one canonical way.
func canonical(tb rapid.TB, raw []byte) string {
	tb.Helper()
	c, err := protocol.Canonical(raw)
	if err != nil {
		tb.Fatalf("%v: %s", err, raw)
	}
	return string(c)
}

// decodeAll decodes wire events.
func decodeAll(tb testing.TB, raws []json.RawMessage) []protocol.Event {
	tb.Helper()
	events := make([]protocol.Event, len(raws))
	for i, raw := range raws {
		ev, err := protocol.DecodeEvent(raw)
		if err != nil {
			tb.Fatalf("event %d: %v", i, err)
		}
		events[i] = ev
	}
	return events
}

// appendChanges spells changes as a JSON array.
func appendChanges(changes []Change) []byte {
	return appendSlice([]byte(`{`), "x", changes, func(dst []byte, c Change) []byte { return c.AppendJSON(dst) })[len(`{"x":`):]
}

// What the published reference makes of its streams, this fold makes too.
func TestReferenceStreams(t *testing.T) {
	t.Parallel()
	for _, v := range vectors.Shared(t) {
		var c *Conversation
		for i, ev := range decodeAll(t, v.Events) {
			next, changes := ReduceWithChanges(c, ev)
			if diff := cmp.Diff(canonical(t, v.Changes[i]), canonical(t, appendChanges(changes))); diff != "" {
				t.Fatalf("seed %d, changes of event %d (-reference +ours):\n%s", v.Seed, i, diff)
			}
			c = next
		}
		if diff := cmp.Diff(canonical(t, v.State), canonical(t, c.AppendJSON(nil))); diff != "" {
			t.Errorf("seed %d, state (-reference +ours):\n%s", v.Seed, diff)
		}
		var want selectors
		if err := json.Unmarshal(v.Selectors, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, selected(c)); diff != "" {
			t.Errorf("seed %d, selectors (-reference +ours):\n%s", v.Seed, diff)
		}
	}
}
