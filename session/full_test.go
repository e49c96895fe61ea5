package session

import (
	"strings"
	"testing"

	"agent-server/protocol"
)

// Few that are large are too many as well, wherever in the input it is that they
// are large.
func TestQueueIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("a", 40<<20)
	item := func(i protocol.InputItem) protocol.Input { return protocol.Input{Items: []protocol.InputItem{{}, i}} }
	inputs := map[string]protocol.Input{
		"text": protocol.TextInput(large), "an item": item(protocol.InputItem{Text: large}),
		"an image": item(protocol.InputItem{Data: &large}), "an address": item(protocol.InputItem{URL: &large}),
	}
	for name, in := range inputs {
		m := &Machine{queue: []StartTurn{{Input: protocol.TextInput("hi")}}}
		if m.full(StartTurn{Input: in}) {
			t.Errorf("%s of 40 MiB finds no place", name)
		}
		m.queue = append(m.queue, StartTurn{Input: in})
		if !m.full(StartTurn{Input: in}) {
			t.Errorf("two of %s of 40 MiB find a place", name)
		}
	}
}
