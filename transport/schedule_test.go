package transport

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"
)

// TestPulse: a peer is missed only when it was asked, somebody listened, and it
// gave no sign for a whole interval.
func TestPulse(t *testing.T) {
	t.Parallel()
	type look struct {
		alive     int64
		listening bool
	}
	tests := []struct {
		name  string
		looks []look
		want  []int
	}{
		{"never asked before", []look{{0, true}}, []int{0}},
		{"silent", []look{{3, true}, {3, true}, {3, true}, {3, true}}, []int{0, 1, 2, 3}},
		{"answers", []look{{0, true}, {1, true}, {2, true}}, []int{0, 0, 0}},
		{"misses one", []look{{0, true}, {0, true}, {1, true}, {1, true}}, []int{0, 1, 0, 1}},
		{"nobody listens", []look{{0, true}, {0, false}, {0, false}, {0, true}, {0, true}}, []int{0, 0, 0, 1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p pulse
			var got []int
			for _, l := range tt.looks {
				got = append(got, p.missed(l.alive, l.listening))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("missed %v, want %v", got, tt.want)
			}
		})
	}
}

// TestBackoff: waits double up to the maximum, jitter takes away half of one at
// most, a reset begins again, and a refusal that nothing changes waits longest.
func TestBackoff(t *testing.T) {
	t.Parallel()
	const s = time.Second
	b := backoff{min: s / 2, max: 30 * s}
	lost := net.ErrClosed
	var got []time.Duration
	for range 9 {
		got = append(got, b.wait(lost, 1))
	}
	if want := []time.Duration{s / 2, s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s, 30 * s}; !slices.Equal(got, want) {
		t.Errorf("waits %v, want %v", got, want)
	}
	b.reset()
	refused := func(status int, after time.Duration) error {
		return fmt.Errorf("dialling: %w", &HandshakeError{Status: status, RetryAfter: after})
	}
	for _, step := range []struct {
		err    error
		random float64
		want   time.Duration
	}{
		{nil, 0, s / 4},
		{lost, 0, s / 2},
		{refused(503, 0), 1, 2 * s},
		{refused(503, 20*s), 1, 20 * s},
		{refused(503, 3600*s), 1, 30 * s},
		{refused(401, 0), 1, 30 * s},
		{refused(403, 0), 0, 15 * s},
	} {
		if got := b.wait(step.err, step.random); got != step.want {
			t.Errorf("wait after %v: %v, want %v", step.err, got, step.want)
		}
	}
}
