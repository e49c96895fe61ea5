package session

import (
	"strings"
	"testing"

	"agent-server/harness"
	"agent-server/protocol"

	"github.com/google/go-cmp/cmp"
)

// silent is a harness that is only asked who it is.
type silent struct{ harness.Harness }

func (silent) Info() harness.Info { return harness.Info{} }

// TestFit: what is too long is cut at a rune, the original stays, and the part
// says so; what fits is the same part.
func TestFit(t *testing.T) {
	t.Parallel()
	m := New(Options{SessionID: "s", Harness: silent{}, MaxEventBytes: 5})
	mark := func(s string) protocol.Object { return protocol.Object(`{"agent-server/truncated":` + s + `}`) }
	for name, c := range map[string]struct {
		state, want protocol.ToolState
		meta        protocol.Object
	}{
		"fits":           {&protocol.CompletedState{Output: "12345"}, &protocol.CompletedState{Output: "12345"}, nil},
		"output":         {&protocol.CompletedState{Output: "123456"}, &protocol.CompletedState{Output: "12345"}, mark(`{"field":"output","bytes":6}`)},
		"inside a rune":  {&protocol.FailedState{Error: "1234é6"}, &protocol.FailedState{Error: "1234"}, mark(`{"field":"error","bytes":7}`)},
		"pending input":  {&protocol.PendingState{PartialInput: "123456"}, &protocol.PendingState{PartialInput: "123456"}, nil},
		"no rune at all": {&protocol.FailedState{Error: strings.Repeat("\x80", 9)}, &protocol.FailedState{}, mark(`{"field":"error","bytes":9}`)},
		"the longest is named": {
			&protocol.CompletedState{Output: "123456", Content: []protocol.ToolContent{&protocol.ImageContent{Data: "1234567"}, &protocol.TextContent{Text: "12345678"}}},
			&protocol.CompletedState{Output: "12345", Content: []protocol.ToolContent{&protocol.ImageContent{Data: "1234567"}, &protocol.TextContent{Text: "12345"}}},
			mark(`{"field":"content.1.text","bytes":8}`)},
	} {
		part := &protocol.ToolPart{ToolCallID: "c", State: c.state}
		before := string(protocol.AppendPart(nil, part))
		got := m.fit(part)
		if diff := cmp.Diff(&protocol.ToolPart{ToolCallID: "c", State: c.want, PartHead: protocol.PartHead{Meta: c.meta}}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (got == part) != (c.meta == nil) {
			t.Errorf("%s: the same part: %v", name, got == part)
		}
		if after := string(protocol.AppendPart(nil, part)); after != before {
			t.Errorf("%s: the original was changed: %s", name, after)
		}
	}
}

// TestFitRaw: a line that is too long is shown as a string of its beginning.
func TestFitRaw(t *testing.T) {
	t.Parallel()
	m := New(Options{SessionID: "s", Harness: silent{}, MaxEventBytes: 5})
	if data, meta := m.fitRaw([]byte(`[1,2]`)); string(data) != `[1,2]` || meta != nil {
		t.Errorf("what fits became %s, %s", data, meta)
	}
	data, meta := m.fitRaw([]byte(`{"a":1}`))
	if string(data) != `"{\"a\":"` || string(meta) != `{"agent-server/truncated":{"field":"data","bytes":7}}` {
		t.Errorf("a long line became %s, %s", data, meta)
	}
}
