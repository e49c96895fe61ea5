package verify

import (
	"fmt"

	"agent-server/protocol"
)

// fault is one error of a turn, as it was announced.
type fault struct {
	// index is that of the latest such error.
	index int
	// fatal: it was once announced as not recoverable.
	fatal bool
}

// failed notes an error that names a turn; others are no turn's failure.
func (s *story) failed(ev *protocol.ErrorEvent, at int) {
	t := s.turns[ev.Turn()]
	if t == nil {
		return
	}
	what := protocol.TurnError{Category: ev.Category, Message: ev.Message}
	t.faults[what] = fault{index: at, fatal: t.faults[what].fatal || !ev.Recoverable}
}

// recoverableMeansContinues judges a failing end. The error that claimed to be
// recoverable is blamed where there is one, else the end, which came unannounced.
// An end that says no error is another rule's.
func recoverableMeansContinues(s *story, ev *protocol.TurnEnded, at int) []blame {
	t := s.ending(ev.TurnID)
	if t == nil || ev.StopReason.Clean() || ev.Error == nil {
		return nil
	}
	f, announced := t.faults[*ev.Error]
	switch {
	case !announced:
		return []blame{{at, fmt.Sprintf("turn %s fails of an error that no error event announced", ev.TurnID)}}
	case !f.fatal:
		return []blame{{f.index, fmt.Sprintf("turn %s fails of this error, which was called recoverable", ev.TurnID)}}
	}
	return nil
}
