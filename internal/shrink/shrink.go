// Package shrink makes the fewest of a failing run's steps that still fail: what a
// simulation prints, so that a reader has ten lines to think about and not five hundred.
//
// It decides which steps are left out, in which order. It refuses to know what a step
// is: the caller says whether what is left fails. It keeps nothing, and calls from one
// goroutine, one call after the other.
package shrink

import "slices"

// Steps leaves steps out of a list as long as what is left fails: halves of it first,
// then ever smaller pieces, and each single step again until none can be spared. The
// order stays. Where the whole list does not fail it is given back as it is. A step
// must mean the same without those before it, as far as it can: one that then has
// nothing to do does nothing. budget bounds the calls of fails; 0: none does.
func Steps[T any](steps []T, budget int, fails func([]T) bool) []T {
	s := search[T]{left: budget, bounded: budget > 0, fails: fails}
	if !s.failing(steps) {
		return steps
	}
	for size := max(len(steps)/2, 1); size > 0 && len(steps) > 0; {
		fewer := s.sweep(steps, size)
		switch {
		case len(fewer) == len(steps):
			size /= 2
		case size == 1: // one that is gone may make another one needless
		default:
			size = min(size, max(len(fewer)/2, 1))
		}
		steps = fewer
	}
	return steps
}

// search is one call of Steps.
type search[T any] struct {
	left    int
	bounded bool
	fails   func([]T) bool
}

// failing asks, while the budget lasts; beyond it nothing fails any more, so that what
// is found by then is kept.
func (s *search[T]) failing(steps []T) bool {
	if s.bounded && s.left == 0 {
		return false
	}
	s.left--
	return s.fails(steps)
}

// sweep leaves out each piece of a size without which it still fails.
func (s *search[T]) sweep(steps []T, size int) []T {
	for i := 0; i < len(steps); {
		fewer := slices.Delete(slices.Clone(steps), i, min(i+size, len(steps)))
		if s.failing(fewer) {
			steps = fewer
		} else {
			i += size
		}
	}
	return steps
}
