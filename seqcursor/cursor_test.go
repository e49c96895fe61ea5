package seqcursor_test

import (
	"testing"

	"agent-server/seqcursor"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	deliver   = seqcursor.Deliver
	duplicate = seqcursor.Duplicate
	gap       = seqcursor.Gap
	reset     = seqcursor.Reset
)

func TestAdvance(t *testing.T) {
	t.Parallel()
	type verdicts = []seqcursor.Verdict
	tests := []struct {
		name string
		seqs []int64
		want verdicts
		last int64
	}{
		{"the story of the client page", []int64{1, 2, 2, 4, 3, 4, 1, 1, 2},
			verdicts{deliver, deliver, duplicate, gap, deliver, deliver, reset, duplicate, deliver}, 2},
		{"an unknown session starts at 1", []int64{2, 1}, verdicts{gap, deliver}, 1},
		{"a second 1 is no reset", []int64{1, 1}, verdicts{deliver, duplicate}, 1},
		{"a gap can be offered again", []int64{1, 3, 3, 2, 3}, verdicts{deliver, gap, gap, deliver, deliver}, 3},
		{"numbers that no server sends", []int64{0, -1}, verdicts{duplicate, duplicate}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var c seqcursor.Cursor
			var got verdicts
			for _, seq := range tt.seqs {
				got = append(got, c.Advance("s", seq))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if c.Last("s") != tt.last {
				t.Errorf("Last = %d, want %d", c.Last("s"), tt.last)
			}
		})
	}
}

func TestAdvanceChained(t *testing.T) {
	t.Parallel()
	steps := []struct {
		prev, seq int64
		want      seqcursor.Verdict
		last      int64
	}{
		{0, 1, deliver, 1},
		{1, 5, deliver, 5},   // numbers left out on purpose
		{1, 5, duplicate, 5}, // sent again
		{5, 5, duplicate, 5}, // a chain that bites itself
		{7, 9, gap, 5},       // 7 never came
		{5, 7, deliver, 7},   // healed
		{7, 9, deliver, 9},   // and offered again
		{9, 1, duplicate, 9}, // a chained stream never resets
		{4, 10, gap, 9},      // a chain from before the cursor proves nothing
	}
	var c seqcursor.Cursor
	for i, s := range steps {
		if got := c.AdvanceChained("s", s.prev, s.seq); got != s.want {
			t.Errorf("step %d: AdvanceChained(%d, %d) = %v, want %v", i, s.prev, s.seq, got, s.want)
		}
		if got := c.Last("s"); got != s.last {
			t.Errorf("step %d: Last = %d, want %d", i, got, s.last)
		}
	}
}

func TestSeekAndReset(t *testing.T) {
	t.Parallel()
	var c seqcursor.Cursor
	c.Reset("a") // of a zero cursor: nothing to forget
	c.Seek("a", 41)
	if got := c.Advance("a", 42); got != deliver {
		t.Errorf("after Seek(41), 42 is %v", got)
	}
	c.Seek("a", 3)
	if got := c.Advance("a", 4); got != deliver {
		t.Errorf("after seeking back to 3, 4 is %v", got)
	}
	c.Reset("a")
	if got := c.Advance("a", 1); got != deliver {
		t.Errorf("after Reset, 1 is %v: a forgotten session has no life to reset", got)
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	var c seqcursor.Cursor
	if got := c.Sessions(); len(got) != 0 {
		t.Errorf("a zero cursor knows %v", got)
	}
	c.Advance("b", 1)
	c.Seek("a", 0)
	c.Advance("only gaps", 7)
	c.Advance("gone", 1)
	c.Reset("gone")
	if diff := cmp.Diff([]string{"a", "b"}, c.Sessions()); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func TestSessionsAreIndependent(t *testing.T) {
	t.Parallel()
	var c seqcursor.Cursor
	c.Advance("a", 1)
	c.Advance("a", 2)
	if got := c.Advance("b", 1); got != deliver {
		t.Errorf("b's first envelope is %v because of a's", got)
	}
}

func TestVerdictNames(t *testing.T) {
	t.Parallel()
	want := map[seqcursor.Verdict]string{
		deliver: "deliver", duplicate: "duplicate", gap: "gap", reset: "reset", 0: "invalid", 5: "invalid",
	}
	for v, name := range want {
		if v.String() != name {
			t.Errorf("Verdict(%d) = %q, want %q", int(v), v.String(), name)
		}
	}
}

// Law 58: whatever is offered, what is delivered between two resets is 1, 2, 3, …, and
// a verdict that is neither Deliver nor Reset leaves the cursor where it was.
func TestLaw58_onceInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c seqcursor.Cursor
		var want int64
		for _, seq := range rapid.SliceOf(rapid.Int64Range(0, 6)).Draw(t, "seqs") {
			switch v := c.Advance("s", seq); v {
			case deliver:
				want++
			case reset:
				want = 1
			}
			if got := c.Last("s"); got != want {
				t.Fatalf("after %d: Last = %d, want %d", seq, got, want)
			}
		}
	})
}

// Law 59: however a chained stream is cut, repeated and re-offered, each link is
// delivered exactly once and in order.
func TestLaw59_eachLinkOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Int64Range(1, 9), 1, 20).Draw(t, "steps")
		chain := []int64{0}
		for _, s := range steps {
			chain = append(chain, chain[len(chain)-1]+s)
		}
		var c seqcursor.Cursor
		at := 0
		for _, i := range rapid.SliceOf(rapid.IntRange(1, len(steps))).Draw(t, "offers") {
			got := c.AdvanceChained("s", chain[i-1], chain[i])
			if want := chainedVerdict(i, at); got != want {
				t.Fatalf("link %d offered at %d: %v, want %v", i, at, got, want)
			}
			if got == deliver {
				at = i
			}
		}
	})
}

// chainedVerdict is what link i deserves of one who holds the links up to at.
func chainedVerdict(i, at int) seqcursor.Verdict {
	switch {
	case i <= at:
		return duplicate
	case i == at+1:
		return deliver
	}
	return gap
}

func BenchmarkAdvance(b *testing.B) {
	var c seqcursor.Cursor
	b.ReportAllocs()
	var seq int64
	for b.Loop() {
		seq++
		c.Advance("session", seq)
	}
}
