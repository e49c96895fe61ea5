package reducer

import (
	"bytes"
	"testing"

	"agent-server/protocol"
)

// Whatever decodes folds, in whatever order; the state loads again as it was, and
// a plain fold agrees. Seeded with our own streams.
func FuzzFold(f *testing.F) {
	for _, file := range vectorFiles(f) {
		var lines []byte
		for _, row := range file.rows {
			lines = append(append(lines, row.Event...), '\n')
		}
		f.Add(lines)
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		var events []protocol.Event
		for line := range bytes.Lines(lines) {
			if ev, err := protocol.DecodeEvent(line); err == nil {
				events = append(events, ev)
			}
		}
		c := checkModel(t, events)
		if got := bytesOf(reloaded(t, c)); got != bytesOf(c) {
			t.Errorf("loaded: %s\nsaved:  %s", got, bytesOf(c))
		}
		checkReaders(t, c)
	})
}
