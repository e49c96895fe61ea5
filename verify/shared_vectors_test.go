package verify

import (
	"encoding/json"
	"fmt"
	"testing"

	"agent-server/fixtures/vectors"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// anyOrder compares verdicts by rule and index, as multisets.
var anyOrder = cmp.Options{
	cmpopts.SortSlices(func(a, b Violation) bool {
		return fmt.Sprintf("%6d %s", a.Index, a.Rule) < fmt.Sprintf("%6d %s", b.Index, b.Rule)
	}),
	cmpopts.IgnoreFields(Violation{}, "Message"),
	cmpopts.EquateEmpty(),
}

// Under Base the verdict is the reference's own, on every one of its streams.
func TestBaseAgreesWithTheReference(t *testing.T) {
	t.Parallel()
	for _, stream := range vectors.Shared(t) {
		v := New(Options{Base: true})
		var got []Violation
		for _, raw := range stream.Events {
			ev, err := protocol.DecodeEvent(raw)
			if err != nil {
				t.Fatalf("stream %d: %v", stream.Seed, err)
			}
			got = append(got, v.AddEvent(ev)...)
		}
		got = append(got, v.Finish()...)
		var want []Violation
		if err := json.Unmarshal(stream.Violations, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, anyOrder); diff != "" {
			t.Errorf("stream %d (-reference +ours):\n%s", stream.Seed, diff)
		}
	}
}
