package shrink

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// upTo are the numbers from 0 on.
func upTo(n int) (steps []int) {
	for i := range n {
		steps = append(steps, i)
	}
	return steps
}

// needs fails where all of these are left, in order.
func needs(all ...int) func([]int) bool {
	return func(steps []int) bool {
		at := 0
		for _, s := range steps {
			if at < len(all) && s == all[at] {
				at++
			}
		}
		return at == len(all)
	}
}

// TestSteps: exactly what the failure needs is left, however it lies.
func TestSteps(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]int{
		"nothing": nil, "the first": {0}, "the last": {499}, "two that lie apart": {3, 400}, "neighbours": {249, 250}, "many": {1, 2, 77, 78, 300, 498},
	} {
		if diff := cmp.Diff(want, slices.Clip(Steps(upTo(500), 0, needs(want...))), cmp.Transformer("empty", func(s []int) []int { return append([]int{}, s...) })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestStepsThatHangTogether: a step that can go only once another is gone goes too.
func TestStepsThatHangTogether(t *testing.T) {
	t.Parallel()
	fails := func(steps []int) bool {
		// 7 fails; but 3 mends it, unless 5 breaks that.
		has := func(n int) bool { return slices.Contains(steps, n) }
		return has(7) && (!has(3) || has(5))
	}
	if got := Steps(upTo(9), 0, fails); !slices.Equal(got, []int{7}) {
		t.Errorf("left: %v", got)
	}
}

// TestStepsWithoutFailure: what does not fail is given back whole.
func TestStepsWithoutFailure(t *testing.T) {
	t.Parallel()
	if got := Steps(upTo(9), 0, func([]int) bool { return false }); len(got) != 9 {
		t.Errorf("left: %v", got)
	}
}

// TestBudget: no more runs are made than may be; what was found by then fails.
func TestBudget(t *testing.T) {
	t.Parallel()
	runs, fails := 0, needs(17, 91)
	got := Steps(upTo(200), 12, func(steps []int) bool { runs++; return fails(steps) })
	if runs > 12 || !fails(got) || len(got) == 200 {
		t.Errorf("%d runs left %d steps", runs, len(got))
	}
}
