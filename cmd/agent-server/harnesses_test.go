package main

import (
	"slices"
	"testing"

	"agent-server/internal/harnesses"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// Law 191: what is wired is what is judged: each harness that can be run stands in the table
// that the law suite, the recordings and the page of harnesses go by. (Plain acp is
// an operator's command, under whatever name.)
func TestLaw191_wiredIsJudged(t *testing.T) {
	t.Parallel()
	s := setup{acpAgents: []string{"acp=agent --acp"}, logLevel: "warn"}
	o, err := s.options()
	if err != nil {
		t.Fatal(err)
	}
	var wired, judged []protocol.HarnessID
	for _, r := range o.Harnesses {
		wired = append(wired, r.Harness.Info().ID)
	}
	for _, e := range harnesses.All() {
		judged = append(judged, e.ID())
	}
	slices.Sort(wired)
	slices.Sort(judged)
	if diff := cmp.Diff(wired, judged); diff != "" {
		t.Errorf("internal/harnesses is another table than the wiring (-wired +judged):\n%s", diff)
	}
}
