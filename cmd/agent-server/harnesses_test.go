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

// TestHarnessLine: what a gateway elsewhere says of its harnesses steers no terminal,
// and forges no line.
func TestHarnessLine(t *testing.T) {
	t.Parallel()
	line := harnessLine(protocol.HarnessEntry{ID: "a\x1b[2J", Reason: new("gone\nb\tyes"), Login: new("found"), LoginSource: new("\x1b]0;x\a")})
	if want := "a␛[2J\tno\t-\t-\tfound (␛]0;x␇)\t-\tgone b yes"; line != want {
		t.Errorf("%q, want %q", line, want)
	}
}
