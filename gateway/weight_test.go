package gateway

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"agent-server/protocol"
	"agent-server/reducer"
)

// TestWeightOfAFold: of every recording the weight is at least the canonical length of
// what it folds to, and at most twice that.
func TestWeightOfAFold(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../fixtures/*/*/events.jsonl")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w weight
		var f reducer.Folded
		for line := range bytes.Lines(text) {
			env, err := protocol.DecodeEnvelope(bytes.TrimSpace(line))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			f, _ = reducer.FoldEnvelope(f, env)
			size := len(protocol.AppendEvent(nil, env.Event))
			w.add(env, size)
			w.add(env, size) // once more: it counts once
		}
		if n := int64(len(f.Conversation.AppendJSON(nil))); w.bytes < n || w.bytes > 2*n {
			t.Errorf("%s: weighs %d bytes, folds to %d", file, w.bytes, n)
		}
	}
}

// TestWeightOfReplacing: a part weighs what it is now, and what grows it until then.
func TestWeightOfReplacing(t *testing.T) {
	t.Parallel()
	text := func(s string) protocol.Event {
		return &protocol.MessagePart{MessageID: "m", Part: &protocol.TextPart{PartHead: protocol.PartHead{ID: "p"}, Text: s}}
	}
	delta := func(d protocol.Delta) protocol.Event {
		return &protocol.MessagePartDelta{MessageID: "m", PartID: "p", Delta: d}
	}
	var w weight
	for i, step := range []struct {
		ev   protocol.Event
		size int
		want int64
	}{
		{ev: text(""), size: 100, want: 100},
		{ev: delta(&protocol.TextDelta{Text: "0123456789"}), size: 90, want: 110},
		{ev: delta(&protocol.ReasoningDelta{Text: "0123456789"}), size: 90, want: 120},
		{ev: text("01234567890123456789"), size: 118, want: 118},
		{ev: delta(&protocol.ToolInputDelta{Input: "{}"}), size: 90, want: 120},
		{ev: text(""), size: 100, want: 102},
		{ev: &protocol.Raw{}, size: 5_000, want: 102},
		{ev: &protocol.SessionUsage{}, size: 500, want: 102},
		{ev: &protocol.TurnEnded{}, size: 80, want: 182},
		{ev: text(""), size: 100, want: 282},
	} {
		if w.add(protocol.Envelope{Seq: int64(i) + 1, Event: step.ev}, step.size); w.bytes != step.want {
			t.Fatalf("step %d: %d bytes, want %d", i, w.bytes, step.want)
		}
	}
}
