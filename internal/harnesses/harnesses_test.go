package harnesses

import (
	"slices"
	"testing"

	"agent-server/protocol"
)

// Each id stands in the table once, and is found.
func TestTable(t *testing.T) {
	t.Parallel()
	var seen []protocol.HarnessID
	for _, e := range All() {
		if e.ID() == "" || slices.Contains(seen, e.ID()) {
			t.Errorf("%q has no id of its own", e.ID())
		}
		seen = append(seen, e.ID())
		if found := Find(e.ID()); found == nil || found.Info().ID != e.ID() {
			t.Errorf("%s is not found", e.ID())
		}
		if e.Lent != "" && Find(e.Lent) == nil {
			t.Errorf("%s is lent recordings of %s, which is no harness", e.ID(), e.Lent)
		}
	}
	if Find("nobody") != nil {
		t.Error("a harness is found that there is not")
	}
}
